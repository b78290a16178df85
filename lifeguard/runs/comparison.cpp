#include "lifeguard/runs/comparison.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/systems/lqr.hpp"

namespace lifeguard {
namespace {

/// What LQR costs on a seed's tasks; infinity if a task has none or does not allow its gains.
double lqr_cost(const ExperimentConfig& config, const DrawnTasks& drawn, const LongWork& work) {
  double sum = 0;
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    work.step("what LQR costs", static_cast<long>(t), config.tasks);
    const auto controller = find_lqr_policy_gains(drawn.tasks[t], config.features);
    if (!controller) return kInfinity;
    const Eigen::VectorXd gains = parameters_from_gains(*controller);
    if (margins(drawn.safe_sets[t], gains).worst() < 0) {
      return kInfinity;
    }
    sum += evaluation_cost(config, drawn.tasks[t], gains);
  }
  return sum / config.tasks;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Without what a run does not depend on: who else plays, and on how many seeds.
Settings settings_of_one_run(Settings settings) {
  std::erase_if(settings, [](const auto& setting) {
    return setting.first == "experiment.seeds" || setting.first == "experiment.methods";
  });
  return settings;
}

/// Where a run's settings are not those of a file that is taken for it, it is another run's.
void require_same_run(const ExperimentConfig& config, const std::filesystem::path& path) {
  if (settings_of_one_run(RunView(path).settings) !=
      settings_of_one_run(effective_values(config))) {
    throw RunFileError(path.string() + " holds a run with other settings; choose another folder");
  }
}

/// Whether all methods and variants play what the configuration draws: theirs are only settings of
/// how to learn.
bool draw_alike(const ExperimentConfig& config) {
  const auto says_how_to_learn = [](const std::string& setting) {
    for (const char* table :
         {"learner.", "projection.", "base_learner.", "pg.", "pg_ella.", "shared."}) {
      if (setting.starts_with(table)) return true;
    }
    return false;
  };
  return std::all_of(config.variants.begin(), config.variants.end(), [&](const Variant& variant) {
    return std::all_of(variant.overrides.begin(), variant.overrides.end(), says_how_to_learn);
  });
}

/// Rounds of all runs, counted as they are played on any thread.
class RoundCount {
 public:
  RoundCount(const LongWork& work, long total) : work_(work), total_(total) {}

  void add(long rounds) {
    const std::lock_guard lock(mutex_);
    done_ += rounds;
    if (work_.tell) work_.tell(kComparisonRounds, done_, total_);
  }

