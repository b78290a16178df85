#include "cli/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/incident_lines.hpp"
#include "cli/memory.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard {
namespace {

struct RunArguments {
  std::string config;
  std::string out;
  std::string method;
  std::optional<int> seed;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};

void print_summary(const std::string& path, long rounds, const RunSummary& summary, bool json) {
  if (summary.costs.empty()) {  // stopped before its first commit
    say("lifeguard: {} has no rounds yet", path);
    return;
  }
  if (json) {
    print_json(summary_to_json(summary));
    return;
  }
  put("{}: {}, seed {}, {} of {} rounds\n", path, summary.label, summary.seed, summary.rounds_done,
      rounds);
  put("  mean cost     {:.6g} at the start, {:.6g} now\n", summary.initial_cost(),
      summary.final_cost());
  if (summary.constrained) {
    put("  safety        {} unsafe policies of {}; worst margin now {:.3g}\n",
        summary.unsafe_policies, summary.policies_handed_out, summary.worst_margin);
  } else {
    put("  safety        no constraints\n");
  }
  put_incident_lines(summary, 14);
  put("  time          {:.2f} s ({:.2f} rollouts, {:.2f} learning)\n",
      summary.rollout_seconds + summary.learn_seconds, summary.rollout_seconds,
      summary.learn_seconds);
}

/// Plays with `play` and reports how it ended.
template <typename Play>
void play_and_report(const std::filesystem::path& path, long total, const RunArguments& arguments,
                     Play play) {
  when_stopped(kStopped, [path] {
    std::error_code error;
    return std::filesystem::exists(path, error)
               ? fmt::format("`lifeguard resume {}` goes on", path.string())
               : std::string("there is no run file yet, the same command begins again");
  });
  Progress progress(arguments.quiet);
  double cost = kNaN;
  RunOptions options;
  options.work = progress.work();
  options.warn = [](const std::string& text) { say("lifeguard: {}", text); };
  options.after_round = [&](const Run& run, const RoundOutcome& outcome) {
    if (outcome.evaluation) cost = outcome.evaluation->mean_cost();
    const long round = outcome.round.round;
    if (progress.due(round, total)) {
      const double margin = outcome.round.worst_margin;
      progress.update(round, total,
                      run.drawn().constrained() && std::isfinite(margin)
                          ? fmt::format("cost {:.4g}  margin {:.2g}", cost, margin)
                          : fmt::format("cost {:.4g}", cost));
    }
    return !stop_requested();
  };
  const RunStatus status = play(options);
  const int code = status == RunStatus::stopped ? end_stopped() : kDone;
  progress.prepare("summing up", 0, 1);
  const RunSummary summary = summarise(RunView(path));
  progress.finish();
  print_summary(path.string(), total, summary, arguments.json);
  if (code != kDone) throw Exit{code};
}

/// Where the run goes if the command line does not say: only a name that is one of a file can be
/// part of it.
std::filesystem::path default_path(const ExperimentConfig& config) {
  for (const auto& [field, name] :
       {std::pair("experiment.name", config.name), std::pair("experiment.method", config.method)}) {
    try {
      require_file_name(field, name);
    } catch (const InvalidInput& error) {
      throw InvalidInput(field, error.value(), error.rule() + "; or name the run file with --out");
    }
  }
  return fmt::format("{}-{}-{}.run", config.name, config.method, config.seed);
}

/// As a text in TOML.
std::string toml_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

void run(const RunArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.method.empty()) {
    overrides.push_back(fmt::format("experiment.method={}", toml_string(arguments.method)));
  }
  if (arguments.seed) overrides.push_back(fmt::format("experiment.seed={}", *arguments.seed));
  ExperimentConfig config = load_config(arguments.config, overrides);
  config = configuration_of(config, config.method, config.seed);
  const std::filesystem::path path =
      arguments.out.empty() ? default_path(config) : std::filesystem::path(arguments.out);
  // Said now and not when everything is set up.
  if (std::filesystem::exists(path)) {
    throw RunFileError(
        fmt::format("{} {}; choose another name{}", path.string(),
                    std::filesystem::is_directory(path) ? "is a folder" : "exists already",
                    std::filesystem::is_regular_file(path) ? " or resume it" : ""));
  }
  require_memory_for(config);
  play_and_report(path, config.rounds, arguments,
                  [&](const RunOptions& options) { return start_run(config, path, options); });
}

void resume(const RunArguments& arguments) {
  const std::filesystem::path path = arguments.out;
  ExperimentConfig config;
  {
    const RunReader reader(path);
    // Throws if it is not the configuration that was written; older files do not say.
    if (reader.header().schema_version >= 4) reader.description();
    if (reader.header().finished) {
      const int rounds = reader.header().experiment.rounds;
      say("lifeguard: {} is finished, all of its {} rounds are played", path.string(), rounds);
      return print_summary(path.string(), rounds, summarise(RunView(path)), arguments.json);
    }
    require_registered(reader, "gone on with");
    config = reader.header().config();
  }
  require_memory_for(config);
  play_and_report(path, config.rounds, arguments,
                  [&](const RunOptions& options) { return resume_run(path, options); });
}

}  // namespace

void add_run_commands(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run_command = app.add_subcommand(
      "run", "Learn the tasks of a configuration, round by round, into one run file");
  add_path(*run_command, "config", arguments->config,
           "TOML file; docs/configuration.md has all keys")
      ->required();
  add_path(*run_command, "-o,--out", arguments->out,
           "the run file to write (NAME-METHOD-SEED.run if left out); its folder is made");
  run_command->add_option(
      "--method", arguments->method,
      fmt::format("{} or a variant of the configuration", fmt::join(method_names(), ", ")));
  add_number(*run_command, "--seed", arguments->seed, 0, std::numeric_limits<int>::max(),
             "same seed, same results to the bit");
  run_command
      ->add_option("--set", arguments->overrides, "key=value, e.g. learner.k=4; may be given often")
      ->allow_extra_args(false);
  run_command->add_flag("--json", arguments->json, "print the summary as JSON");
  run_command->add_flag("--quiet", arguments->quiet, "no progress");
  run_command->footer(
      "Ctrl-C stops at once; `lifeguard resume FILE` goes on, to the same bits.\n"
      "Example: lifeguard run configs/examples/safe-quadrotor.toml --set experiment.rounds=200");
  run_command->callback([arguments] { run(*arguments); });

  CLI::App* resume_command =
      app.add_subcommand("resume", "Go on with a run that was stopped or killed");
  add_path(*resume_command, "run", arguments->out, "the run file")->required();
  resume_command->add_flag("--json", arguments->json, "print the summary as JSON");
  resume_command->add_flag("--quiet", arguments->quiet, "no progress");
  resume_command->callback([arguments] { resume(*arguments); });
}

}  // namespace lifeguard
