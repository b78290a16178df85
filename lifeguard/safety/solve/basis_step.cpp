#include "lifeguard/safety/solve/basis_step.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

// Violations relative to the bound, and duality gaps relative to the objective.
constexpr double kTightViolation = 1e-10;
constexpr double kTightGap = 1e-7;
constexpr double kLooseViolation = 1e-8;
constexpr double kLooseGap = 1e-6;
constexpr double kRounding = 4e-16;
// Rows this near to their bound at the start are expected to bind again.
constexpr double kNearlyActive = 1e-6;
// Of the rows that a task violates, those at least this part as much as the worst one.
constexpr double kWorthAdding = 0.3;
constexpr int kNewtonSteps = 40;
constexpr int kHalvings = 12;
constexpr double kStalledViolation = 0.9;
constexpr double kStalledRise = 0.01;
constexpr int kStalledSteps = 2;
constexpr int kShortSteps = 60;
constexpr double kLeastGain = 1e-7;  // of a short step, relative to the distance
constexpr double kLeastMove = 1e-5;  // relative to the basis
constexpr double kLeastRoom = 1e-13;
constexpr Eigen::Index kDensePlanes = 100'000;  // numbers in stationary()'s rows, at most
constexpr int kAllNewtonSteps = 150;            // over all short steps
constexpr double kWork = 2e8;                   // operations, so that no round takes long
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

// Sorts the working rows by task, and drops idle ones when they are many.
void BasisStep::arrange_rows() {
  std::size_t active = 0;
  for (const Row& row : working_) active += row.multiplier > 0;
  const bool drop = working_.size() > 2 * active + 32;
  sorted_.clear();
  groups_.clear();
  sorted_normals_.resize(normals_.rows(), normals_.cols());
  const auto count = static_cast<int>(tasks_->size());
  for (int task = 0; task < count; ++task) {
    const auto first = static_cast<Eigen::Index>(sorted_.size());
    for (std::size_t i = 0; i < working_.size(); ++i) {
      const Row& row = working_[i];
      if (row.task != task || (drop && row.multiplier <= 0 && row.violation < 0)) continue;
      sorted_normals_.col(static_cast<Eigen::Index>(sorted_.size())) =
          normals_.col(static_cast<Eigen::Index>(i));
      sorted_.push_back(row);
    }
    const auto rows = static_cast<Eigen::Index>(sorted_.size()) - first;
    if (rows > 0) groups_.push_back({task, first, rows});
  }
  std::swap(working_, sorted_);
  std::swap(normals_, sorted_normals_);
  const auto n = static_cast<Eigen::Index>(working_.size());
  if (gram_.rows() >= n) return;
  gram_.resize(2 * n, 2 * n);
  for (Eigen::VectorXd* vector : {&constant_, &model_, &old_, &new_}) vector->resize(2 * n);
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

// The next alternation's multipliers are near to the last one's. Both lists are sorted by task.
void BasisStep::recall_multipliers() {
  auto known = remembered_.begin();
  for (Row& row : working_) {
    while (known != remembered_.end() && known->task < row.task) ++known;
    for (auto it = known; it != remembered_.end() && it->task == row.task; ++it) {
      if (it->row == row.row) row.multiplier = it->multiplier;
    }
  }
}

// Sets violation_, and adds for each task its worst rows and its ball's tangent plane if violated.
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
      slack_ = *data.bounds - image_;
      const double slack = slack_.norm();
      if (slack > data.slack_limit * (1 + 0.1 * kTightViolation)) {
        violation_ = std::max(violation_, slack / data.slack_limit - 1);
        const double bound = data.slack_limit - slack_.dot(*data.bounds) / slack;
        slack_ /= -slack;
        cut_.noalias() = data.rows->transpose() * slack_;
        const double length = cut_.norm();
        if (length > 0 && bound > 0) add_row(static_cast<int>(t), -1, bound, length);
      }
    }
    // image_ becomes the distance by which each row is violated, 0 for the known ones.
    double most = 0;
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      const double bound = (*data.bounds)[i];
      const double excess = image_[i] - bound;
      const double length = (*data.row_lengths)[i] * lengths_[task];
      image_[i] = 0;
      if (excess <= 0.1 * kTightViolation * bound + kRounding * scale * length) continue;
      violation_ = std::max(violation_, excess / bound);
      const auto same = [&](const Row& r) { return r.task == task && r.row == i; };
      const auto end = working_.begin() + static_cast<std::ptrdiff_t>(known);
      if (std::any_of(working_.begin(), end, same)) continue;
      image_[i] = excess / length;
      most = std::max(most, image_[i]);
    }
    for (Eigen::Index i = 0; most > 0 && i < image_.size(); ++i) {
      if (image_[i] < kWorthAdding * most) continue;
      cut_ = data.rows->row(i).transpose();
      add_row(static_cast<int>(t), static_cast<int>(i), (*data.bounds)[i], (*data.row_lengths)[i]);
    }
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

