#include "lifeguard/runs/drawn_tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/cross_validation.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/systems/described_system.hpp"
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

/// The tasks whose mean LQR gains first policies are a share of.
std::vector<Task> behind_the_mean(const ExperimentConfig& config) {
  if (config.machines.empty()) return config.family.draw_many(kMeanSeed, kMeanDraws);
  std::vector<Task> tasks;
  for (const Machine& machine : config.machines) {
    if (static_cast<int>(tasks.size()) < kMeanDraws) tasks.push_back(machine.task);
  }
  return tasks;
}

/// What a machine's own table says of its first policy.
std::optional<Eigen::VectorXd> own_first_policy(const ExperimentConfig& config,
                                                const Machine& machine) {
  if (machine.first_gains) return parameters_from_gains(*machine.first_gains);
  if (!machine.first_lqr_share) return std::nullopt;
  const Eigen::MatrixXd lqr = lqr_policy_gains(machine.task, config.features);
  return parameters_from_gains(*machine.first_lqr_share * lqr);
}

/// The machine that is known as `known`: its parameters lie within their tolerance.
Task actual_machine(const ExperimentConfig& config, const Task& known, int place) {
  Task machine = known;
  const CounterRandom random(run_seed(config, SeedOf::machine), RandomStream::parameters,
                             static_cast<std::uint64_t>(place));
  std::uint32_t n = 0;
  for (const ParameterRange& range : tolerances_of(config, known, place)) {
    set_parameter(machine.system, range.parameter,
                  std::clamp(random.uniform(n++, range.low, range.high), range.low, range.high));
  }
  return machine;
}

}  // namespace

Eigen::VectorXd DrawnTasks::state_limits(int task) const {
  const auto t = static_cast<std::size_t>(task);
  for (const auto& closed_loop : safe_sets[t].closed_loops()) {
    return closed_loop->plant.state_limits;
  }
  const TaskSettings& settings = tasks[t].settings;
  return settings.failure_bounds - settings.goal.cwiseAbs();
}

bool DrawnTasks::constrained() const {
  return std::any_of(safe_sets.begin(), safe_sets.end(),
                     [](const SafeSet& set) { return set.constrained(); });
}

Eigen::VectorXd start_policy(const ExperimentConfig& config, const Task& task) {
  Eigen::MatrixXd gains =
      Eigen::MatrixXd::Zero(task.actions(), feature_count(task, config.features));
  if (const double share = start_share(config); share > 0) {
    const std::vector<Task> mean_of = behind_the_mean(config);
    for (const Task& each : mean_of) {
      gains +=
          share / static_cast<double>(mean_of.size()) * lqr_policy_gains(each, config.features);
    }
  }
  return parameters_from_gains(gains);
}

namespace {

Task known_task(const ExperimentConfig& config, int place) {
  if (!config.machines.empty()) return config.machines[static_cast<std::size_t>(place)].task;
  return config.family.draw(static_cast<std::uint64_t>(config.seed),
                            static_cast<std::uint64_t>(place));
}

/// A user's own system starts where its type says, whatever the settings say: a closed loop whose
/// region does not hold that would promise what is not so.
void require_guaranteed_starts(const ExperimentConfig& config, const Task& task,
                               const ClosedLoop& closed_loop) {
  if (!describe(task.system).custom || described(task.system) != nullptr) return;
  constexpr int kSampledStarts = 200;
  RolloutSettings rollouts;
  rollouts.trajectories = kSampledStarts;
  rollouts.steps = 1;
  rollouts.seed = run_seed(config, SeedOf::machine);
  const GaussianPolicy idle(Eigen::MatrixXd::Zero(task.actions(), task.states()), 0.0);
  for (const Eigen::MatrixXd& path : state_paths(task, idle, rollouts)) {
    const Eigen::VectorXd start = path.col(0);
    require(closed_loop.guarantees(start), "safe_set.closed_loop.start_share",
            fmt::format("a start of \"{}\" at {} from its goal", task.name,
                        fmt::join(start.begin(), start.end(), ", ")),
            "must lie in the guaranteed region: the starts of a user's own system come from its "
            "type and cannot be made fewer, so start_share must be 1 and the start box of its "
            "default_settings() must hold all of them");
  }
}

}  // namespace

std::vector<Machine> machines_of(const ExperimentConfig& config) {
  if (!config.machines.empty()) return config.machines;
  std::vector<Machine> machines;
  for (Task& task :
       config.family.draw_many(static_cast<std::uint64_t>(config.seed), config.tasks)) {
    machines.push_back({std::move(task), config.safe_set_toml, {}, {}, false, ""});
  }
  return machines;
}

