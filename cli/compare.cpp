#include "cli/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/progress.hpp"
#include "lifeguard/runs/comparison.hpp"

namespace lifeguard {
namespace {

struct CompareArguments {
  std::string config;
  std::string out;
  int seeds = 0;
  int threads = 0;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};

std::string with_interval(const MeanInterval& value) {
  return std::isnan(value.ci95) ? fmt::format("{:.4g}", value.mean)
                                : fmt::format("{:.4g} ± {:.2g}", value.mean, value.ci95);
}

void print_table(const ExperimentConfig& config, const Comparison& comparison) {
  fmt::print("{}: {} rounds, {} seeds, mean over {} tasks, ± 95 % intervals\n\n", config.name,
             config.rounds, config.seeds, config.tasks);
  fmt::print("{:<14}{:>18}{:>20}{:>20}{:>12}{:>18}{:>9}\n", "method", "rounds to 90 %", "mean cost",
             "final cost", "gap %", "unsafe policies", "seconds");
  for (const MethodSummary& m : comparison.methods) {
    fmt::print("{:<14}{:>18}{:>20}{:>20}{:>12.3g}{:>18}{:>9.2f}\n", m.name,
               with_interval(m.rounds_to_90_percent), with_interval(m.mean_cost),
               with_interval(m.final_cost), m.final_gap_percent.mean,
               fmt::format("{} of {}", m.unsafe_policies, m.policies_handed_out), m.seconds);
  }
}

void compare(const CompareArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.seeds > 0) overrides.push_back(fmt::format("experiment.seeds={}", arguments.seeds));
  const ExperimentConfig config = load_config(arguments.config, overrides);
  watch_for_stop();
  Progress progress(static_cast<long>(config.methods.size()) * config.seeds, arguments.quiet);
  ComparisonOptions options;
  options.folder = arguments.out;
  options.threads = arguments.threads;
  options.stop = stop_requested;
  options.after_run = [&](long done, long) { progress.update(done, "runs"); };
  Comparison comparison;
  try {
    comparison = compare_methods(config, options);
  } catch (const RunsStopped&) {
    fmt::print(stderr, "lifeguard: stopped{}\n",
               arguments.out.empty() ? "" : "; the same command goes on");
    throw Exit{kStopped};
  }
  progress.finish();
  if (arguments.json) {
    fmt::print("{}\n", comparison_to_json(config, comparison).dump(2));
  } else {
    print_table(config, comparison);
  }
}

}  // namespace

void add_compare_command(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Run the methods of a configuration side by side, over several seeds");
  command->add_option("config", arguments->config, "TOML file")->required();
  command->add_option("--seeds", arguments->seeds, "how many (experiment.seeds if left out)");
  command
      ->add_option("--threads", arguments->threads, "0 uses all cores; results do not depend on it")
      ->capture_default_str();
  command->add_option("-o,--out", arguments->out,
                      "keep every run as a file in this folder; run again to go on");
  command->add_option("--set", arguments->overrides, "key=value; may be given often");
  command->add_flag("--json", arguments->json, "print the result as JSON");
  command->add_flag("--quiet", arguments->quiet, "no progress");
  command->footer(
      "\"Rounds to 90 %\" is when 90 % of the way is done from the initial cost to the lowest\n"
      "that LQR or any method reaches; under constraints only safe policies count for that.");
  command->callback([arguments] { compare(*arguments); });
}

}  // namespace lifeguard
