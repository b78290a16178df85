#include "lifeguard/runs/run_beliefs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/task_directions.hpp"
#include "lifeguard/runs/followed_tasks.hpp"

namespace lifeguard {
namespace {

const Learner* learner_with_beliefs(const PolicyLearner& learner) {
  const auto* with_basis = dynamic_cast<const Learner*>(&learner);
  const bool believes =
      with_basis != nullptr && with_basis->settings().update == UpdateRule::empirical_bayes;
  return believes ? with_basis : nullptr;
}

void sort_largest_first(std::vector<DirectionSummary::Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
}

}  // namespace

double agreement_of(const PolicyLearner& policy_learner) {
  const Learner* learner = learner_with_beliefs(policy_learner);
  const auto beliefs = learner == nullptr ? std::nullopt : learner->beliefs();
  return beliefs ? beliefs->agreement : kNaN;
}

std::optional<StoredBeliefs> stored_beliefs(const PolicyLearner& policy_learner,
                                            const std::vector<Task>& tasks, long round) {
  const Learner* learner = learner_with_beliefs(policy_learner);
  if (learner == nullptr || tasks.empty()) return std::nullopt;
  const std::optional<TaskBeliefs> beliefs = learner->beliefs();
  // Before L is learnt for the first time nothing is believed of any task.
  if (!beliefs || !learner->posterior(tasks.front().name)) return std::nullopt;
  const TaskDirections directions = task_directions(*beliefs);
  const Eigen::Index parameters = beliefs->mean.size();
  const Eigen::Index count = std::min<Eigen::Index>(kStoredDirections, parameters);
  StoredBeliefs stored;
  stored.round = round;
  stored.trust_in_mean = beliefs->trust_in_mean;
  stored.mean = beliefs->mean;
  stored.units = directions.units;
  stored.variances = directions.variances;
  stored.directions = directions.axes.leftCols(count);
  stored.readings = directions.readings.leftCols(count);
  const std::vector<int> followed = followed_tasks(static_cast<long>(tasks.size()), parameters);
  stored.places.resize(kPlaceNumbers, static_cast<Eigen::Index>(followed.size()));
  for (std::size_t i = 0; i < followed.size(); ++i) {
    const auto t = static_cast<std::size_t>(followed[i]);
    const TaskPlace place = place_of(*learner->posterior(tasks[t].name), *beliefs, directions);
    stored.places.col(static_cast<Eigen::Index>(i)) << place.mean, place.covariance(0, 0),
        place.covariance(1, 0), place.covariance(1, 1);
  }
  return stored;
}

std::optional<StoredTaskBelief> stored_task_belief(const PolicyLearner& policy_learner,
                                                   const Task& task, StoredTaskBelief row) {
  const Learner* learner = learner_with_beliefs(policy_learner);
  const auto posterior = learner == nullptr ? std::nullopt : learner->posterior(task.name);
  if (!posterior) return std::nullopt;
  row.mean = posterior->mean;
  row.covariance = lower_half(posterior->covariance);
  return row;
}

Eigen::VectorXd lower_half(const Eigen::MatrixXd& covariance) {
  const Eigen::Index size = covariance.rows();
  Eigen::VectorXd half(size * (size + 1) / 2);
  Eigen::Index next = 0;
  for (Eigen::Index c = 0; c < size; ++c) {
    half.segment(next, size - c) = covariance.col(c).tail(size - c);
    next += size - c;
  }
  return half;
}

double variance_along(const Eigen::VectorXd& lower_half, const Eigen::VectorXd& a) {
  double variance = 0;
  Eigen::Index next = 0;
  for (Eigen::Index c = 0; c < a.size(); ++c) {
    const Eigen::Index below = a.size() - c - 1;
    variance += a(c) * (lower_half(next) * a(c) +
                        2 * lower_half.segment(next + 1, below).dot(a.tail(below)));
    next += below + 1;
  }
  return variance;
}

Eigen::VectorXd gains_of(const StoredBeliefs& beliefs, Eigen::Index i) {
  const Eigen::VectorXd gains = beliefs.directions.col(i).cwiseQuotient(beliefs.units);
  const double length = gains.norm();
  // A damaged file may hold what has no length.
  if (!(length > 0) || !std::isfinite(length)) return Eigen::VectorXd::Zero(gains.size());
  return gains / length;
}

double explained_by(const StoredBeliefs& beliefs, Eigen::Index i) {
  const double all = beliefs.variances.sum();
  return all > 0 && std::isfinite(all) ? beliefs.variances(i) / all : 0;
}

std::string DirectionSummary::words() const {
  constexpr std::size_t kMost = 3;
  constexpr double kEnough = 0.9;
  std::string text;
  double said = 0;
  for (std::size_t i = 0; i < std::min(kMost, inputs.size()) && said < kEnough; ++i) {
    text += fmt::format("{}{} ({:.0f} %)", i == 0 ? "the gains on " : ", ", inputs[i].name,
                        100 * inputs[i].share);
    said += inputs[i].share;
  }
  return text;
}

std::string DirectionSummary::short_words() const {
  constexpr double kSmall = 0.25;  // beside the largest
  if (inputs.empty()) return "";
  const bool two = inputs.size() > 1 && inputs[1].share > kSmall * inputs[0].share;
  return two ? inputs[0].name + ", " + inputs[1].name : inputs[0].name;
}

std::optional<KnowledgeSummary> summarise_knowledge(const RunView& run) {
  if (run.beliefs.empty() || run.tasks.empty()) return std::nullopt;
  const StoredBeliefs& beliefs = run.beliefs.back();
  const double all = beliefs.variances.sum();
  KnowledgeSummary summary;
  summary.directions = beliefs.variances.size();
  summary.effective = all > 0 ? all * all / beliefs.variances.squaredNorm() : 0;
  const SystemDescription system = describe(run.tasks.front().system);
  const std::vector<std::string> names = system.gain_names(run.features());
  const std::vector<Signal> seen = system.inputs(run.features());
  // A file that is damaged may name features that its policies do not have.
  if (names.size() != static_cast<std::size_t>(beliefs.mean.size()) || seen.empty()) {
    return std::nullopt;
  }
  for (Eigen::Index i = 0; i < beliefs.directions.cols(); ++i) {
    DirectionSummary direction;
    direction.explained = explained_by(beliefs, i);
    for (const Signal& input : seen) {
      direction.inputs.push_back({input.name == "1" ? "the constant part" : input.name, 0});
    }
    const Eigen::VectorXd shares = gains_of(beliefs, i).cwiseAbs2();
    for (std::size_t g = 0; g < names.size(); ++g) {
      const double share = shares(static_cast<Eigen::Index>(g));
      direction.gains.push_back({names[g], share});
      direction.inputs[g % seen.size()].share += share;
    }
    sort_largest_first(direction.gains);
    sort_largest_first(direction.inputs);
    summary.first.push_back(std::move(direction));
  }
  return summary;
}

}  // namespace lifeguard