DrawnTask draw_task(const ExperimentConfig& config, int place, const Eigen::VectorXd& start,
                    Machines machines) {
  DrawnTask drawn{known_task(config, place), SafeSet(static_cast<int>(start.size())), {}};
  Task& task = drawn.task;
  drawn.safe_set = safe_set_of(config, task, place);
  const SafeSet& set = drawn.safe_set;
  std::optional<Eigen::VectorXd> own;
  if (!config.machines.empty()) {
    own = own_first_policy(config, config.machines[static_cast<std::size_t>(place)]);
  }
  if (!own && config.start_own) {
    own = parameters_from_gains(start_share(config) * lqr_policy_gains(task, config.features));
  }
  if (own) {
    const std::string why = why_not_safe(set, *own);
    require(why.empty(), fmt::format("machine \"{}\": first policy", task.name), "not safe",
            fmt::format("must be strictly safe; it {}", why));
    drawn.first = {*own, "", true};
  }
  if (!set.closed_loops().empty()) {
    const ClosedLoop& closed_loop = *set.closed_loops().front();
    task.settings.start_low = task.settings.goal + closed_loop.start_low;
    task.settings.start_high = task.settings.goal + closed_loop.start_high;
    settle(task);
    if (machines == Machines::drawn) {
      require_guaranteed_starts(config, task, closed_loop);
      task = actual_machine(config, task, place);
    }
    if (!own && config.start_lqr_share < 0) {
      drawn.first = {choose_anchor(set).parameters, "", true};
      return drawn;
    }
  }
  if (own) return drawn;
  drawn.first.replaced = why_not_safe(set, start);
  drawn.first.parameters = drawn.first.replaced.empty() ? start : choose_anchor(set).parameters;
  return drawn;
}

DrawnTasks draw_tasks(const ExperimentConfig& config, const LongWork& work, Machines machines) {
  DrawnTasks drawn;
  drawn.start = start_policy(config, known_task(config, 0));
  for (int t = 0; t < config.tasks; ++t) {
    work.step("building safe sets", t, config.tasks);
    DrawnTask one = draw_task(config, t, drawn.start, machines);
    drawn.tasks.push_back(std::move(one.task));
    drawn.safe_sets.push_back(std::move(one.safe_set));
    drawn.first.push_back(std::move(one.first));
  }
  return drawn;
}

std::uint64_t run_seed(int seed, SeedOf use, std::uint64_t index) {
  return derive_seed(derive_seed(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(use)),
                     index);
}

std::uint64_t run_seed(const ExperimentConfig& config, SeedOf use, std::uint64_t index) {
  return run_seed(config.seed, use, index);
}

namespace {

/// The place of the next task among `count`.
int scheduled_place(const ExperimentConfig& config, long round, int count) {
  switch (config.schedule) {
    case Schedule::first_only:
      return 0;
    case Schedule::random: {
      const CounterRandom random(run_seed(config, SeedOf::schedule), RandomStream::schedule,
                                 static_cast<std::uint64_t>(round));
      return std::min(count - 1, static_cast<int>(random.uniform(0) * count));
    }
    case Schedule::in_sequence:
      // Whole stays, which differ by at most one round.
      return static_cast<int>((round - 1) * count / config.rounds);
    case Schedule::in_turn:
      break;
  }
  return static_cast<int>((round - 1) % count);
}

}  // namespace