// G_ij = ⟨N_i, (DΠ + ridge) N_j⟩ over the working rows N = a ŝᵀ, task by task: rows of one task
// share ŝ, so that DΠ is one k × k matrix for each pair of tasks.
void BasisStep::fill_gram() {
  const auto n = static_cast<Eigen::Index>(working_.size());
  if (clip_.clipped()) {
    rotated_normals_.noalias() = clip_.left().transpose() * normals_.leftCols(n);
    rotated_directions_.noalias() = clip_.right().transpose() * directions_;
  }
  for (std::size_t h = 0; h < groups_.size(); ++h) {
    const Group& right = groups_[h];
    for (std::size_t g = 0; g <= h; ++g) {
      const Group& left = groups_[g];
      auto block = gram_.block(left.first, right.first, left.count, right.count);
      block.noalias() = normals_.middleCols(left.first, left.count).transpose() *
                        normals_.middleCols(right.first, right.count);
      const double same = direction_products_(left.task, right.task);
      if (!clip_.clipped()) {
        block *= same;
      } else {
        const double outer = clip_.metric(rotated_directions_.col(left.task),
                                          rotated_directions_.col(right.task), inner_);
        block *= outer + ridge_ * same;
        inner_normals_.noalias() = inner_ * rotated_normals_.middleCols(right.first, right.count);
        block.noalias() +=
            rotated_normals_.middleCols(left.first, left.count).transpose() * inner_normals_;
      }
      if (g != h) {
        gram_.block(right.first, left.first, right.count, left.count) = block.transpose();
      }
    }
  }
}

// Maximises the quadratic model of the dual at old_ over λ ≥ 0; the solution goes to new_.
bool BasisStep::solve_model() {
  const auto n = static_cast<Eigen::Index>(working_.size());
  const auto gram = gram_.topLeftCorner(n, n);
  constant_.head(n).noalias() = gram * old_.head(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    constant_[i] += working_[static_cast<std::size_t>(i)].violation;
  }
  set_.reset(n);
  const auto collect_products = [&](Eigen::Index row) {
    const auto active = set_.rows();
    for (std::size_t i = 0; i < active.size(); ++i) {
      model_[static_cast<Eigen::Index>(i)] = gram_(active[i], row);
    }
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    if (old_[i] <= 0) continue;
    collect_products(i);
    set_.append(static_cast<int>(i), model_.head(set_.size()), gram_(i, i));
  }
  for (long i = 0; i < set_.size(); ++i) {
    model_[i] = constant_[set_.rows()[static_cast<std::size_t>(i)]];
  }
  set_.settle(model_.head(set_.size()));
  for (Eigen::Index iteration = 0; iteration < 20 + 10 * n && work_ < kWork; ++iteration) {
    work_ += static_cast<double>(3 * n * n);
    new_.head(n).setZero();
    for (long i = 0; i < set_.size(); ++i) {
      new_[set_.rows()[static_cast<std::size_t>(i)]] = set_.multipliers()[i];
    }
    model_.head(n) = constant_.head(n);
    model_.head(n).noalias() -= gram * new_.head(n);
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
    collect_products(worst);
    if (set_.enforce(static_cast<int>(worst), model_.head(set_.size()), gram_(worst, worst),
                     excess) == DualActiveSet::Outcome::contradictory) {
      return false;
    }
  }
  return false;
}

