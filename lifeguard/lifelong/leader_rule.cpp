#include "lifeguard/lifelong/leader_rule.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

namespace {

Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& matrix) {
  return matrix.llt().solve(Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols()));
}

}  // namespace

LeaderRule::LeaderRule(const LearnerSettings& settings, int features, int actions)
    : settings_(settings.leader),
      constrained_(settings.projection.mode != ProjectionMode::none),
      margin_(settings.projection.margin),
      features_(features),
      parameters_(features * actions) {}

void LeaderRule::add_task(const Eigen::VectorXd& anchor) {
  tasks_.emplace_back();
  anchors_.push_back(anchor);
}

PolicyPrior LeaderRule::belief(const Eigen::VectorXd& anchor, int changed_task,
                               const TaskLosses& changed) const {
  const Eigen::MatrixXd first =
      settings_.prior_variance * Eigen::MatrixXd::Identity(parameters_, parameters_);
  std::vector<const TaskLosses*> visited;
  for (int t = 0; t < static_cast<int>(tasks_.size()); ++t) {
    const TaskLosses& task = t == changed_task ? changed : tasks_[t];
    if (task.visited) visited.push_back(&task);
  }
  if (visited.empty() || !settings_.share) return {anchor, first};
  const auto count = static_cast<double>(visited.size());
  PolicyPrior prior{Eigen::VectorXd::Zero(parameters_), first};
  for (const TaskLosses* task : visited) prior.mean += task->leader / count;
  // E[δδᵀ] of each task, and one more task that is as far away as was believed at first.
  for (const TaskLosses* task : visited) {
    const Eigen::VectorXd deviation = task->leader - prior.mean;
    prior.covariance += deviation * deviation.transpose() + inverse_of(curvature(*task));
  }
  // The mean itself is known up to a part in the number of tasks.
  prior.covariance *= (1 + 1 / count) / (1 + count);
  prior.covariance = (0.5 * (prior.covariance + prior.covariance.transpose())).eval();
  return prior;
}

PolicyPrior LeaderRule::belief(const Eigen::VectorXd& anchor) const {
  return belief(anchor, -1, {});
}

Eigen::MatrixXd LeaderRule::curvature(const TaskLosses& task) const {
  Eigen::MatrixXd sum = inverse_of(task.prior.covariance);
  for (int start = 0; start < parameters_; start += features_) {
    sum.block(start, start, features_, features_) +=
        action_block(task.information, start / features_);
  }
  return sum;
}

void LeaderRule::make_safe(const LearningRound& round, int task, const Eigen::MatrixXd& metric,
                           Eigen::VectorXd& policy) {
  if (!constrained_) return;
  projection_.project(round.safe_sets[task], round.knowledge.anchors.col(task), metric, margin_,
                      policy);
}

RoundStatus LeaderRule::solve(const LearningRound& round, Knowledge& next) {
  const int t = round.task;
  next_ = tasks_[t];
  if (!next_.visited) {
    next_.visited = true;
    next_.prior = belief(anchors_[t]);
    next_.information = Eigen::MatrixXd::Zero(features_, features_);
    next_.pull = Eigen::VectorXd::Zero(parameters_);
  }
  add_blocks(settings_.memory, next_.information, round.loss.curvature);
  Eigen::VectorXd pull(parameters_);
  apply_curvature(round.loss.curvature, round.loss.target - next_.prior.mean, pull);
  next_.pull = settings_.memory * next_.pull + pull;
  const Eigen::MatrixXd metric = curvature(next_);
  const Eigen::LLT<Eigen::MatrixXd> factor(metric);
  if (factor.info() != Eigen::Success) return RoundStatus::singular;
  next_.leader = next_.prior.mean + factor.solve(next_.pull);
  if (!next_.leader.allFinite()) return RoundStatus::singular;
  make_safe(round, t, metric, next_.leader);

  const Eigen::PartialPivLU<Eigen::MatrixXd> basis(next.basis);
  next.coefficients.col(t) = basis.solve(next_.leader - next.anchors.col(t));
  // Tasks that were never played stand where what is known puts them.
  for (int other = 0; other < static_cast<int>(tasks_.size()); ++other) {
    if (other == t || tasks_[other].visited) continue;
    PolicyPrior prior = belief(anchors_[other], t, next_);
    make_safe(round, other, inverse_of(prior.covariance), prior.mean);
    next.coefficients.col(other) = basis.solve(prior.mean - next.anchors.col(other));
  }
  return next.coefficients.allFinite() ? RoundStatus::ok : RoundStatus::singular;
}

void LeaderRule::accept(const LearningRound& round, const Knowledge& /*accepted*/) {
  tasks_[round.task] = next_;
}

std::optional<Eigen::VectorXd> LeaderRule::first_policy(const Eigen::VectorXd& anchor) const {
  return belief(anchor).mean;
}

std::optional<PolicyPrior> LeaderRule::belief_of(int task) const {
  return tasks_[task].visited ? tasks_[task].prior : belief(anchors_[task]);
}

void LeaderRule::save_task(int task, StateWriter& writer) const {
  const TaskLosses& losses = tasks_[task];
  writer.field("anchor", anchors_[task]);
  writer.field("visited", losses.visited);
  if (!losses.visited) return;
  writer.field("prior_mean", losses.prior.mean);
  writer.field("prior_covariance", losses.prior.covariance);
  writer.field("information", losses.information);
  writer.field("pull", losses.pull);
  writer.field("leader", losses.leader);
}

void LeaderRule::load_task(StateReader& reader) {
  Eigen::VectorXd anchor;
  TaskLosses losses;
  reader.field("anchor", anchor);
  require_size("anchor", anchor.size(), parameters_);
  reader.field("visited", losses.visited);
  if (losses.visited) {
    reader.field("prior_mean", losses.prior.mean);
    reader.field("prior_covariance", losses.prior.covariance);
    reader.field("information", losses.information);
    reader.field("pull", losses.pull);
    reader.field("leader", losses.leader);
    require_size("prior_mean", losses.prior.mean.size(), parameters_);
    require_size("prior_covariance (rows)", losses.prior.covariance.rows(), parameters_);
    require_size("prior_covariance (columns)", losses.prior.covariance.cols(), parameters_);
    require(are_blocks(losses.information, features_, parameters_ / features_), "information",
            static_cast<double>(losses.information.rows()),
            "must have one row for each feature, or for each parameter");
    require_size("pull", losses.pull.size(), parameters_);
    require_size("leader", losses.leader.size(), parameters_);
    require(losses.prior.mean.allFinite() && losses.prior.covariance.allFinite() &&
                losses.information.allFinite() && losses.pull.allFinite() &&
                losses.leader.allFinite(),
            "losses", "(a number that is not finite)", "must be finite");
  }
  anchors_.push_back(std::move(anchor));
  tasks_.push_back(std::move(losses));
}

}  // namespace lifeguard
