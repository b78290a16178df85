#include "cli/run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/progress.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_summary.hpp"

namespace lifeguard {
namespace {

struct RunArguments {
  std::string config;
  std::string out;
  std::string method;
  int seed = -1;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};

void print_summary(const std::filesystem::path& path, bool json) {
  const RunReader reader(path);
  const RunSummary summary = summarise(reader);
  if (json) {
    fmt::print("{}\n", summary_to_json(summary).dump(2));
    return;
  }
  fmt::print("{}: {}, seed {}, {} of {} rounds\n", path.string(), summary.label, summary.seed,
             summary.rounds_done, reader.header().config.rounds);
  fmt::print("  mean cost     {:.6g} at the start, {:.6g} now\n", summary.costs.front(),
             summary.costs.back());
  if (summary.constrained) {
    fmt::print("  safety        {} unsafe policies of {}; worst margin now {:.3g}\n",
               summary.unsafe_policies, summary.policies_handed_out, summary.worst_margin);
  } else {
    fmt::print("  safety        no constraints\n");
  }
  fmt::print("  time          {:.2f} s ({:.2f} rollouts, {:.2f} learning)\n",
             summary.rollout_seconds + summary.learn_seconds, summary.rollout_seconds,
             summary.learn_seconds);
}

/// Plays with `play` and reports how it ended.
template <typename Play>
void play_and_report(const std::filesystem::path& path, long total, const RunArguments& arguments,
                     Play play) {
  watch_for_stop();
  Progress progress(total, arguments.quiet);
  double cost = kNaN;
  RunOptions options;
  options.after_round = [&](const Run& run, const RoundOutcome& outcome) {
    if (outcome.evaluation) cost = outcome.evaluation->costs.mean();
    if (progress.due(outcome.round.round)) {
      const double margin = outcome.round.worst_margin;
      progress.update(outcome.round.round,
                      run.setting().constrained() && std::isfinite(margin)
                          ? fmt::format("cost {:.4g}  margin {:.2g}", cost, margin)
                          : fmt::format("cost {:.4g}", cost));
    }
    return !stop_requested();
  };
  const RunStatus status = play(options);
  progress.finish();
  if (status == RunStatus::stopped) {
    fmt::print(stderr, "lifeguard: stopped; `lifeguard resume {}` goes on\n", path.string());
  }
  print_summary(path, arguments.json);
  if (status == RunStatus::stopped) throw Exit{kStopped};
}

void run(const RunArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.method.empty()) {
    overrides.push_back(fmt::format("experiment.method=\"{}\"", arguments.method));
  }
  if (arguments.seed >= 0) overrides.push_back(fmt::format("experiment.seed={}", arguments.seed));
  ExperimentConfig config = load_config(arguments.config, overrides);
  config = configuration_of(config, config.method, config.seed);
  const std::filesystem::path path =
      arguments.out.empty() ? std::filesystem::path(fmt::format("{}-{}-{}.run", config.name,
                                                                config.method, config.seed))
                            : std::filesystem::path(arguments.out);
  play_and_report(path, config.rounds, arguments,
                  [&](const RunOptions& options) { return start_run(config, path, options); });
}

void resume(const RunArguments& arguments) {
  const std::filesystem::path path = arguments.out;
  const long total = RunReader(path).header().config.rounds;
  play_and_report(path, total, arguments,
                  [&](const RunOptions& options) { return resume_run(path, options); });
}

}  // namespace

void add_run_commands(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run_command = app.add_subcommand(
      "run", "Learn the tasks of a configuration, round by round, into one run file");
  run_command
      ->add_option("config", arguments->config, "TOML file; docs/configuration.md has all keys")
      ->required();
  run_command->add_option("-o,--out", arguments->out,
                          "the run file to write (NAME-METHOD-SEED.run if left out)");
  run_command->add_option("--method", arguments->method,
                          "learner, pg, pg-ella, shared or a variant of the configuration");
  run_command->add_option("--seed", arguments->seed, "same seed, same results to the bit");
  run_command->add_option("--set", arguments->overrides,
                          "key=value, e.g. learner.k=4; may be given often");
  run_command->add_flag("--json", arguments->json, "print the summary as JSON");
  run_command->add_flag("--quiet", arguments->quiet, "no progress");
  run_command->footer(
      "Ctrl-C stops after the round; `lifeguard resume FILE` goes on, to the same bits.\n"
      "Example: lifeguard run configs/examples/safe-quadrotor.toml --set experiment.rounds=200");
  run_command->callback([arguments] { run(*arguments); });

  CLI::App* resume_command =
      app.add_subcommand("resume", "Go on with a run that was stopped or killed");
  resume_command->add_option("run", arguments->out, "the run file")->required();
  resume_command->add_flag("--json", arguments->json, "print the summary as JSON");
  resume_command->add_flag("--quiet", arguments->quiet, "no progress");
  resume_command->callback([arguments] { resume(*arguments); });
}

}  // namespace lifeguard
