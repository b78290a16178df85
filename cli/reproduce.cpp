#include "cli/reproduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/progress.hpp"
#include "lifeguard/paper/reproduction.hpp"

namespace lifeguard {
namespace {

struct ReproduceArguments {
  ReproductionOptions options;
  bool json = false;
  bool quiet = false;
  bool list = false;
};

void print_claims(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    fmt::print("{:<14} {}\n{:<14} paper: {}; measured: {}\n", claim.verdict, claim.claim, "",
               claim.paper, claim.measured);
  }
}

void reproduce_all(ReproduceArguments arguments) {
  if (arguments.list) {
    for (const Figure& figure : paper_figures()) {
      fmt::print("{:<24} {}\n", figure.name, figure.title);
    }
    return;
  }
  watch_for_stop();
  std::optional<Progress> progress;
  arguments.options.stop = stop_requested;
  arguments.options.before_figure = [&](const Figure& figure, long runs) {
    if (progress) progress->finish();
    progress.emplace(runs, arguments.quiet);
    if (!arguments.quiet) fmt::print(stderr, "{}\n", figure.title);
  };
  arguments.options.after_run = [&](long done, long) { progress->update(done, "runs"); };
  std::vector<FigureResult> results;
  try {
    results = reproduce(arguments.options);
  } catch (const RunsStopped&) {
    fmt::print(stderr, "lifeguard: stopped; the same command goes on\n");
    throw Exit{kStopped};
  }
  if (progress) progress->finish();
  const std::vector<Claim> claims = judge_claims(results);
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["figures"] = nlohmann::ordered_json::array();
    for (const FigureResult& result : results) json["figures"].push_back(figure_to_json(result));
    json["claims"] = claims_to_json(claims);
    fmt::print("{}\n", json.dump(2));
    return;
  }
  print_claims(claims);
  fmt::print("\nRun files, data and {} are in {}\n", "results.md",
             arguments.options.folder.string());
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* command = app.add_subcommand(
      "reproduce", "Run the paper's experiments and hold its claims against what comes out");
  command->add_option("--figure", arguments->options.figures,
                      "only this one; may be given often (--list names them)");
  command->add_flag("--quick", arguments->options.quick,
                    "two seeds and few rounds, under two minutes: a first look, not a measurement");
  command->add_option("--seeds", arguments->options.seeds, "how many (20 if left out)");
  command
      ->add_option("-o,--out", arguments->options.folder,
                   "folder for run files, data and results.md; finished runs in it are kept")
      ->capture_default_str();
  command->add_option("--threads", arguments->options.threads,
                      "0 uses all cores; results do not depend on it");
  command->add_flag("--list", arguments->list, "name the figures");
  command->add_flag("--json", arguments->json, "print all data as JSON");
  command->add_flag("--quiet", arguments->quiet, "no progress");
  command->callback([arguments] { reproduce_all(*arguments); });
}

}  // namespace lifeguard
