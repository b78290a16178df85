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
constexpr double kLonger = 1.1;      // what may be tried again after a short step that worked
constexpr double kLeastMove = 1e-5;  // relative to the basis
constexpr double kLeastRoom = 1e-13;
constexpr Eigen::Index kDensePlanes = 100'000;  // numbers in stationary()'s rows, at most
constexpr int kAllNewtonSteps = 150;            // over all short steps
constexpr double kMostOperations = 2e8;         // operations, so that no round takes long
// What large problems may take: rows in the working set, numbers in their normals, and tasks whose
// products of directions are all known beforehand.
constexpr Eigen::Index kMostWorkingRows = 1500;
constexpr Eigen::Index kMostNormalNumbers = 4'000'000;
constexpr Eigen::Index kFewTasks = 1000;
constexpr double kFirstRidge = 1e-10;
constexpr double kLargestRidge = 10;

}  // namespace

// With many tasks not all rows that bind can be looked at together; those that are left out come in
// when others have left.
bool BasisStep::has_room() const {
  const Eigen::Index most =
      std::clamp(kMostNormalNumbers / normals_.rows(), Eigen::Index{64}, kMostWorkingRows);
  return static_cast<Eigen::Index>(working_rows_.size()) < most;
}

void BasisStep::add_row(int task, int row, double bound, double length) {
  if (!has_room()) return;
  const auto index = static_cast<Eigen::Index>(working_rows_.size());
  if (index >= normals_.cols()) normals_.conservativeResize(Eigen::NoChange, 2 * index + 16);
  normals_.col(index) = normal_ / length;
  const double unit_bound = bound / (length * lengths_[task]);
  working_rows_.push_back(
      {task, row, unit_bound, 0, normals_.col(index).dot(policies_.col(task)) - unit_bound});
}

// Sorts the working rows by task, and drops idle ones when they are many.
void BasisStep::arrange_rows() {
  std::size_t active = 0;
  for (const Row& row : working_rows_) active += row.multiplier > 0;
  const bool drop = working_rows_.size() > 2 * active + 32;
  const auto stays = [drop](const Row& row) {
    return !(drop && row.multiplier <= 0 && row.violation < 0);
  };
  place_.assign(problem_->tasks.size(), 0);
  for (const Row& row : working_rows_) {
    if (stays(row)) ++place_[static_cast<std::size_t>(row.task)];
  }
  groups_.clear();
  Eigen::Index total = 0;
  for (std::size_t task = 0; task < place_.size(); ++task) {
    const Eigen::Index rows = place_[task];
    if (rows > 0) groups_.push_back({static_cast<int>(task), total, rows});
    place_[task] = total;
    total += rows;
  }
  sorted_rows_.resize(static_cast<std::size_t>(total));
  sorted_normals_.resize(normals_.rows(), normals_.cols());
  for (std::size_t i = 0; i < working_rows_.size(); ++i) {
    const Row& row = working_rows_[i];
    if (!stays(row)) continue;
    const Eigen::Index place = place_[static_cast<std::size_t>(row.task)]++;
    sorted_normals_.col(place) = normals_.col(static_cast<Eigen::Index>(i));
    sorted_rows_[static_cast<std::size_t>(place)] = row;
  }
  std::swap(working_rows_, sorted_rows_);
  std::swap(normals_, sorted_normals_);
  const auto n = static_cast<Eigen::Index>(working_rows_.size());
  if (gram_.rows() >= n) return;
  const Eigen::Index room = std::max(n, std::min(2 * n, kMostWorkingRows));
  gram_.resize(room, room);
  for (Eigen::VectorXd* vector :
       {&violations_at_zero_, &model_violations_, &old_multipliers_, &new_multipliers_})
    vector->resize(room);
}

