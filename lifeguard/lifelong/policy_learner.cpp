#include "lifeguard/lifelong/policy_learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/critic_step.hpp"
#include "lifeguard/base_learners/trajectory_check.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

PolicyLearner::PolicyLearner(int features, int actions, const RoundSettings& round)
    : features_(features),
      actions_(actions),
      round_(round),
      played_(Eigen::MatrixXd::Zero(std::max(actions, 1), std::max(features, 1)), 0.0),
      workspace_(std::make_unique<BaseLearnerWorkspace>()) {
  round.validate();
  require(features > 0, "features", features, "must be at least 1");
  require(actions > 0, "actions", actions, "must be at least 1");
  alpha_.resize(parameters());
}

PolicyLearner::~PolicyLearner() = default;
PolicyLearner::PolicyLearner(PolicyLearner&&) noexcept = default;
PolicyLearner& PolicyLearner::operator=(PolicyLearner&&) noexcept = default;

void PolicyLearner::add_task(const std::string& id, const Eigen::VectorXd& anchor,
                             const PerAction& sigma) {
  require_new_task(id, anchor, sigma);
  append_task(anchor);
  enter_task(id, sigma);
}

void PolicyLearner::require_new_task(const std::string& id, const Eigen::VectorXd& anchor,
                                     const PerAction& sigma) const {
  require(!knows(id), "task", id, "must not have been added before");
  require(id.find('\n') == std::string::npos, "task", id, "must be one line");
  require_noise(sigma);
  require_size("anchor", anchor.size(), parameters());
  for (Eigen::Index i = 0; i < anchor.size(); ++i) require_finite(indexed("anchor", i), anchor(i));
}

void PolicyLearner::require_noise(const PerAction& sigma) const {
  sigma.require_fits("sigma", actions_);
  require_positive("sigma", sigma);
}

void PolicyLearner::enter_task(const std::string& id, const PerAction& sigma) {
  index_.emplace(id, tasks());
  tasks_.push_back({id, sigma});
}

void PolicyLearner::set_sigma(std::string_view id, const PerAction& sigma) {
  require_noise(sigma);
  tasks_[static_cast<std::size_t>(index(id))].sigma = sigma;
}

void PolicyLearner::set_action_range(std::string_view id, const ActionRange& range) {
  range.require_fits(actions_);
  tasks_[static_cast<std::size_t>(index(id))].range = range;
}

int PolicyLearner::index(std::string_view id) const {
  const auto found = index_.find(id);
  require(found != index_.end(), "task", id, "must be one that was added");
  return found->second;
}

GaussianPolicy PolicyLearner::policy(std::string_view id) const {
  const int task = index(id);
  Eigen::VectorXd alpha(parameters());
  policy_parameters(task, alpha);
  return GaussianPolicy::from_parameters(alpha, actions_, tasks_[task].sigma);
}

void PolicyLearner::require_usable(const RoundLoss& loss) const {
  require(loss.status != RoundLossStatus::not_run, "loss.status", "not_run",
          "must be the result of a base learner");
  require_size("loss.target", loss.target.size(), parameters());
  if (!are_blocks(loss.curvature, features_, actions_)) {  // texts cost memory
    require(false, "loss.curvature",
            fmt::format("{} x {}", loss.curvature.rows(), loss.curvature.cols()),
            fmt::format("must be {0} x {0}, or so for each action", features_));
  }
  for (Eigen::Index i = 0; i < loss.target.size(); ++i) {
    if (!std::isfinite(loss.target(i))) require_finite(indexed("loss.target", i), loss.target(i));
  }
  for (int j = 0; j < features_; ++j) {
    for (Eigen::Index i = 0; i < loss.curvature.rows(); ++i) {
      if (!std::isfinite(loss.curvature(i, j))) {
        require_finite(fmt::format("loss.curvature({}, {})", i, j), loss.curvature(i, j));
      }
    }
  }
}

RoundRecord PolicyLearner::refuse(int task, const TrajectoryCheck& check, double mean_cost) const {
  RoundRecord record;
  record.status = RoundStatus::no_noise;
  record.task = tasks_[task].id;
  record.round = rounds_;
  record.visit = tasks_[task].visits;
  record.mean_cost = mean_cost;
  record.trajectories = check;
  return record;
}

RoundRecord PolicyLearner::observe(std::string_view id, const Trajectories& trajectories) {
  const int task = index(id);
  policy_parameters(task, alpha_);
  played_.assign(alpha_, tasks_[task].sigma);
  return observe_played(id, trajectories);
}

