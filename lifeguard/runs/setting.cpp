#include "lifeguard/runs/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/cross_validation.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

/// Draws of the family behind its mean LQR gains. The same for every seed: the start policy is a
/// property of the family.
constexpr std::uint64_t kMeanSeed = 12345;
constexpr int kMeanDraws = 100;

double start_share(const ExperimentConfig& config) {
  if (config.start_lqr_share >= 0) return config.start_lqr_share;
  return describe(config.family.nominal).start_share;
}

}  // namespace

Setting draw_setting(const ExperimentConfig& config, const LongWork& work) {
  Setting setting;
  for (int t = 0; t < config.tasks; ++t) {
    work.step("drawing tasks", t, config.tasks);
    setting.tasks.push_back(
        config.family.draw(static_cast<std::uint64_t>(config.seed), static_cast<std::uint64_t>(t)));
  }
  const Task& first = setting.tasks.front();
  Eigen::MatrixXd gains =
      Eigen::MatrixXd::Zero(first.actions(), feature_count(first, config.features));
  if (const double share = start_share(config); share > 0) {
    for (const Task& task : config.family.draw_many(kMeanSeed, kMeanDraws)) {
      gains += share / kMeanDraws * lqr_policy_gains(task, config.features);
    }
  }
  setting.start = parameters_from_gains(gains);
  for (const Task& task : setting.tasks) {
    work.step("building safe sets", static_cast<long>(setting.safe_sets.size()), config.tasks);
    const SafeSet& set = setting.safe_sets.emplace_back(safe_set_of(config, task));
    FirstPolicy& first_policy = setting.first.emplace_back();
    first_policy.replaced = why_not_safe(set, setting.start);
    first_policy.parameters =
        first_policy.replaced.empty() ? setting.start : choose_anchor(set).parameters;
  }
  return setting;
}

std::uint64_t run_seed(int seed, SeedOf use, std::uint64_t index) {
  return derive_seed(derive_seed(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(use)),
                     index);
}

std::uint64_t run_seed(const ExperimentConfig& config, SeedOf use, std::uint64_t index) {
  return run_seed(config.seed, use, index);
}

int scheduled_task(const ExperimentConfig& config, long round) {
  switch (config.schedule) {
    case Schedule::first_only:
      return 0;
    case Schedule::random: {
      const CounterRandom random(run_seed(config, SeedOf::schedule), RandomStream::schedule,
                                 static_cast<std::uint64_t>(round));
      return std::min(config.tasks - 1, static_cast<int>(random.uniform(0) * config.tasks));
    }
    case Schedule::in_turn:
      break;
  }
  return static_cast<int>((round - 1) % config.tasks);
}

long next_evaluation(const ExperimentConfig& config, long round) {
  // Not more than all, or no long could hold it.
  const double skipped = std::min(static_cast<double>(round) * config.evaluation_spacing,
                                  static_cast<double>(config.rounds));
  return std::min<long>(config.rounds, round + std::max(1L, static_cast<long>(skipped)));
}

std::string base_method(const ExperimentConfig& config) {
  for (const Variant& variant : config.variants) {
    if (variant.name == config.method) return variant.method;
  }
  return config.method;
}

int batch_size(const ExperimentConfig& config) {
  const bool pg = base_method(config) == IndependentSettings::kMethod;
  return config.trajectories +
         (pg ? std::get<IndependentSettings>(config.settings).extra_trajectories : 0);
}

