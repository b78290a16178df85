#include "lifeguard/safety/prove/exact_program.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "lifeguard/safety/prove/exact_integers.hpp"

namespace lifeguard {
namespace {

using namespace exact_integers;

/// Rows a_iᵀα + n_i r ≤ b_i as columns (a_i, n_i) with cost b_i. The last one is r ≤ max_radius.
struct Program {
  std::vector<Integers> columns;
  Integers costs;

  void add(Integers row_and_limit) {
    costs.push_back(std::move(row_and_limit.back()));
    row_and_limit.pop_back();
    columns.push_back(std::move(row_and_limit));
  }
};

struct Solution {
  Basis basis;
  Integers point;  // (α, r) times the denominator of the basis
};

/// The basis that the method below ends with when it is run in doubles: a guess. -1 is a unit
/// column.
std::vector<int> guess_basis(const Program& program, const Deadline& deadline) {
  const auto size = static_cast<long>(program.columns.front().size());
  const auto count = static_cast<long>(program.columns.size());
  Eigen::MatrixXd columns(size, count);
  Eigen::VectorXd costs(count);
  for (long i = 0; i < count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    for (long j = 0; j < size; ++j) {
      columns(j, i) = program.columns[n][static_cast<std::size_t>(j)].convert_to<double>();
    }
    costs(i) = program.costs[n].convert_to<double>() / columns(size - 1, i);
    columns.col(i) /= columns(size - 1, i);
  }
  if (!columns.allFinite() || !costs.allFinite()) return {};

  std::vector<int> chosen(static_cast<std::size_t>(size), Basis::kUnit);
  Eigen::MatrixXd basis = Eigen::MatrixXd::Identity(size, size);
  Eigen::VectorXd cost = Eigen::VectorXd::Zero(size);
  const auto put = [&](long position, long column) {
    chosen[static_cast<std::size_t>(position)] = static_cast<int>(column);
    basis.col(position) = columns.col(column);
    cost(position) = costs(column);
  };
  put(size - 1, count - 1);
  for (long step = 0; step < 20 * size; ++step) {
    deadline.check();
    const Eigen::PartialPivLU<Eigen::MatrixXd> lu(basis);
    const Eigen::VectorXd point = lu.transpose().solve(cost);
    long entering = 0;
    const double worst = (costs - columns.transpose() * point).minCoeff(&entering);
    if (!(worst < -1e-12 * (1 + costs.cwiseAbs().maxCoeff()))) break;
    const Eigen::VectorXd y = lu.solve(Eigen::VectorXd::Unit(size, size - 1));
    const Eigen::VectorXd solved = lu.solve(columns.col(entering));
    const double tolerance = 1e-10 * solved.cwiseAbs().maxCoeff();
    long unit = -1;
    long leaving = -1;
    for (long i = 0; i < size; ++i) {
      if (chosen[static_cast<std::size_t>(i)] == Basis::kUnit) {
        const double best = unit < 0 ? tolerance : std::abs(solved(unit));
        if (std::abs(solved(i)) > best) unit = i;
      } else if (solved(i) > tolerance &&
                 (leaving < 0 || y(i) * solved(leaving) < y(leaving) * solved(i))) {
        leaving = i;
      }
    }
    if (unit < 0 && leaving < 0) break;
    put(unit >= 0 ? unit : leaving, entering);
  }
  return chosen;
}

/// The guess with an exact inverse, or the plain start r = max_radius at α = 0 if the guess has
/// y < 0 somewhere, or y ≠ 0 at a unit column.
Basis starting_basis(const Program& program, const Deadline& deadline) {
  const std::size_t size = program.columns.front().size();
  const auto put = [&](Basis& basis, int column) {
    const Integers solved = basis.solve(program.columns[static_cast<std::size_t>(column)]);
    const std::size_t position = basis.unit_to_replace(solved);
    if (position < size) basis.replace(position, column, solved);
  };
  Basis guess(size, deadline);
  for (const int column : guess_basis(program, deadline)) {
    if (column != Basis::kUnit) put(guess, column);
  }
  bool usable = true;
  for (std::size_t i = 0; i < size; ++i) {
    const int sign = guess.row(i).back().sign();
    usable = usable && (sign == 0 || (sign > 0 && guess.column(i) != Basis::kUnit));
  }
  if (usable) return guess;
  Basis plain(size, deadline);
  put(plain, static_cast<int>(program.columns.size()) - 1);
  return plain;
}

/// The simplex method on min costᵀy with Σ y_i column_i = (0, …, 0, 1), y ≥ 0, from any such y. It
/// takes violated rows in until none is left; the unit columns leave first, at y = 0, so there is
/// no first phase. Bland's rule ends every run of steps that do not change y.
Solution solve(const Program& program, const Deadline& deadline = {}) {
  const std::size_t size = program.columns.front().size();
  const std::size_t count = program.columns.size();
  Basis basis = starting_basis(program, deadline);
  std::size_t still = 0;  // steps since y last changed
  while (true) {
    deadline.check();
    Integers cost(size, 0);
    for (std::size_t i = 0; i < size; ++i) {
      if (basis.column(i) != Basis::kUnit) {
        cost[i] = program.costs[static_cast<std::size_t>(basis.column(i))];
      }
    }
    Integers point = basis.solve_transposed(cost);
    // The entering row: the one violated most, in units of its n_i, or under Bland's rule the
    // first.
    std::size_t entering = count;
    Integer worst = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Integer slack = program.costs[i] * basis.denominator() - dot(program.columns[i], point);
      if (slack >= 0) continue;
      if (entering == count ||
          slack * program.columns[entering].back() < worst * program.columns[i].back()) {
        entering = i;
        worst = slack;
      }
      if (still > 2 * size) break;
    }
    if (entering == count) return {std::move(basis), std::move(point)};

    const Integers solved = basis.solve(program.columns[entering]);
    std::size_t leaving = basis.unit_to_replace(solved);
    if (leaving == size) {
      for (std::size_t i = 0; i < size; ++i) {
        if (solved[i] <= 0) continue;
        if (leaving == size) {
          leaving = i;
          continue;
        }
        const Integer left = basis.row(i).back() * solved[leaving];
        const Integer right = basis.row(leaving).back() * solved[i];
        if (left < right || (left == right && basis.column(i) < basis.column(leaving))) leaving = i;
      }
      // r can always be lowered until all rows hold, so the dual is bounded and one leaves.
      assert(leaving < size);
    }
    still = basis.row(leaving).back() == 0 ? still + 1 : 0;
    basis.replace(leaving, static_cast<int>(entering), solved);
  }
}

Integers joined(const Eigen::VectorXd& row, double norm, double limit) {
  Eigen::VectorXd values(row.size() + 2);
  values << row, norm, limit;
  return to_integers(values);
}

}  // namespace