RoundRecord PolicyLearner::observe(std::string_view id, const Trajectories& trajectories,
                                   const GaussianPolicy& played) {
  require(played.actions() == actions_ && played.features() == features_, "played",
          fmt::format("{} x {} gains", played.actions(), played.features()),
          fmt::format("must be {} x {}", actions_, features_));
  require_positive("played.sigma", played.noise());
  played_.assign(played.parameters(), played.noise());
  return observe_played(id, trajectories);
}

RoundRecord PolicyLearner::observe_played(std::string_view id, const Trajectories& trajectories) {
  const int task = index(id);
  TrajectoryCheck check = check_ends(trajectories, played_);
  check.require_usable();
  const double visit = visits_before(task);
  const BaseLearnerSettings settings =
      adapted(round_.base_learner, round_.adaptation, trajectories);
  make_round_loss(trajectories, played_, visit, settings, *workspace_, next_loss_);
  if (settings.method != BaseLearnerMethod::fit_demonstrations) {
    check_noise(trajectories, played_, workspace_->policy_gradient, workspace_->noise_units, check);
    check.require_usable();
    if (check.status == TrajectoryStatus::no_noise) {
      return refuse(task, check, next_loss_.mean_cost);
    }
  }
  if (next_loss_.status == RoundLossStatus::no_signal) explain_no_signal(trajectories, check);
  std::swap(loss_, next_loss_);
  if (settings.step.rule == StepRule::trust_region &&
      settings.method == BaseLearnerMethod::natural_actor_critic) {
    const double radius = settings.step.radius(visit);
    adapt_step(round_.adaptation, radius, trajectories, workspace_->policy_gradient, loss_);
    take_critic_step(trajectories, played_, tasks_[task].range, round_, radius, *workspace_, loss_);
  }
  RoundRecord record = observe(id, loss_);
  record.trajectories = std::move(check);
  return record;
}

RoundRecord PolicyLearner::observe(std::string_view id, const RoundLoss& loss) {
  const int task = index(id);
  require_usable(loss);
  RoundRecord record;
  record.loss_status = loss.status;
  record.task = tasks_[task].id;
  record.mean_cost = loss.mean_cost;
  record.step_kl = loss.step_kl;
  record.noise_share = loss.noise_share;
  policy_parameters(task, alpha_);
  record.loss_before = loss.value(alpha_);
  if (loss.status == RoundLossStatus::no_signal) {
    record.status = RoundStatus::no_signal;
  } else {
    record.status = update(task, loss);
    describe_update(record);
  }
  if (record.status == RoundStatus::ok || record.status == RoundStatus::no_signal) {
    ++rounds_;
    ++tasks_[task].visits;
  }
  record.round = rounds_;
  record.visit = tasks_[task].visits;
  policy_parameters(task, alpha_);
  record.loss_after = loss.value(alpha_);
  return record;
}

void PolicyLearner::restore_tasks(std::vector<TaskState> tasks, long rounds) {
  index_.clear();
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const bool added = index_.emplace(tasks[t].id, static_cast<int>(t)).second;
    require(added, "task", tasks[t].id, "must not appear twice");
  }
  tasks_ = std::move(tasks);
  rounds_ = rounds;
}

void PolicyLearner::write_visits(StateWriter& writer, std::string_view title) const {
  writer.field("learner", std::string(title));
  writer.field("rounds", rounds_);
  for (const TaskState& task : tasks_) {
    writer.field("task", task.id);
    writer.field("visits", task.visits);
  }
}

PolicyLearner::SavedVisits PolicyLearner::read_visits(StateReader& reader,
                                                      std::string_view title) const {
  std::string found;
  reader.field("learner", found);
  require(found == title, "learner", found, fmt::format("must be \"{}\"", title));
  std::vector<TaskState> tasks = tasks_;
  long rounds = 0;
  reader.field("rounds", rounds);
  require(rounds >= 0, "rounds", static_cast<double>(rounds), "must not be negative");
  for (TaskState& task : tasks) {
    reader.field("task", found);
    require(found == task.id, "task", found, fmt::format("must be \"{}\"", task.id));
    reader.field("visits", task.visits);
    require(task.visits >= 0, "visits", static_cast<double>(task.visits), "must not be negative");
  }
  return {std::move(tasks), rounds};
}

void PolicyLearner::restore_visits(SavedVisits visits) {
  restore_tasks(std::move(visits.tasks), visits.rounds);
}

void PolicyLearner::read_matrix(StateReader& reader, std::string_view name,
                                Eigen::MatrixXd& matrix) {
  Eigen::MatrixXd read;
  reader.field(name, read);
  require(read.rows() == matrix.rows() && read.cols() == matrix.cols(), name,
          fmt::format("{} x {}", read.rows(), read.cols()),
          fmt::format("must be {} x {}", matrix.rows(), matrix.cols()));
  require(read.allFinite(), name, "(a number that is not finite)", "must be finite");
  matrix = std::move(read);
}

}  // namespace lifeguard
