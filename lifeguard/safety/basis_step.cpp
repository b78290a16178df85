#include "lifeguard/safety/basis_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lifeguard {

namespace {

// Violations relative to the bound, and duality gaps relative to the objective.
constexpr double kTightViolation = 2e-11;
constexpr double kTightGap = 1e-9;
constexpr double kLooseViolation = 1e-8;
constexpr double kLooseGap = 1e-6;
constexpr double kRounding = 4e-16;
// Rows this near to their bound at the start are expected to bind again.
constexpr double kNearlyActive = 1e-6;
constexpr int kNewtonSteps = 40;
constexpr int kHalvings = 12;
constexpr int kShortSteps = 60;
constexpr double kFirstRidge = 1e-10;
constexpr double kLargestRidge = 10;

}  // namespace

void BasisStep::add_row(int task, int row, double bound, double length) {
  const auto index = static_cast<Eigen::Index>(working_.size());
  if (index >= normals_.cols()) normals_.conservativeResize(Eigen::NoChange, 2 * index + 16);
  normals_.col(index) = cut_ / length;
  const double unit_bound = bound / (length * lengths_[task]);
  working_.push_back(
      {task, row, unit_bound, 0, normals_.col(index).dot(policies_.col(task)) - unit_bound});
}

void BasisStep::remove_idle_rows() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < working_.size(); ++i) {
    if (working_[i].multiplier <= 0 && working_[i].violation < 0) continue;
    if (kept != i) {
      working_[kept] = working_[i];
      normals_.col(static_cast<Eigen::Index>(kept)) = normals_.col(static_cast<Eigen::Index>(i));
    }
    ++kept;
  }
  working_.resize(kept);
}

// A warm start from the point itself, so that results are a function of the arguments alone.
void BasisStep::seed_working_set(const Eigen::MatrixXd& start) {
  working_.clear();
  policies_.noalias() = start * directions_;
  for (std::size_t t = 0; t < tasks_->size(); ++t) {
    const auto task = static_cast<Eigen::Index>(t);
    if (lengths_[task] <= 0) continue;
    const BasisStepTask& data = (*tasks_)[t];
    image_.noalias() = *data.rows * policies_.col(task);
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      const double bound = (*data.bounds)[i];
      if (image_[i] * lengths_[task] < bound * (1 - kNearlyActive)) continue;
      cut_ = data.rows->row(i).transpose();
      add_row(static_cast<int>(t), static_cast<int>(i), bound, (*data.row_lengths)[i]);
    }
  }
}

// Sets violation_, and adds for each task its worst row and its ball's tangent plane if violated.
void BasisStep::collect_violated() {
  violation_ = 0;
  const std::size_t known = working_.size();
  const double scale = clip_.result().norm();
  for (std::size_t t = 0; t < tasks_->size(); ++t) {
    const auto task = static_cast<Eigen::Index>(t);
    if (lengths_[task] <= 0) continue;
    const BasisStepTask& data = (*tasks_)[t];
    image_.noalias() = *data.rows * policies_.col(task);
    image_ *= lengths_[task];
    if (std::isfinite(data.slack_limit)) {
      cut_ = *data.bounds - image_;
      const double slack = cut_.norm();
      if (slack > data.slack_limit * (1 + 0.1 * kTightViolation)) {
        violation_ = std::max(violation_, slack / data.slack_limit - 1);
        const double bound = data.slack_limit - cut_.dot(*data.bounds) / slack;
        cut_ = (data.rows->transpose() * (cut_ / -slack)).eval();
        const double length = cut_.norm();
        if (length > 0 && bound > 0) add_row(static_cast<int>(t), -1, bound, length);
      }
    }
    double most = 0;
    int worst = -1;
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      const double excess = image_[i] - (*data.bounds)[i];
      const double length = (*data.row_lengths)[i] * lengths_[task];
      if (excess <= 0.1 * kTightViolation * (*data.bounds)[i] + kRounding * scale * length)
        continue;
      violation_ = std::max(violation_, excess / (*data.bounds)[i]);
      if (excess <= most * length) continue;
      const auto same = [&](const Row& r) { return r.task == task && r.row == i; };
      const auto end = working_.begin() + static_cast<std::ptrdiff_t>(known);
      if (std::any_of(working_.begin(), end, same)) continue;
      most = excess / length;
      worst = static_cast<int>(i);
    }
    if (worst < 0) continue;
    cut_ = data.rows->row(worst).transpose();
    add_row(static_cast<int>(t), worst, (*data.bounds)[worst], (*data.row_lengths)[worst]);
  }
}