// One Newton step with a line search on the dual. False when no step makes it rise.
bool BasisStep::newton_step(const Eigen::MatrixXd& target, double low, double high) {
  const auto n = static_cast<Eigen::Index>(working_.size());
  bool moved = false;
  for (Eigen::Index i = 0; i < n; ++i) old_[i] = working_[static_cast<std::size_t>(i)].multiplier;
  const double value = dual_value(target);
  for (; ridge_ <= kLargestRidge; ridge_ *= 100) {
    work_ += static_cast<double>(n * n * (target.cols() + n));
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

bool BasisStep::maximise_dual(const Eigen::MatrixXd& target, double low, double high,
                              Patience patience) {
  ridge_ = kFirstRidge;
  if (!load_point(target, low, high)) return false;
  double last_violation = kInfinity;
  double last_value = 0;
  int stalled = 0;
  for (int step = 0;; ++step) {
    const std::size_t known = working_.size();
    collect_violated();
    const bool grown = working_.size() > known;
    arrange_rows();
    const double objective = 0.5 * (clip_.result() - target).squaredNorm();
    const double value = objective - gap();
    const double present_gap = std::fabs(value - objective);
    if (violation_ <= kTightViolation && present_gap <= kTightGap * objective) return true;
    const bool loose = violation_ <= kLooseViolation && present_gap <= kLooseGap * objective;
    if (step == kNewtonSteps || work_ > kWork) return loose;
    // At a gap the dual's maximum is a kink: steps get short and the violation stays.
    const bool stalls = !grown && violation_ > kStalledViolation * last_violation &&
                        value - last_value < kStalledRise * std::fabs(value);
    stalled = stalls ? stalled + 1 : 0;
    if (patience == Patience::short_of_a_stall && stalled == kStalledSteps) return loose;
    last_violation = violation_;
    last_value = value;
    ++iterations_;
    if (!newton_step(target, low, high)) return false;
  }
}

// Whether no small move from `start`, which all binding rows and planes at the limits of the
// spectrum allow, comes nearer to the target: at a vertex there is nothing to search for.
bool BasisStep::stationary(const Eigen::MatrixXd& target, const Eigen::MatrixXd& start, double low,
                           double high) {
  seed_working_set(start);
  if (static_cast<Eigen::Index>(working_.size()) * start.size() > kDensePlanes) return false;
  near_target_ = target - start;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(start, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd& values = svd.singularValues();
  const auto rows = static_cast<Eigen::Index>(working_.size());
  planes_.resize(rows + values.size(), start.size());
  plane_bounds_.setZero(planes_.rows());
  Eigen::Index count = 0;
  const auto add_plane = [&](const auto& left, const auto& right, double sign, double room) {
    Eigen::Map<Eigen::MatrixXd>(planes_.row(count).data(), start.rows(), start.cols()).noalias() =
        (sign * left) * right.transpose();
    // The solver wants 0 strictly inside; a plane that binds leaves only rounding.
    plane_bounds_[count++] = std::max(room, kLeastRoom * start.norm());
  };
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Row& row = working_[static_cast<std::size_t>(i)];
    add_plane(normals_.col(i), directions_.col(row.task), 1, -row.violation);
  }
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    const bool at_high = high - values[i] < values[i] - low;
    const double room = at_high ? high - values[i] : values[i] - low;
    if (room > kNearlyActive * values[i]) continue;
    add_plane(svd.matrixU().col(i), svd.matrixV().col(i), at_high ? 1 : -1, room);
  }
  planes_.conservativeResize(count, Eigen::NoChange);
  plane_bounds_.conservativeResize(count);
  CoefficientMemory memory;
  Eigen::VectorXd move(start.size());
  const auto wanted = near_target_.reshaped();
  if (tangent_.solve(planes_, plane_bounds_, kInfinity, wanted, memory, move) ==
      CoefficientPath::scaled) {
    return false;
  }
  return move.norm() < kLeastMove * start.norm() &&
         wanted.norm() - (wanted - move).norm() < kLeastGain * wanted.norm();
}

// Proximal steps min ‖L − L̃‖² + (1/h − 1)‖L − L_now‖², whose target is L_now + h(L̃ − L_now): near
// enough to the set the dual has no gap, and every step lowers the distance to L̃.
bool BasisStep::short_steps(const Eigen::MatrixXd& target, double low, double high,
                            Eigen::MatrixXd& solution) {
  double distance = (solution - target).norm();
  double h = std::min(0.5, 0.5 * low / distance);
  const double shortest = 1e-4 * h;
  bool moved = false;
  for (int i = 0;
       i < kShortSteps && h >= shortest && iterations_ < kAllNewtonSteps && work_ < kWork; ++i) {
    near_target_ = solution + h * (target - solution);
    seed_working_set(solution);
    if (!maximise_dual(near_target_, low, high, Patience::full)) {
      h *= 0.25;
      continue;
    }
    const double next = (clip_.result() - target).norm();
    if (!(next < distance)) return moved;
    const double gain = (distance - next) / distance;
    solution = clip_.result();
    distance = next;
    moved = true;
    if (h == 1 || gain < kLeastGain) return true;
    h = std::min(1.0, 2 * h);
  }
  return moved;
}

BasisPath BasisStep::solve(const std::vector<BasisStepTask>& tasks,
                           const Eigen::MatrixXd& coefficients, const Eigen::MatrixXd& target,
                           const Eigen::MatrixXd& start, double low, double high,
                           Eigen::MatrixXd& solution, bool fail_solver) {
  iterations_ = 0;
  work_ = 0;
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
  recall_multipliers();
  bool solved = maximise_dual(target, low, high, Patience::short_of_a_stall);
  if (!solved) {
    remembered_.clear();
    if (stationary(target, start, low, high)) return BasisPath::short_steps;
    seed_working_set(start);
    solved = maximise_dual(target, low, high, Patience::full);
  }
  if (solved) {
    remembered_.clear();
    for (const Row& row : working_) {
      if (row.multiplier > 0 && row.row >= 0) remembered_.push_back(row);
    }
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