DeepestPoint deepest_point(const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                           const Eigen::VectorXd& norms, double max_radius,
                           const Deadline& deadline) {
  Program program;
  for (long i = 0; i < a.rows(); ++i) program.add(joined(a.row(i), norms(i), b(i)));
  program.add(joined(Eigen::VectorXd::Zero(a.cols()), 1, max_radius));
  const Solution solution = solve(program, deadline);

  DeepestPoint result;
  const Integer& denominator = solution.basis.denominator();
  result.radius_sign = solution.point.back().sign();
  result.radius = ratio(solution.point.back(), denominator);
  result.point.resize(a.cols());
  for (long i = 0; i < a.cols(); ++i) {
    result.point(i) = ratio(solution.point[static_cast<std::size_t>(i)], denominator);
  }
  // y_i of the row as given is y_i of its integer form times the scale 2^e between the two; the
  // scale is read off an entry that is not 0.
  std::vector<std::pair<int, Rational>> multipliers;
  for (std::size_t p = 0; p < solution.basis.size(); ++p) {
    const int row = solution.basis.column(p);
    if (row == Basis::kUnit || row == a.rows() || solution.basis.row(p).back() == 0) continue;
    const Rational scale =
        Rational(program.columns[static_cast<std::size_t>(row)].back()) / Rational(norms(row));
    multipliers.emplace_back(row, scale * Rational(solution.basis.row(p).back()));
  }
  std::sort(multipliers.begin(), multipliers.end());
  Integer denominators = 1;
  for (const auto& [row, y] : multipliers) {
    denominators = lcm(denominators, Integer(boost::multiprecision::denominator(y)));
  }
  Integers integers;
  Integer divisor = 0;
  for (const auto& [row, y] : multipliers) {
    result.rows.push_back(row);
    integers.emplace_back(boost::multiprecision::numerator(Rational(y * Rational(denominators))));
    divisor = gcd(divisor, integers.back());
  }
  for (Integer& y : integers) {
    y /= divisor;
    result.exact_multipliers.push_back(y.str());
  }
  result.multipliers = scaled(integers);
  return result;
}

