#include "lifeguard/lifelong/cross_validation.hpp"

#include <string>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

namespace {

/// The mean cost of a held-out task's first rounds with a learner trained on the others.
double held_out_cost(Learner learner, const std::vector<PlayableTask>& tasks, int held_out,
                     const CrossValidationSettings& validation) {
  const int count = static_cast<int>(tasks.size());
  const auto add = [&](int t) {
    const PlayableTask& task = tasks[t];
    if (task.safe_set) {
      learner.add_task(std::to_string(t), *task.safe_set, task.sigma, task.anchor);
    } else {
      learner.add_task(std::to_string(t), task.anchor, task.sigma);
    }
    learner.set_action_range(std::to_string(t), task.range);
  };
  int round = 0;
  Trajectories batch;
  const auto play = [&](int t) {
    const std::string id = std::to_string(t);
    tasks[t].play(learner.policy(id), round++, batch);
    return learner.observe(id, batch).mean_cost;
  };
  for (int t = 0; t < count; ++t) {
    if (t != held_out) add(t);
  }
  for (int j = 0; j < validation.training_rounds; ++j) {
    const int t = j % (count - 1);
    play(t < held_out ? t : t + 1);
  }
  add(held_out);
  double sum = 0;
  for (int j = 0; j < validation.validation_rounds; ++j) sum += play(held_out);
  return sum / validation.validation_rounds;
}

}  // namespace

void CrossValidationSettings::validate(int parameters) const {
  require(!basis_sizes.empty(), "basis_sizes", "none", "must have at least one entry");
  for (std::size_t i = 0; i < basis_sizes.size(); ++i) {
    require(basis_sizes[i] >= 1 && basis_sizes[i] <= parameters,
            indexed("basis_sizes", static_cast<long>(i)), basis_sizes[i],
            "must lie between 1 and the number of policy parameters");
  }
  require(training_rounds >= 0, "training_rounds", training_rounds, "must be at least 0");
  require(validation_rounds >= 1, "validation_rounds", validation_rounds, "must be at least 1");
}

CrossValidationResult cross_validate_basis_size(int features, int actions,
                                                const LearnerSettings& settings,
                                                const std::vector<PlayableTask>& tasks,
                                                const CrossValidationSettings& validation) {
  validation.validate(features * actions);
  const int count = static_cast<int>(tasks.size());
  require(count >= 2, "tasks", count, "must be at least 2, one of them held out");
  CrossValidationResult result;
  for (const int basis_size : validation.basis_sizes) {
    LearnerSettings tried = settings;
    tried.k = basis_size;
    double cost = 0;
    for (int t = 0; t < count; ++t) {
      cost += held_out_cost(Learner(features, actions, tried), tasks, t, validation) / count;
    }
    result.costs.push_back(cost);
    const bool better =
        cost < result.cost || (cost == result.cost && basis_size < result.basis_size);
    if (result.basis_size == 0 || better) {
      result.basis_size = basis_size;
      result.cost = cost;
    }
  }
  return result;
}

}  // namespace lifeguard