// A warm start from the point itself, so that results are a function of the arguments alone.
void BasisStep::seed_working_set(const Eigen::MatrixXd& start) {
  working_rows_.clear();
  policies_.noalias() = start * directions_;
  for (std::size_t t = 0; t < problem_->tasks.size(); ++t) {
    const auto task = static_cast<Eigen::Index>(t);
    if (lengths_[task] <= 0) continue;
    const TightenedTask& data = problem_->tasks[t];
    image_.noalias() = *data.rows * policies_.col(task);
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      const double bound = (*data.bounds)[i];
      if (image_[i] * lengths_[task] < bound * (1 - kNearlyActive)) continue;
      normal_ = data.rows->row(i).transpose();
      add_row(static_cast<int>(t), static_cast<int>(i), bound, (*data.row_lengths)[i]);
    }
  }
}

// The next alternation's multipliers are near to the last one's, and those of a step of another
// length in proportion to it. Both lists are sorted by task.
void BasisStep::recall_multipliers(double length) {
  const double scale = length / remembered_length_;
  auto known = remembered_rows_.begin();
  for (Row& row : working_rows_) {
    while (known != remembered_rows_.end() && known->task < row.task) ++known;
    for (auto it = known; it != remembered_rows_.end() && it->task == row.task; ++it) {
      if (it->row == row.row) row.multiplier = scale * it->multiplier;
    }
  }
}

void BasisStep::remember_multipliers(double length) {
  remembered_length_ = length;
  remembered_rows_.clear();
  for (const Row& row : working_rows_) {
    if (row.multiplier > 0 && row.row >= 0) remembered_rows_.push_back(row);
  }
}