namespace {

/// The paper's choice of k, over tasks that the run itself does not see; safe as the run is.
int cross_validated_k(const ExperimentConfig& config, const Setting& setting,
                      const LearnerSettings& settings) {
  constexpr int kHeldOutInTurn = 3;
  const std::vector<Task> drawn =
      config.family.draw_many(run_seed(config, SeedOf::cross_validation), kHeldOutInTurn);
  std::vector<PlayableTask> tasks;
  for (std::size_t t = 0; t < drawn.size(); ++t) {
    PlayableTask task;
    task.anchor = setting.start;
    task.sigma = drawn[t].settings.sigma;
    if (setting.constrained()) task.safe_set = safe_set_of(config, drawn[t]);
    task.play = [&, t](const GaussianPolicy& policy, int round, Trajectories& out) {
      RolloutSettings rollouts;
      rollouts.trajectories = config.trajectories;
      rollouts.steps = config.steps;
      rollouts.features = config.features;
      rollouts.seed = derive_seed(run_seed(config, SeedOf::cross_validation, t + 1),
                                  static_cast<std::uint64_t>(round));
      rollout(drawn[t], policy, rollouts, out);
    };
    tasks.push_back(std::move(task));
  }
  CrossValidationSettings validation;
  for (int k = setting.parameters(); k >= 1; k /= 2) validation.basis_sizes.push_back(k);
  const Task& first = drawn.front();
  return cross_validate_basis_size(feature_count(first, config.features), first.actions(), settings,
                                   tasks, validation)
      .basis_size;
}

/// The task as a safe learner is told of it.
Learner::NewTask new_task(const ExperimentConfig& config, const Setting& setting, std::size_t t) {
  const Task& task = setting.tasks[t];
  if (!setting.constrained()) {
    return {task.name, SafeSet(setting.parameters()), task.settings.sigma, setting.start};
  }
  const FirstPolicy& first_policy = setting.first[t];
  // A share that somebody asked for is kept or refused.
  require(config.start_lqr_share < 0 || first_policy.replaced.empty(), "experiment.start_lqr_share",
          config.start_lqr_share,
          fmt::format("must give strictly safe first policies; that of {} {}", task.name,
                      first_policy.replaced));
  Learner::NewTask added{task.name, setting.safe_sets[t], task.settings.sigma};
  if (first_policy.parameters.size() > 0) added.anchor = first_policy.parameters;
  return added;
}

/// In batches that grow with the number of known tasks, since each is proven together with all
/// before it; and small enough to ask in between whether to stop.
void add_tasks(const ExperimentConfig& config, const Setting& setting, Learner& learner,
               const LongWork& work) {
  constexpr std::size_t kFirstBatch = 100;
  constexpr std::size_t kGrowth = 10;
  const std::size_t count = setting.tasks.size();
  std::vector<Learner::NewTask> batch;
  for (std::size_t t = 0; t < count; ++t) {
    work.step("setting up the learner", static_cast<long>(t), config.tasks);
    batch.push_back(new_task(config, setting, t));
    if (t + 1 < count && batch.size() < std::max(kFirstBatch, t / kGrowth)) continue;
    learner.add_tasks(batch);
    batch.clear();
  }
}

}  // namespace

std::unique_ptr<PolicyLearner> make_learner(const ExperimentConfig& config, const Setting& setting,
                                            const LongWork& work) {
  Methods methods = config.settings;
  const std::string method = base_method(config);
  LearnerSettings& settings = std::get<LearnerSettings>(methods);
  if (method == LearnerSettings::kMethod && settings.cross_validate_k) {
    settings.k = cross_validated_k(config, setting, settings);
  }
  const Task& first = setting.tasks.front();
  std::unique_ptr<PolicyLearner> learner =
      make_learner(methods, method, feature_count(first, config.features), first.actions());
  // No constraints at all are not unbounded ones.
  auto* safe = dynamic_cast<Learner*>(learner.get());
  if (safe != nullptr && (setting.constrained() || !settings.require_bounded_sets)) {
    add_tasks(config, setting, *safe, work);
    return learner;
  }
  for (std::size_t t = 0; t < setting.tasks.size(); ++t) {
    const Task& task = setting.tasks[t];
    work.step("setting up the learner", static_cast<long>(t), config.tasks);
    learner->add_task(task.name, setting.start, task.settings.sigma);
  }
  return learner;
}

std::string replaced_first_policies(const Setting& setting) {
  std::size_t count = 0;
  std::string example;
  for (std::size_t t = 0; t < setting.first.size(); ++t) {
    if (setting.first[t].replaced.empty()) continue;
    if (count++ == 0) {
      example = fmt::format("that of {} {}", setting.tasks[t].name, setting.first[t].replaced);
    }
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} tasks cannot begin with the configuration's first policy: {}; they begin with the "
      "origin, or the centre of their safe set, instead",
      count, setting.first.size(), example);
}

double evaluation_cost(const ExperimentConfig& config, const Task& task,
                       const Eigen::VectorXd& alpha) {
  RolloutSettings rollouts;
  rollouts.trajectories = config.start_states;
  rollouts.steps = config.steps;
  rollouts.features = config.features;
  rollouts.seed = run_seed(config, SeedOf::evaluation);
  return evaluate(task, GaussianPolicy::from_parameters(alpha, task.actions(), 0.0), rollouts)
      .mean_cost;
}

}  // namespace lifeguard
