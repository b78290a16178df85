#include "lifeguard/runs/setting.hpp"

#include <algorithm>

#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/cross_validation.hpp"
#include "lifeguard/lifelong/independent.hpp"
#include "lifeguard/lifelong/pg_ella.hpp"
#include "lifeguard/lifelong/shared.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

/// Draws of the family behind its mean LQR gains. The same for every seed: the start policy is a
/// property of the family.
constexpr std::uint64_t kMeanSeed = 12345;
constexpr int kMeanDraws = 100;

RoundSettings round_settings(const ExperimentConfig& config, const StepTuning& steps) {
  RoundSettings round = config.round;
  round.adaptation.trust_region_per_step = steps.trust_region_per_step;
  round.adaptation.sure_noise_share = steps.sure_noise_share;
  round.adaptation.newton_limit = steps.newton_limit;
  round.base_learner.step.decay = steps.step_decay;
  return round;
}

/// Without any feedback a quadrotor that explores drifts and tumbles before it has learnt anything.
double start_share(const ExperimentConfig& config) {
  if (config.start_lqr_share >= 0) return config.start_lqr_share;
  return std::holds_alternative<Quadrotor>(config.family.nominal) ? 0.15 : 0.0;
}

}  // namespace

Setting draw_setting(const ExperimentConfig& config) {
  Setting setting;
  setting.tasks = config.family.draw_many(static_cast<std::uint64_t>(config.seed), config.tasks);
  const Task& first = setting.tasks.front();
  Eigen::MatrixXd gains = Eigen::MatrixXd::Zero(first.actions(), first.states());
  if (const double share = start_share(config); share > 0) {
    for (const Task& task : config.family.draw_many(kMeanSeed, kMeanDraws)) {
      gains += share / kMeanDraws * lqr_gains(task);
    }
  }
  setting.start = parameters_from_gains(gains);
  for (const Task& task : setting.tasks) setting.safe_sets.push_back(safe_set_of(config, task));
  return setting;
}

std::uint64_t run_seed(const ExperimentConfig& config, SeedOf use, std::uint64_t index) {
  return derive_seed(
      derive_seed(static_cast<std::uint64_t>(config.seed), static_cast<std::uint64_t>(use)), index);
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
  const long skipped = static_cast<long>(static_cast<double>(round) * config.evaluation_spacing);
  return std::min<long>(config.rounds, round + std::max(1L, skipped));
}

std::string base_method(const ExperimentConfig& config) {
  for (const Variant& variant : config.variants) {
    if (variant.name == config.method) return variant.method;
  }
  return config.method;
}

int batch_size(const ExperimentConfig& config) {
  return config.trajectories + (base_method(config) == "pg" ? config.pg_extra_trajectories : 0);
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
      rollouts.seed = derive_seed(run_seed(config, SeedOf::cross_validation, t + 1),
                                  static_cast<std::uint64_t>(round));
      rollout(drawn[t], policy, rollouts, out);
    };
    tasks.push_back(std::move(task));
  }
  CrossValidationSettings validation;
  for (int k = setting.parameters(); k >= 1; k /= 2) validation.basis_sizes.push_back(k);
  const Task& first = drawn.front();
  return cross_validate_basis_size(first.states(), first.actions(), settings, tasks, validation)
      .basis_size;
}

}  // namespace

std::unique_ptr<PolicyLearner> make_learner(const ExperimentConfig& config,
                                            const Setting& setting) {
  const int features = setting.tasks.front().states();
  const int actions = setting.tasks.front().actions();
  const std::string method = base_method(config);
  if (method == "learner") {
    LearnerSettings settings = config.learner;
    settings.round = round_settings(config, config.learner_steps);
    if (config.cross_validate_k) settings.basis_size = cross_validated_k(config, setting, settings);
    auto learner = std::make_unique<Learner>(features, actions, settings);
    for (std::size_t t = 0; t < setting.tasks.size(); ++t) {
      const Task& task = setting.tasks[t];
      if (setting.constrained()) {
        learner->add_task(task.name, setting.safe_sets[t], task.settings.sigma, setting.start);
      } else {
        learner->add_task(task.name, setting.start, task.settings.sigma);
      }
    }
    return learner;
  }
  std::unique_ptr<PolicyLearner> learner;
  if (method == "pg") {
    learner = std::make_unique<IndependentLearner>(features, actions,
                                                   round_settings(config, config.pg_steps));
  } else if (method == "shared") {
    learner = std::make_unique<SharedLearner>(features, actions,
                                              round_settings(config, config.shared_steps));
  } else {
    PgEllaSettings settings = config.pg_ella;
    settings.round = round_settings(config, config.pg_ella_steps);
    learner = std::make_unique<PgElla>(features, actions, settings);
  }
  for (const Task& task : setting.tasks) {
    learner->add_task(task.name, setting.start, task.settings.sigma);
  }
  return learner;
}

double evaluation_cost(const ExperimentConfig& config, const Task& task,
                       const Eigen::VectorXd& alpha) {
  RolloutSettings rollouts;
  rollouts.trajectories = config.start_states;
  rollouts.steps = config.steps;
  rollouts.seed = run_seed(config, SeedOf::evaluation);
  return evaluate(task, GaussianPolicy::from_parameters(alpha, task.actions(), 0.0), rollouts)
      .mean_cost;
}

}  // namespace lifeguard
