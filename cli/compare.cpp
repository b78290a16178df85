#include "cli/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/memory.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/comparison.hpp"

namespace lifeguard {
namespace {

struct CompareArguments {
  std::string config;
  std::string out;
  std::optional<int> seeds;
  std::string shard;
  int threads = 0;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};

/// "12 (31)", "never" for what never came.
std::string median_and_worst(const OverSeeds& value) {
  const auto text = [](double number) {
    return number == kInfinity ? std::string("never") : fmt::format("{:.3g}", number);
  };
  return fmt::format("{} ({})", text(value.median), text(value.worst));
}

void print_table(const ExperimentConfig& config, const Comparison& comparison) {
  put("{}: {} rounds, mean over {} tasks; median of {} seeds (worst)\n\n", config.name,
      config.rounds, config.tasks, config.seeds);
  put("{:<14}{:>16}{:>11}{:>18}{:>22}{:>22}{:>18}{:>8}{:>11}{:>12}{:>9}\n", "method",
      "rounds to 90 %", "failed", "mean cost", "final cost", "gap %", "unsafe policies", "falls",
      "violations", "saturations", "seconds");
  for (const MethodSummary& m : comparison.methods) {
    put("{:<14}{:>16}{:>11}{:>18}{:>22}{:>22}{:>18}{:>8}{:>11}{:>12}{:>9.2f}\n", m.name,
        median_and_worst(m.rounds_to_90_percent), fmt::format("{} of {}", m.failed, config.seeds),
        median_and_worst(m.mean_cost), median_and_worst(m.final_cost),
        median_and_worst(m.final_gap_percent),
        fmt::format("{} of {}", m.unsafe_policies, m.policies_handed_out), m.falls, m.violations,
        m.saturations, m.seconds);
  }
}

/// "3/16": the third of sixteen parts.
Shard shard_of(const std::string& text) {
  constexpr int kMostParts = 1000000;
  const std::size_t slash = text.find('/');
  const std::string rule = "must be PART/PARTS, e.g. 3/16";
  require(slash != std::string::npos, "--shard", fmt::format("\"{}\"", text), rule);
  Shard shard;
  shard.parts = whole_number("--shard", text.substr(slash + 1), 1, kMostParts);
  shard.part = whole_number("--shard", text.substr(0, slash), 1, shard.parts);
  return shard;
}

void print_shard(const CompareArguments& arguments, const ExperimentConfig& config,
                 const std::vector<std::filesystem::path>& files) {
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["experiment"] = config.name;
    json["shard"] = arguments.shard;
    json["files"] = nlohmann::ordered_json::array();
    for (const auto& file : files) json["files"].push_back(file.string());
    print_json(json);
    return;
  }
  for (const auto& file : files) put("{}\n", file.string());
  put("part {} of {}: {} of {} runs; the same command without --shard compares them when all are "
      "in one folder\n",
      shard_of(arguments.shard).part, shard_of(arguments.shard).parts, files.size(),
      config.methods.size() * static_cast<std::size_t>(config.seeds));
}

void compare(const CompareArguments& arguments) {
  const bool whole = arguments.shard.empty();
  const Shard shard = whole ? Shard() : shard_of(arguments.shard);
  require(whole || !arguments.out.empty(), "--shard", arguments.shard,
          "must have a folder for its run files: --out FOLDER");
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.seeds) overrides.push_back(fmt::format("experiment.seeds={}", *arguments.seeds));
  const ExperimentConfig config = load_config(arguments.config, overrides);
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const long all_runs = static_cast<long>(config.methods.size()) * config.seeds;
  const long runs = std::max(1L, (all_runs + shard.parts - 1) / shard.parts);
  require_memory_for(config, static_cast<int>(std::min<long>(
                                 runs, arguments.threads > 0 ? arguments.threads : cores)));
  when_stopped(kStopped, [kept = !arguments.out.empty()]() -> std::string {
    return kept ? "the same command goes on"
                : "nothing was kept; with --out the same command would go on";
  });
  Progress progress(arguments.quiet);
  ComparisonOptions options;
  options.folder = arguments.out;
  options.threads = arguments.threads;
  options.work = progress.work(kComparisonRounds);
  if (!whole) {
    const std::vector<std::filesystem::path> files = play_shard(config, shard, options);
    progress.finish();
    print_shard(arguments, config, files);
    return;
  }
  const Comparison comparison = compare_methods(config, options);
  progress.finish();
  if (arguments.json) {
    print_json(comparison_to_json(config, comparison));
  } else {
    print_table(config, comparison);
  }
}

}  // namespace

void add_compare_command(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Run the methods of a configuration side by side, over several seeds");
  add_path(*command, "config", arguments->config, "TOML file")->required();
  add_number(*command, "--seeds", arguments->seeds, 1, 10000,
             "how many (experiment.seeds if left out)");
  command->add_option("--shard", arguments->shard,
                      "play only this part of the runs, e.g. 3/16, into --out: for job arrays");
  add_threads(*command, arguments->threads);
  add_path(*command, "-o,--out", arguments->out,
           "keep every run as a file in this folder; run again to go on");
  command->add_option("--set", arguments->overrides, "key=value; may be given often")
      ->allow_extra_args(false);
  command->add_flag("--json", arguments->json, "print the result as JSON");
  command->add_flag("--quiet", arguments->quiet, "no progress");
  command->footer(
      "\"Rounds to 90 %\" is when 90 % of the way is done from the initial cost to the lowest\n"
      "that LQR or any method reaches; under constraints only safe policies count for that.\n"
      "\"Failed\" are the seeds on which it is not done at the end. --json has means, quantiles\n"
      "and intervals, and every seed's values.");
  command->callback([arguments] { compare(*arguments); });
}

}  // namespace lifeguard