// The minimiser of the Lagrangian for the present multipliers, and the violations there.
bool BasisStep::load_point(const Eigen::MatrixXd& target, double low, double high) {
  point_ = target;
  for (std::size_t i = 0; i < working_.size(); ++i) {
    const Row& row = working_[i];
    if (row.multiplier <= 0) continue;
    point_.noalias() -= (row.multiplier * normals_.col(static_cast<Eigen::Index>(i))) *
                        directions_.col(row.task).transpose();
  }
  if (!clip_.compute(point_, low, high)) return false;
  policies_.noalias() = clip_.result() * directions_;
  for (std::size_t i = 0; i < working_.size(); ++i) {
    Row& row = working_[i];
    row.violation =
        normals_.col(static_cast<Eigen::Index>(i)).dot(policies_.col(row.task)) - row.bound;
  }
  return true;
}

double BasisStep::gap() const {
  double sum = 0;
  for (const Row& row : working_) sum -= row.multiplier * row.violation;
  return sum;
}

double BasisStep::dual_value(const Eigen::MatrixXd& target) const {
  return 0.5 * (clip_.result() - target).squaredNorm() - gap();
}

// G_ij = ⟨N_i, (DΠ + ridge) N_j⟩ over the working rows N = a ŝᵀ.
void BasisStep::fill_gram() {
  const auto n = static_cast<Eigen::Index>(working_.size());
  gram_.resize(n, n);
  gram_.noalias() = normals_.leftCols(n).transpose() * normals_.leftCols(n);
  if (clip_.clipped()) {
    rotated_normals_.noalias() = clip_.left().transpose() * normals_.leftCols(n);
    rotated_directions_.noalias() = clip_.right().transpose() * directions_;
  }
  for (Eigen::Index j = 0; j < n; ++j) {
    const int task = working_[static_cast<std::size_t>(j)].task;
    for (Eigen::Index i = 0; i <= j; ++i) {
      const int other = working_[static_cast<std::size_t>(i)].task;
      const double normals = gram_(i, j);
      double value = normals * direction_products_(other, task);
      if (clip_.clipped()) {
        value = ridge_ * value + clip_.metric(rotated_normals_.col(i).data(),
                                              rotated_directions_.col(other).data(),
                                              rotated_normals_.col(j).data(),
                                              rotated_directions_.col(task).data(), normals);
      }
      gram_(i, j) = value;
      gram_(j, i) = value;
    }
  }
}

// Maximises the quadratic model of the dual at old_ over λ ≥ 0; the solution goes to new_.
bool BasisStep::solve_model() {
  const auto n = static_cast<Eigen::Index>(working_.size());
  constant_.noalias() = gram_ * old_;
  for (Eigen::Index i = 0; i < n; ++i)
    constant_[i] += working_[static_cast<std::size_t>(i)].violation;
  set_.reset(n);
  model_.resize(n);
  const auto products = [&](Eigen::Index row) {
    const auto active = set_.rows();
    for (std::size_t i = 0; i < active.size(); ++i) {
      model_[static_cast<Eigen::Index>(i)] = gram_(active[i], row);
    }
    return model_.head(set_.size());
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    if (old_[i] > 0) set_.append(static_cast<int>(i), products(i), gram_(i, i));
  }
  for (long i = 0; i < set_.size(); ++i) {
    model_[i] = constant_[set_.rows()[static_cast<std::size_t>(i)]];
  }
  set_.settle(model_.head(set_.size()));
  for (Eigen::Index iteration = 0; iteration < 20 + 10 * n; ++iteration) {
    new_ = Eigen::VectorXd::Zero(n);
    for (long i = 0; i < set_.size(); ++i) {
      new_[set_.rows()[static_cast<std::size_t>(i)]] = set_.multipliers()[i];
    }
    model_ = constant_;
    model_.noalias() -= gram_ * new_;
    Eigen::Index worst = -1;
    double most = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      if (new_[i] > 0 || gram_(i, i) <= 0) continue;
      const Row& row = working_[static_cast<std::size_t>(i)];
      if (model_[i] <= 0.05 * kTightViolation * row.bound + kRounding) continue;
      const double distance = model_[i] / std::sqrt(gram_(i, i));
      if (distance > most) {
        most = distance;
        worst = i;
      }
    }
    if (worst < 0) return true;
    const double excess = model_[worst];
    const auto column = products(worst);
    if (set_.enforce(static_cast<int>(worst), column, gram_(worst, worst), excess) ==
        DualActiveSet::Outcome::contradictory) {
      return false;
    }
  }
  return false;
}