 private:
  const LongWork& work_;
  long total_;
  std::mutex mutex_;
  long done_ = 0;
};

RunSummary run_or_read(const ExperimentConfig& config, const ComparisonOptions& options,
                       std::shared_ptr<const DrawnTasks> drawn, RoundCount& count) {
  long counted = 0;
  RunOptions run_options;
  run_options.commit_seconds = 1;
  run_options.work.stop = options.work.stop;
  run_options.drawn = std::move(drawn);
  run_options.after_round = [&](const Run&, const RoundOutcome& outcome) {
    count.add(outcome.round.round - counted);
    counted = outcome.round.round;
    return !options.work.stop.stop_requested();
  };
  if (options.folder.empty()) {
    RunSummary summary = play_in_memory(config, run_options);
    if (!summary.finished) throw Stopped{};
    return summary;
  }
  const std::filesystem::path path = comparison_file(options.folder, config.method, config.seed);
  const RunStatus status = std::filesystem::exists(path) ? resume_run(path, run_options)
                                                         : start_run(config, path, run_options);
  if (status == RunStatus::stopped) throw Stopped{};
  count.add(config.rounds - counted);
  return summarise(RunView(path));
}

/// Statistics of runs that were made; `runs` as in Comparison, `drawn` as the seeds draw it or
/// null.
Comparison summarise_runs(const ExperimentConfig& config, std::vector<std::vector<RunSummary>> runs,
                          const std::vector<std::shared_ptr<const DrawnTasks>>& drawn,
                          const LongWork& work) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  for (int s = 0; s < config.seeds; ++s) {
    const ExperimentConfig one = configuration_of(config, config.methods.front(), config.seed + s);
    const auto& known = drawn[static_cast<std::size_t>(s)];
    double best = lqr_cost(one, known ? *known : draw_tasks(one, work), work);
    for (const auto& of_method : comparison.runs) {
      const RunSummary& run = of_method[static_cast<std::size_t>(s)];
      for (std::size_t i = 0; i < run.costs.size(); ++i) {
        if (run.least_margins[i] >= 0) best = std::min(best, run.costs[i]);
      }
    }
    comparison.best_costs.push_back(best);
  }
  for (std::size_t m = 0; m < config.methods.size(); ++m) {
    MethodSummary method;
    method.name = config.methods[m];
    std::vector<double> rounds, means, finals, gaps, observations;
    for (int s = 0; s < config.seeds; ++s) {
      const RunSummary& run = comparison.runs[m][static_cast<std::size_t>(s)];
      const double best = comparison.best_costs[static_cast<std::size_t>(s)];
      const double improvement = run.initial_cost() - best;
      const double level = run.initial_cost() - 0.9 * improvement;
      const bool reached = std::any_of(run.costs.begin(), run.costs.end(),
                                       [&](double cost) { return cost <= level; });
      rounds.push_back(reached ? run.rounds_to(level) : kInfinity);
      if (!reached) ++method.never_reached;
      if (!(run.final_cost() <= level)) ++method.failed;
      means.push_back(run.mean_cost());
      finals.push_back(run.final_cost());
      gaps.push_back(100 * (run.final_cost() - best) / improvement);
      observations.push_back(over_seeds(run.observations_until_safe).median);
      method.tasks_never_safe += run.tasks_never_safe;
      method.unsafe_policies += run.unsafe_policies;
      method.policies_handed_out += run.policies_handed_out;
      method.falls += run.falls;
      method.violations += run.violations;
      method.saturations += run.saturations;
      method.trajectories += run.trajectories;
      method.seconds += run.rollout_seconds + run.learn_seconds;
    }
    method.rounds_to_90_percent = over_seeds(rounds, config.rounds);
    method.mean_cost = over_seeds(means);
    method.final_cost = over_seeds(finals);
    method.final_gap_percent = over_seeds(gaps);
    method.observations_until_safe = over_seeds(observations);
    comparison.methods.push_back(std::move(method));
  }
  return comparison;
}

/// A run of a comparison, and what came of it.
struct ComparedRun {
  ExperimentConfig config;
  int seed = 0;  // its place among the seeds
  RunSummary summary;
};

/// The runs of a part, the methods of one seed next to each other, and what each seed draws; null
/// where that is not kept.
struct PlayedRuns {
  std::vector<ComparedRun> runs;
  std::vector<std::shared_ptr<const DrawnTasks>> drawn;
};

PlayedRuns play_runs(const ExperimentConfig& config, const Shard& shard,
                     const ComparisonOptions& options) {
  const auto methods = static_cast<int>(config.methods.size());
  const int jobs = methods * config.seeds;
  require(config.seed <= std::numeric_limits<int>::max() - (config.seeds - 1), "experiment.seed",
          config.seed, "must leave room for as many seeds above it as experiment.seeds says");
  require(options.threads >= 0, "threads", options.threads, "must be at least 0");
  // All configurations are made, and all files looked at, before anything runs: a mistake in one of
  // them costs nothing.
  PlayedRuns played;
  std::vector<ComparedRun>& runs = played.runs;
  for (int job = 0; job < jobs; ++job) {
    if (!shard.holds(job, methods)) continue;
    options.work.step("setting up runs", job, jobs);
    const int seed = job / methods;
    runs.push_back(
        {configuration_of(config, config.methods[static_cast<std::size_t>(job % methods)],
                          config.seed + seed),
         seed,
         {}});
    const ExperimentConfig& made = runs.back().config;
    if (options.folder.empty()) continue;
    const std::filesystem::path path = comparison_file(options.folder, made.method, made.seed);
    if (std::filesystem::exists(path)) require_same_run(made, path);
  }
  // What a seed draws is the same for all methods; making its safe sets once saves most of the time
  // where these are of closed loops. Not more than fits into memory beside the runs.
  constexpr long kTasksKept = 10000;
  const bool shared =
      draw_alike(config) && static_cast<long>(config.tasks) * config.seeds <= kTasksKept;
  played.drawn.resize(static_cast<std::size_t>(config.seeds));
  std::vector<const ComparedRun*> first(played.drawn.size());  // run of each seed
  for (const ComparedRun& run : runs) {
    const ComparedRun*& known = first[static_cast<std::size_t>(run.seed)];
    if (known == nullptr) known = &run;
  }
  const auto count = static_cast<int>(runs.size());
  RoundCount rounds(options.work, static_cast<long>(count) * config.rounds);
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] {
    tbb::parallel_for(0, config.seeds, 1, [&](int s) {
      const ComparedRun* of_seed = first[static_cast<std::size_t>(s)];
      if (!shared || of_seed == nullptr) return;
      LongWork work;
      work.stop = options.work.stop;
      played.drawn[static_cast<std::size_t>(s)] =
          std::make_shared<const DrawnTasks>(draw_tasks(of_seed->config, work));
    });
    tbb::parallel_for(0, count, 1, [&](int place) {
      ComparedRun& run = runs[static_cast<std::size_t>(place)];
      run.summary = run_or_read(run.config, options,
                                played.drawn[static_cast<std::size_t>(run.seed)], rounds);
    });
  });
  return played;
}