int scheduled_task(const ExperimentConfig& config, long round) {
  if (config.machines.empty()) return scheduled_place(config, round, config.tasks);
  const int place = scheduled_place(config, round, static_cast<int>(config.active.size()));
  return config.active[static_cast<std::size_t>(place)];
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
int cross_validated_k(const ExperimentConfig& config, const DrawnTasks& drawn,
                      const LearnerSettings& settings) {
  constexpr int kHeldOutInTurn = 3;
  const std::vector<Task> unseen =
      config.family.draw_many(run_seed(config, SeedOf::cross_validation), kHeldOutInTurn);
  std::vector<PlayableTask> tasks;
  for (std::size_t t = 0; t < unseen.size(); ++t) {
    PlayableTask task;
    task.anchor = drawn.start;
    task.sigma = unseen[t].settings.sigma;
    task.range = told_action_range(unseen[t]);
    if (drawn.constrained()) task.safe_set = safe_set_of(config, unseen[t]);
    task.play = [&, t](const GaussianPolicy& policy, int round, Trajectories& out) {
      RolloutSettings rollouts;
      rollouts.trajectories = config.trajectories;
      rollouts.steps = config.steps;
      rollouts.features = config.features;
      rollouts.seed = derive_seed(run_seed(config, SeedOf::cross_validation, t + 1),
                                  static_cast<std::uint64_t>(round));
      rollout(unseen[t], policy, rollouts, out);
    };
    tasks.push_back(std::move(task));
  }
  CrossValidationSettings validation;
  for (int k = drawn.parameters(); k >= 1; k /= 2) validation.basis_sizes.push_back(k);
  const Task& first = unseen.front();
  return cross_validate_basis_size(feature_count(first, config.features), first.actions(), settings,
                                   tasks, validation)
      .basis_size;
}

/// The task as a safe learner is told of it.
Learner::NewTask new_task(const ExperimentConfig& config, const DrawnTasks& drawn, std::size_t t) {
  const Task& task = drawn.tasks[t];
  const FirstPolicy& first_policy = drawn.first[t];
  if (!drawn.safe_sets[t].constrained()) {
    return {task.name, SafeSet(drawn.parameters()), task.settings.sigma,
            first_policy.its_own ? first_policy.parameters : drawn.start};
  }
  // A share that somebody asked for is kept or refused.
  require(config.start_lqr_share < 0 || first_policy.replaced.empty(), "experiment.start_lqr_share",
          config.start_lqr_share,
          fmt::format("must give strictly safe first policies; that of {} {}", task.name,
                      first_policy.replaced));
  Learner::NewTask added{task.name, drawn.safe_sets[t], task.settings.sigma};
  if (first_policy.parameters.size() > 0) added.anchor = first_policy.parameters;
  return added;
}

/// In batches that grow with the number of known tasks, since each is proven together with all
/// before it; and small enough to ask in between whether to stop.
void add_tasks(const ExperimentConfig& config, const DrawnTasks& drawn, Learner& learner,
               const LongWork& work) {
  constexpr std::size_t kFirstBatch = 100;
  constexpr std::size_t kGrowth = 10;
  const std::size_t count = drawn.tasks.size();
  std::vector<Learner::NewTask> batch;
  for (std::size_t t = 0; t < count; ++t) {
    work.step("setting up the learner", static_cast<long>(t), config.tasks);
    batch.push_back(new_task(config, drawn, t));
    if (t + 1 < count && batch.size() < std::max(kFirstBatch, t / kGrowth)) continue;
    learner.add_tasks(batch);
    batch.clear();
  }
}

}  // namespace

ActionRange told_action_range(const Task& task) {
  const TaskSettings& settings = task.settings;
  const bool limited =
      settings.action_low.array().isFinite().any() || settings.action_high.array().isFinite().any();
  if (!limited && !can_simulate(task.system)) return {};
  return {settings.action_low, settings.action_high};
}

std::unique_ptr<PolicyLearner> make_learner(const ExperimentConfig& config, const DrawnTasks& drawn,
                                            const LongWork& work) {
  Methods methods = config.settings;
  const std::string method = base_method(config);
  LearnerSettings& settings = std::get<LearnerSettings>(methods);
  if (method == LearnerSettings::kMethod && settings.cross_validate_k) {
    settings.k = drawn.k > 0 ? drawn.k : cross_validated_k(config, drawn, settings);
  }
  const Task& first = drawn.tasks.front();
  std::unique_ptr<PolicyLearner> learner =
      make_learner(methods, method, feature_count(first, config.features), first.actions());
  // No constraints at all are not unbounded ones.
  auto* safe = dynamic_cast<Learner*>(learner.get());
  const auto tell_ranges = [&] {
    for (const Task& task : drawn.tasks) {
      learner->set_action_range(task.name, told_action_range(task));
    }
  };
  if (safe != nullptr && (drawn.constrained() || !settings.require_bounded_sets)) {
    add_tasks(config, drawn, *safe, work);
    tell_ranges();
    return learner;
  }
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    const Task& task = drawn.tasks[t];
    work.step("setting up the learner", static_cast<long>(t), config.tasks);
    // All methods begin alike; with a closed loop, with the controllers that came with it.
    const bool with_controller =
        (drawn.first[t].its_own || !drawn.safe_sets[t].closed_loops().empty()) &&
        drawn.first[t].parameters.size() > 0;
    learner->add_task(task.name, with_controller ? drawn.first[t].parameters : drawn.start,
                      task.settings.sigma);
  }
  tell_ranges();
  return learner;
}

std::string replaced_first_policies(const DrawnTasks& drawn) {
  std::size_t count = 0;
  std::string example;
  for (std::size_t t = 0; t < drawn.first.size(); ++t) {
    if (drawn.first[t].replaced.empty()) continue;
    if (count++ == 0) {
      example = fmt::format("that of {} {}", drawn.tasks[t].name, drawn.first[t].replaced);
    }
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} tasks cannot begin with the configuration's first policy: {}; they begin with the "
      "origin, or the centre of their safe set, instead",
      count, drawn.first.size(), example);
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