// One Newton step with a line search on the dual. False when no step makes it rise.
bool BasisStep::newton_step(const Eigen::MatrixXd& target, double low, double high) {
  const auto n = static_cast<Eigen::Index>(working_.size());
  old_.resize(n);
  bool moved = false;
  for (Eigen::Index i = 0; i < n; ++i) old_[i] = working_[static_cast<std::size_t>(i)].multiplier;
  const double value = dual_value(target);
  for (; ridge_ <= kLargestRidge; ridge_ *= 100) {
    if (moved) {  // by a line search that failed with a smaller ridge
      for (Eigen::Index i = 0; i < n; ++i) {
        working_[static_cast<std::size_t>(i)].multiplier = old_[i];
      }
      if (!load_point(target, low, high)) return false;
    }
    fill_gram();
    if (!solve_model()) continue;
    double slope = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      slope += working_[static_cast<std::size_t>(i)].violation * (new_[i] - old_[i]);
    }
    const double noise = 1e-14 * (std::fabs(value) + target.squaredNorm());
    double step = 1;
    for (int halving = 0; halving < kHalvings; ++halving, step *= 0.5) {
      for (Eigen::Index i = 0; i < n; ++i) {
        working_[static_cast<std::size_t>(i)].multiplier = old_[i] + step * (new_[i] - old_[i]);
      }
      if (load_point(target, low, high) &&
          dual_value(target) >= value + 1e-4 * step * slope - noise) {
        return true;
      }
    }
    moved = true;
  }
  return false;
}

bool BasisStep::maximise_dual(const Eigen::MatrixXd& target, double low, double high) {
  for (Row& row : working_) row.multiplier = 0;
  ridge_ = kFirstRidge;
  if (!load_point(target, low, high)) return false;
  for (int step = 0;; ++step) {
    remove_idle_rows();
    collect_violated();
    const double objective = 0.5 * (clip_.result() - target).squaredNorm();
    const double present_gap = std::fabs(gap());
    if (violation_ <= kTightViolation && present_gap <= kTightGap * objective) return true;
    const bool loose = violation_ <= kLooseViolation && present_gap <= kLooseGap * objective;
    if (step == kNewtonSteps) return loose;
    ++iterations_;
    if (!newton_step(target, low, high)) return false;
  }
}

// Proximal steps min ‖L − L̃‖² + (1/h − 1)‖L − L_now‖², whose target is L_now + h(L̃ − L_now): near
// enough to the set the dual has no gap, and every step lowers the distance to L̃.
bool BasisStep::short_steps(const Eigen::MatrixXd& target, double low, double high,
                            Eigen::MatrixXd& solution) {
  double distance = (solution - target).norm();
  double h = std::min(0.5, 0.5 * low / distance);
  const double shortest = 1e-4 * h;
  bool moved = false;
  for (int i = 0; i < kShortSteps && h >= shortest; ++i) {
    near_target_ = solution + h * (target - solution);
    seed_working_set(solution);
    if (!maximise_dual(near_target_, low, high)) {
      h *= 0.25;
      continue;
    }
    const double next = (clip_.result() - target).norm();
    if (!(next < distance)) return moved;
    const double gain = (distance - next) / distance;
    solution = clip_.result();
    distance = next;
    moved = true;
    if (h == 1 || gain < 1e-7) return true;
    h = std::min(1.0, 2 * h);
  }
  return moved;
}

BasisPath BasisStep::solve(const std::vector<BasisStepTask>& tasks,
                           const Eigen::MatrixXd& coefficients, const Eigen::MatrixXd& target,
                           const Eigen::MatrixXd& start, double low, double high,
                           Eigen::MatrixXd& solution, bool fail_solver) {
  iterations_ = 0;
  violation_ = 0;
  solution = start;
  if (fail_solver) return BasisPath::kept;
  tasks_ = &tasks;
  normals_.conservativeResize(target.rows(), std::max<Eigen::Index>(normals_.cols(), 64));
  lengths_ = coefficients.colwise().norm();
  directions_ = coefficients;
  for (Eigen::Index t = 0; t < lengths_.size(); ++t) {
    if (lengths_[t] > std::numeric_limits<double>::min()) {
      directions_.col(t) /= lengths_[t];
    } else {
      lengths_[t] = 0;
      directions_.col(t).setZero();
    }
  }
  direction_products_.noalias() = directions_.transpose() * directions_;
  clip_.restart();
  seed_working_set(start);
  if (maximise_dual(target, low, high)) {
    if ((clip_.result() - target).squaredNorm() > (start - target).squaredNorm()) {
      return BasisPath::kept;
    }
    solution = clip_.result();
    if (clip_.clipped()) return BasisPath::spectrum;
    return working_.empty() ? BasisPath::inside : BasisPath::rows;
  }
  return short_steps(target, low, high, solution) ? BasisPath::short_steps : BasisPath::kept;
}

}  // namespace lifeguard