// What is not a number or not finite, as rounds that never came, is written as null.
nlohmann::ordered_json over_seeds_to_json(const OverSeeds& value) {
  nlohmann::ordered_json json;
  json["mean"] = value.mean;
  json["ci95"] = value.ci95;
  json["median"] = value.median;
  json["median_low"] = value.median_low;
  json["median_high"] = value.median_high;
  json["low"] = value.low;
  json["high"] = value.high;
  json["worst"] = value.worst;
  json["values"] = value.values;
  return json;
}

}  // namespace

std::filesystem::path comparison_file(const std::filesystem::path& folder,
                                      const std::string& method, int seed) {
  require_file_name("method", method);
  return folder / fmt::format("{}-{}.run", method, seed);
}

void Shard::validate() const {
  require(parts >= 1, "shard", parts, "must have at least 1 part");
  require(part >= 1 && part <= parts, "shard", part, fmt::format("must be 1 to {}", parts));
}

bool Shard::holds(int run, int methods) const {
  // Every parts-th run, of which a part would always get the same methods where the numbers have a
  // common divisor: so it moves on by one whenever the pattern would begin anew.
  const long period = std::lcm(static_cast<long>(parts), static_cast<long>(methods));
  return (run + run / period) % parts == part - 1;
}

Comparison compare_methods(const ExperimentConfig& config, const ComparisonOptions& options) {
  PlayedRuns played = play_runs(config, Shard(), options);
  const std::size_t methods = config.methods.size();
  std::vector<std::vector<RunSummary>> runs(methods);
  for (std::size_t i = 0; i < played.runs.size(); ++i) {
    runs[i % methods].push_back(std::move(played.runs[i].summary));
  }
  return summarise_runs(config, std::move(runs), played.drawn, options.work);
}

std::vector<std::filesystem::path> play_shard(const ExperimentConfig& config, const Shard& shard,
                                              const ComparisonOptions& options) {
  shard.validate();
  require(!options.folder.empty(), "folder", "\"\"", "must be named for a part of a comparison");
  std::vector<std::filesystem::path> files;
  for (const ComparedRun& run : play_runs(config, shard, options).runs) {
    files.push_back(comparison_file(options.folder, run.config.method, run.config.seed));
  }
  return files;
}

nlohmann::ordered_json comparison_to_json(const ExperimentConfig& config,
                                          const Comparison& comparison) {
  nlohmann::ordered_json json;
  json["experiment"] = config.name;
  json["seeds"] = config.seeds;
  json["rounds"] = config.rounds;
  json["methods"] = nlohmann::ordered_json::array();
  for (const MethodSummary& m : comparison.methods) {
    nlohmann::ordered_json method;
    method["name"] = m.name;
    method["rounds_to_90_percent"] = over_seeds_to_json(m.rounds_to_90_percent);
    method["mean_cost"] = over_seeds_to_json(m.mean_cost);
    method["final_cost"] = over_seeds_to_json(m.final_cost);
    method["final_gap_percent"] = over_seeds_to_json(m.final_gap_percent);
    method["observations_until_safe"] = over_seeds_to_json(m.observations_until_safe);
    method["tasks_never_safe"] = m.tasks_never_safe;
    method["never_reached"] = m.never_reached;
    method["failed"] = m.failed;
    method["unsafe_policies"] = m.unsafe_policies;
    method["policies_handed_out"] = m.policies_handed_out;
    method["falls"] = m.falls;
    method["violations"] = m.violations;
    method["saturations"] = m.saturations;
    method["trajectories"] = m.trajectories;
    method["seconds"] = m.seconds;
    json["methods"].push_back(std::move(method));
  }
  return json;
}

}  // namespace lifeguard