// Sets violation_, and adds for each task its worst rows and its ball's tangent plane if violated.
void BasisStep::collect_violated() {
  violation_ = 0;
  const std::size_t known = working_rows_.size();
  const double scale = clip_.result().norm();
  for (std::size_t t = 0; t < problem_->tasks.size(); ++t) {
    const auto task = static_cast<Eigen::Index>(t);
    if (lengths_[task] <= 0) continue;
    const TightenedTask& data = problem_->tasks[t];
    image_.noalias() = *data.rows * policies_.col(task);
    image_ *= lengths_[task];
    if (std::isfinite(data.slack_limit)) {
      slack_ = *data.bounds - image_;
      const double slack = slack_.norm();
      if (slack > data.slack_limit * (1 + 0.1 * kTightViolation)) {
        violation_ = std::max(violation_, slack / data.slack_limit - 1);
        const double bound = data.slack_limit - slack_.dot(*data.bounds) / slack;
        slack_ /= -slack;
        normal_.noalias() = data.rows->transpose() * slack_;
        const double length = normal_.norm();
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
      const auto end = working_rows_.begin() + static_cast<std::ptrdiff_t>(known);
      if (std::any_of(working_rows_.begin(), end, same)) continue;
      image_[i] = excess / length;
      most = std::max(most, image_[i]);
    }
    for (Eigen::Index i = 0; most > 0 && i < image_.size(); ++i) {
      if (image_[i] < kWorthAdding * most) continue;
      normal_ = data.rows->row(i).transpose();
      add_row(static_cast<int>(t), static_cast<int>(i), (*data.bounds)[i], (*data.row_lengths)[i]);
    }
  }
}

// The minimiser of the Lagrangian for the present multipliers, and the violations there.
bool BasisStep::load_point(const Eigen::MatrixXd& target) {
  point_ = target;
  for (std::size_t i = 0; i < working_rows_.size(); ++i) {
    const Row& row = working_rows_[i];
    if (row.multiplier <= 0) continue;
    point_.noalias() -= (row.multiplier * normals_.col(static_cast<Eigen::Index>(i))) *
                        directions_.col(row.task).transpose();
  }
  if (!clip_.compute(point_, problem_->low, problem_->high)) return false;
  policies_.noalias() = clip_.result() * directions_;
  for (std::size_t i = 0; i < working_rows_.size(); ++i) {
    Row& row = working_rows_[i];
    row.violation =
        normals_.col(static_cast<Eigen::Index>(i)).dot(policies_.col(row.task)) - row.bound;
  }
  return true;
}

bool BasisStep::may_go_on() const {
  return operations_ < kMostOperations && !problem_->deadline.passed();
}

double BasisStep::gap() const {
  double sum = 0;
  for (const Row& row : working_rows_) sum -= row.multiplier * row.violation;
  return sum;
}

double BasisStep::dual_value(const Eigen::MatrixXd& target) const {
  return 0.5 * (clip_.result() - target).squaredNorm() - gap();
}

double BasisStep::direction_product(int left, int right) const {
  return direction_products_.size() > 0 ? direction_products_(left, right)
                                        : directions_.col(left).dot(directions_.col(right));
}

// G_ij = ⟨N_i, (DΠ + ridge) N_j⟩ over the working rows N = a ŝᵀ, task by task: rows of one task
// share ŝ, so that DΠ is one k × k matrix for each pair of tasks.
void BasisStep::fill_gram() {
  const auto n = static_cast<Eigen::Index>(working_rows_.size());
  if (clip_.clipped()) {
    rotated_normals_.noalias() = clip_.left().transpose() * normals_.leftCols(n);
    rotated_directions_.noalias() = clip_.right().transpose() * directions_;
  }
  for (std::size_t h = 0; h < groups_.size() && !problem_->deadline.passed(); ++h) {
    const Group& right = groups_[h];
    for (std::size_t g = 0; g <= h; ++g) {
      const Group& left = groups_[g];
      auto block = gram_.block(left.first, right.first, left.count, right.count);
      block.noalias() = normals_.middleCols(left.first, left.count).transpose() *
                        normals_.middleCols(right.first, right.count);
      const double product = direction_product(left.task, right.task);
      if (!clip_.clipped()) {
        block *= product;
      } else {
        const double outer = clip_.metric(rotated_directions_.col(left.task),
                                          rotated_directions_.col(right.task), clip_metric_);
        block *= outer + ridge_ * product;
        clip_metric_normals_.noalias() =
            clip_metric_ * rotated_normals_.middleCols(right.first, right.count);
        block.noalias() +=
            rotated_normals_.middleCols(left.first, left.count).transpose() * clip_metric_normals_;
      }
      if (g != h) {
        gram_.block(right.first, left.first, right.count, left.count) = block.transpose();
      }
    }
  }
}

// Maximises the quadratic model of the dual at old_multipliers_ over λ ≥ 0; the solution goes to
// new_multipliers_.
bool BasisStep::solve_model() {
  const auto n = static_cast<Eigen::Index>(working_rows_.size());
  const auto gram = gram_.topLeftCorner(n, n);
  violations_at_zero_.head(n).noalias() = gram * old_multipliers_.head(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    violations_at_zero_[i] += working_rows_[static_cast<std::size_t>(i)].violation;
  }
  active_set_.reset(n);
  const auto collect_products = [&](Eigen::Index row) {
    const auto active = active_set_.rows();
    for (std::size_t i = 0; i < active.size(); ++i) {
      model_violations_[static_cast<Eigen::Index>(i)] = gram_(active[i], row);
    }
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    if (old_multipliers_[i] <= 0) continue;
    if (problem_->deadline.passed()) return false;
    collect_products(i);
    active_set_.append(static_cast<int>(i), model_violations_.head(active_set_.size()),
                       gram_(i, i));
  }
  for (long i = 0; i < active_set_.size(); ++i) {
    model_violations_[i] = violations_at_zero_[active_set_.rows()[static_cast<std::size_t>(i)]];
  }
  active_set_.settle(model_violations_.head(active_set_.size()));
  for (Eigen::Index iteration = 0; iteration < 20 + 10 * n && may_go_on(); ++iteration) {
    operations_ += static_cast<double>(3 * n * n);
    new_multipliers_.head(n).setZero();
    for (long i = 0; i < active_set_.size(); ++i) {
      new_multipliers_[active_set_.rows()[static_cast<std::size_t>(i)]] =
          active_set_.multipliers()[i];
    }
    model_violations_.head(n) = violations_at_zero_.head(n);
    model_violations_.head(n).noalias() -= gram * new_multipliers_.head(n);
    Eigen::Index worst = -1;
    double most = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      if (new_multipliers_[i] > 0 || gram_(i, i) <= 0) continue;
      const Row& row = working_rows_[static_cast<std::size_t>(i)];
      if (model_violations_[i] <= 0.05 * kTightViolation * row.bound + kRounding) continue;
      const double distance = model_violations_[i] / std::sqrt(gram_(i, i));
      if (distance > most) {
        most = distance;
        worst = i;
      }
    }
    if (worst < 0) return true;
    const double excess = model_violations_[worst];
    collect_products(worst);
    if (active_set_.enforce(static_cast<int>(worst), model_violations_.head(active_set_.size()),
                            gram_(worst, worst), excess) == DualActiveSet::Outcome::contradictory) {
      return false;
    }
  }
  return false;
}

