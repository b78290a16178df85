#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlopt.hpp>

#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::coefficient_projection_test {

using test_support::Draws;

struct Problem {
  RowMajorMatrix rows;
  Eigen::VectorXd bounds;
  double slack_limit = std::numeric_limits<double>::infinity();
  Eigen::VectorXd target;
};

Problem random_problem(Draws& draws, long m, long k, double distance, bool ball) {
  Problem p;
  p.rows = draws.normals(m, k);
  p.bounds.resize(m);
  for (long i = 0; i < m; ++i) p.bounds[i] = draws.power(0.05, 3.0);
  p.target = distance * draws.normals(k, 1);
  if (ball) p.slack_limit = p.bounds.norm() * draws.uniform(1.01, 2.0);
  return p;
}

// The same program by NLopt's SLSQP (Kraft 1988), in the distance from the solution of interest.
double slsqp_objective(const Problem& p, Eigen::VectorXd start) {
  struct Row {
    const Problem* problem;
    long index;
  };
  const long k = p.target.size();
  nlopt::opt solver(nlopt::LD_SLSQP, static_cast<unsigned>(k));
  const auto objective = [](unsigned n, const double* x, double* gradient, void* data) {
    const auto& problem = *static_cast<const Problem*>(data);
    const Eigen::VectorXd difference = Eigen::Map<const Eigen::VectorXd>(x, n) - problem.target;
    if (gradient != nullptr) Eigen::Map<Eigen::VectorXd>(gradient, n) = 2 * difference;
    return difference.squaredNorm();
  };
  solver.set_min_objective(objective, const_cast<Problem*>(&p));
  std::vector<Row> rows(static_cast<std::size_t>(p.rows.rows()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = {&p, static_cast<long>(i)};
    solver.add_inequality_constraint(
        [](unsigned n, const double* x, double* gradient, void* data) {
          const Row& row = *static_cast<Row*>(data);
          if (gradient != nullptr) {
            Eigen::Map<Eigen::VectorXd>(gradient, n) = row.problem->rows.row(row.index);
          }
          return row.problem->rows.row(row.index).dot(Eigen::Map<const Eigen::VectorXd>(x, n)) -
                 row.problem->bounds[row.index];
        },
        &rows[i], 1e-10);
  }
  if (std::isfinite(p.slack_limit)) {
    solver.add_inequality_constraint(
        [](unsigned n, const double* x, double* gradient, void* data) {
          const auto& problem = *static_cast<const Problem*>(data);
          const Eigen::VectorXd slack =
              problem.bounds - problem.rows * Eigen::Map<const Eigen::VectorXd>(x, n);
          if (gradient != nullptr) {
            Eigen::Map<Eigen::VectorXd>(gradient, n) = -2 * problem.rows.transpose() * slack;
          }
          return slack.squaredNorm() - problem.slack_limit * problem.slack_limit;
        },
        const_cast<Problem*>(&p), 1e-10);
  }
  solver.set_xtol_rel(1e-15);
  solver.set_maxeval(2000);
  std::vector<double> x(start.data(), start.data() + k);
  double value = std::numeric_limits<double>::infinity();
  // It stops early when a step ends a rounding error outside; a fresh start goes on from there.
  for (int run = 0; run < 5; ++run) {
    try {
      solver.optimize(x, value);
    } catch (const nlopt::roundoff_limited&) {
      // It has the best point that its own precision allows.
    } catch (const std::runtime_error&) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  const Eigen::Map<const Eigen::VectorXd> found(x.data(), k);
  return (found - p.target).squaredNorm();
}

void expect_feasible(const Problem& p, const Eigen::VectorXd& s, double tolerance) {
  const Eigen::VectorXd image = p.rows * s;
  const double scale = p.rows.rowwise().norm().maxCoeff() * s.norm();
  for (long i = 0; i < image.size(); ++i) {
    EXPECT_LE(image[i], p.bounds[i] * (1 + tolerance) + 1e-14 * scale);
  }
  if (std::isfinite(p.slack_limit)) {
    EXPECT_LE((p.bounds - image).norm(), p.slack_limit * (1 + tolerance) + 1e-13 * scale);
  }
}

TEST(CoefficientStep, AgreesWithSlsqp) {
  CoefficientStep step;
  int compared = 0;
  int agreed = 0;
  int with_ball = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Draws draws(seed);
    const long k = draws.integer(1, 16);
    const long m = draws.integer(1, 40);
    const Problem p = random_problem(draws, m, k, draws.power(0.1, 30.0), draws.chance(0.5));
    CoefficientMemory memory;
    Eigen::VectorXd s(k);
    const CoefficientPath path = step.solve(p.rows, p.bounds, p.slack_limit, p.target, memory, s);
    ASSERT_NE(path, CoefficientPath::scaled) << "seed " << seed;
    expect_feasible(p, s, 1e-12);
    const double ours = (s - p.target).squaredNorm();
    if (path == CoefficientPath::inside) {
      EXPECT_EQ(ours, 0);
      continue;
    }
    // Started from 0, far from our answer, so that it cannot just agree.
    const double reference = slsqp_objective(p, Eigen::VectorXd::Zero(k));
    if (std::isnan(reference)) continue;
    ++compared;
    with_ball += path == CoefficientPath::ball;
    EXPECT_LE(ours, reference * (1 + 1e-8)) << "seed " << seed << " k " << k << " m " << m;
    // SLSQP sometimes stops early, at a larger distance; ours is feasible, so smaller is better.
    agreed += ours >= reference * (1 - 1e-8);
  }
  EXPECT_GE(compared, 250);
  EXPECT_GE(agreed, compared * 9 / 10);
  EXPECT_GE(with_ball, 60);
}

// Nearly parallel and opposite rows, thin sets, far targets: always feasible, nearly always solved
// to the end, and then no feasible point on the way to other candidates is nearer.
TEST(CoefficientStep, NastyProblemsStayFeasible) {
  CoefficientStep step;
  TaskVerifier verifier;
  int scaled = 0;
  const int count = 1000;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Draws draws(derive_seed(1, seed));
    const long d = draws.integer(1, 28);
    const long k = draws.integer(1, static_cast<int>(d));
    const long m = draws.integer(1, 120);
    const ProjectionTask task =
        test_support::random_task(draws, m, d, test_support::random_kind(draws));
    const Eigen::MatrixXd basis = test_support::random_basis(draws, d, k, 0.25, 4.0);
    const Problem p{task.rows() * basis, task.reduced(), task.slack_limit(),
                    draws.power(1e-3, 1e6) * draws.normals(k, 1)};
    CoefficientMemory memory;
    Eigen::VectorXd s(k);
    const CoefficientPath path = step.solve(p.rows, p.bounds, p.slack_limit, p.target, memory, s);
    scaled += path == CoefficientPath::scaled;
    expect_feasible(p, s, 1e-9);
    if (path == CoefficientPath::scaled) continue;
    // Optimality without a solver: s̃ − s makes no acute angle with any feasible direction.
    for (int i = 0; i < 20; ++i) {
      Eigen::VectorXd other = s + draws.power(1e-3, 1.0) * s.norm() * draws.normals(k, 1);
      const Eigen::VectorXd image = p.rows * other;
      other *= longest_scale(image, p.bounds, p.slack_limit);
      EXPECT_LE((p.target - s).dot(other - s),
                1e-7 * (p.target - s).norm() * (other.norm() + s.norm()))
          << "seed " << seed;
    }
    // Warm, the same problem has the same answer.
    Eigen::VectorXd again(k);
    step.solve(p.rows, p.bounds, p.slack_limit, p.target, memory, again);
    EXPECT_LE((again - s).norm(), 1e-6 * (s.norm() + 1e-6 * p.target.norm())) << "seed " << seed;
  }
  EXPECT_LE(scaled, count / 200);
}

}  // namespace lifeguard::coefficient_projection_test