Eigen::VectorXd null_direction(const Eigen::MatrixXd& a) {
  if (a.rows() == 0) return Eigen::VectorXd::Unit(a.cols(), 0);
  std::vector<Integers> columns;
  for (long i = 0; i < a.rows(); ++i) columns.push_back(to_integers(a.row(i)));
  const Basis basis = independent_columns(columns);
  for (std::size_t p = 0; p < basis.size(); ++p) {
    // This row of the inverse is orthogonal to every column, for none could replace the unit.
    if (basis.column(p) == Basis::kUnit) return scaled(basis.row(p));
  }
  return {};
}

Eigen::VectorXd unbounded_direction(const Eigen::MatrixXd& a) {
  Eigen::VectorXd null = null_direction(a);
  if (null.size() > 0) return null;
  // Stiemke: A v ≤ 0, A v ≠ 0 has a solution if and only if A v ≤ 0, wᵀv ≤ -1 has one, with w the
  // sum of the rows (after any scaling by positive numbers).
  const auto size = static_cast<std::size_t>(a.cols());
  Program program;
  Integers sum(size + 2, 0);
  for (long i = 0; i < a.rows(); ++i) {
    Integers row = joined(a.row(i), 1, 0);
    for (std::size_t j = 0; j < size; ++j) sum[j] += row[j];
    program.add(std::move(row));
  }
  sum[size] = 1;
  sum[size + 1] = -1;
  program.add(std::move(sum));
  Integers cap(size + 2, 0);
  cap[size] = cap[size + 1] = 1;
  program.add(std::move(cap));
  Solution solution = solve(program);
  if (solution.point.back() < 0) return {};
  solution.point.pop_back();
  return scaled(solution.point);
}

bool proves_slack_above(const Eigen::MatrixXd& a, const Eigen::VectorXd& b, double c,
                        Eigen::VectorXd& y, const Deadline& deadline) {
  // Independent rows far from parallel, so that the change of y stays near rounding. The pivoting
  // only chooses; which rows are independent is decided in integers.
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(a.transpose());
  std::vector<int> order;
  std::vector<Integers> columns;
  std::vector<Rational> scales;  // integer column / given row
  for (long i = 0; i < a.rows(); ++i) {
    const int row = qr.colsPermutation().indices()(i);
    order.push_back(row);
    columns.push_back(to_integers(a.row(row)));
    long entry = 0;
    a.row(row).cwiseAbs().maxCoeff(&entry);
    scales.push_back(Rational(columns.back()[static_cast<std::size_t>(entry)]) /
                     Rational(a(row, entry)));
  }
  const Basis basis = independent_columns(columns, deadline);
  std::vector<bool> replaced(order.size(), false);
  for (std::size_t p = 0; p < basis.size(); ++p) {
    if (basis.column(p) != Basis::kUnit) replaced[static_cast<std::size_t>(basis.column(p))] = true;
  }
  // B y_B = -Σ over the other rows of y_i a_i, an exact right-hand side.
  std::vector<Rational> exact(order.size(), 0);
  std::vector<Rational> right(basis.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (replaced[i]) continue;
    exact[i] = Rational(y(order[i]));
    for (std::size_t j = 0; j < basis.size(); ++j) {
      right[j] -= exact[i] * Rational(a(order[i], static_cast<long>(j)));
    }
  }
  for (std::size_t p = 0; p < basis.size(); ++p) {
    if (basis.column(p) == Basis::kUnit) continue;
    Rational sum = 0;
    for (std::size_t j = 0; j < basis.size(); ++j) sum += Rational(basis.row(p)[j]) * right[j];
    const auto i = static_cast<std::size_t>(basis.column(p));
    exact[i] = sum / Rational(basis.denominator()) * scales[i];
  }
  Rational product = 0;
  Rational squares = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    product += exact[i] * Rational(b(order[i]));
    if (exact[i] > 0) squares += exact[i] * exact[i];
  }
  const Rational limit = Rational(c) * Rational(c) * squares;
  if (product <= 0 || product * product <= limit) return false;
  for (std::size_t i = 0; i < order.size(); ++i) y(order[i]) = exact[i].convert_to<double>();
  return true;
}

}  // namespace lifeguard