// One Newton step with a line search on the dual. False when no step makes it rise.
bool BasisStep::newton_step(const Eigen::MatrixXd& target) {
  const auto n = static_cast<Eigen::Index>(working_rows_.size());
  bool moved = false;
  for (Eigen::Index i = 0; i < n; ++i)
    old_multipliers_[i] = working_rows_[static_cast<std::size_t>(i)].multiplier;
  const double value = dual_value(target);
  for (; ridge_ <= kLargestRidge && !problem_->deadline.passed(); ridge_ *= 100) {
    operations_ += static_cast<double>(n * n * (target.cols() + n));
    if (moved) {  // by a line search that failed with a smaller ridge
      for (Eigen::Index i = 0; i < n; ++i) {
        working_rows_[static_cast<std::size_t>(i)].multiplier = old_multipliers_[i];
      }
      if (!load_point(target)) return false;
    }
    fill_gram();
    if (!solve_model()) continue;
    double slope = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      slope += working_rows_[static_cast<std::size_t>(i)].violation *
               (new_multipliers_[i] - old_multipliers_[i]);
    }
    const double noise = 1e-14 * (std::fabs(value) + target.squaredNorm());
    double step = 1;
    for (int halving = 0; halving < kHalvings; ++halving, step *= 0.5) {
      for (Eigen::Index i = 0; i < n; ++i) {
        working_rows_[static_cast<std::size_t>(i)].multiplier =
            old_multipliers_[i] + step * (new_multipliers_[i] - old_multipliers_[i]);
      }
      if (load_point(target) && dual_value(target) >= value + 1e-4 * step * slope - noise) {
        return true;
      }
    }
    moved = true;
  }
  return false;
}

bool BasisStep::maximise_dual(const Eigen::MatrixXd& target, Patience patience) {
  ridge_ = kFirstRidge;
  if (!load_point(target)) return false;
  double last_violation = kInfinity;
  double last_value = 0;
  int stalled = 0;
  for (int step = 0;; ++step) {
    const std::size_t known = working_rows_.size();
    collect_violated();
    const bool grown = working_rows_.size() > known;
    arrange_rows();
    const double objective = 0.5 * (clip_.result() - target).squaredNorm();
    const double value = objective - gap();
    const double present_gap = std::fabs(value - objective);
    if (violation_ <= kTightViolation && present_gap <= kTightGap * objective) return true;
    const bool loose = violation_ <= kLooseViolation && present_gap <= kLooseGap * objective;
    if (step == kNewtonSteps || operations_ > kMostOperations || problem_->deadline.passed()) {
      return loose;
    }
    // At a gap the dual's maximum is a kink: steps get short and the violation stays.
    const bool stalls = !grown && violation_ > kStalledViolation * last_violation &&
                        value - last_value < kStalledRise * std::fabs(value);
    stalled = stalls ? stalled + 1 : 0;
    if (patience == Patience::short_of_a_stall && stalled == kStalledSteps) return loose;
    last_violation = violation_;
    last_value = value;
    ++iterations_;
    if (!newton_step(target)) return false;
  }
}

// Whether no small move from `start`, which all binding rows and planes at the limits of the
// spectrum allow, comes nearer to the target: at a vertex there is nothing to search for.
bool BasisStep::stationary(const Eigen::MatrixXd& start) {
  const double low = problem_->low;
  const double high = problem_->high;
  seed_working_set(start);
  if (static_cast<Eigen::Index>(working_rows_.size()) * start.size() > kDensePlanes) return false;
  near_target_ = problem_->target - start;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(start, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd& values = svd.singularValues();
  const auto rows = static_cast<Eigen::Index>(working_rows_.size());
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
    const Row& row = working_rows_[static_cast<std::size_t>(i)];
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
bool BasisStep::short_steps(Eigen::MatrixXd& solution) {
  const Eigen::MatrixXd& target = problem_->target;
  double distance = (solution - target).norm();
  const double whole = distance;
  const double first = std::min(0.5, 0.5 * problem_->low / distance);
  const double shortest = 1e-4 * first;
  double h = short_step_ > 0 ? short_step_ : first;
  bool moved = false;
  for (int i = 0; i < kShortSteps && h >= shortest && iterations_ < kAllNewtonSteps && may_go_on();
       ++i) {
    near_target_ = solution + h * (target - solution);
    seed_working_set(solution);
    recall_multipliers(h);
    if (!maximise_dual(near_target_, Patience::short_of_a_stall)) {
      // At many times the cost of one that works: not to be tried again soon.
      longest_short_step_ = 0.5 * h;
      h *= 0.25;
      continue;
    }
    const double next = (clip_.result() - target).norm();
    if (!(next < distance)) return moved;
    const double gain = distance - next;
    solution = clip_.result();
    distance = next;
    moved = true;
    short_step_ = h;
    remember_multipliers(h);
    const bool little = gain < std::max(kLeastGain * whole, problem_->least_share * (whole - next));
    if (h == 1 || little) return true;
    longest_short_step_ = std::min(1.0, kLonger * longest_short_step_);
    h = std::min(longest_short_step_, 2 * h);
  }
  return moved;
}

BasisPath BasisStep::solve(const BasisStepProblem& problem, const Eigen::MatrixXd& start,
                           Eigen::MatrixXd& solution) {
  const Eigen::MatrixXd& target = problem.target;
  const Eigen::MatrixXd& coefficients = problem.coefficients;
  iterations_ = 0;
  operations_ = 0;
  violation_ = 0;
  solution = start;
  problem_ = &problem;
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
  if (directions_.cols() <= kFewTasks) {
    direction_products_.noalias() = directions_.transpose() * directions_;
  } else {
    direction_products_.resize(0, 0);
  }
  tangent_.set_deadline(problem.deadline);
  clip_.restart();
  seed_working_set(start);
  recall_multipliers(1);
  bool solved = maximise_dual(target, Patience::short_of_a_stall);
  if (!solved) {
    if (stationary(start)) return BasisPath::short_steps;
    seed_working_set(start);
    solved = maximise_dual(target, Patience::full);
  }
  if (solved) {
    remember_multipliers(1);
    if ((clip_.result() - target).squaredNorm() > (start - target).squaredNorm()) {
      return BasisPath::kept;
    }
    solution = clip_.result();
    if (clip_.clipped()) return BasisPath::spectrum;
    return working_rows_.empty() ? BasisPath::inside : BasisPath::rows;
  }
  return short_steps(solution) ? BasisPath::short_steps : BasisPath::kept;
}

}  // namespace lifeguard
