#include "cli/reproduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "lifeguard/paper/reproduction.hpp"

namespace lifeguard {
namespace {

struct ReproduceArguments {
  ReproductionOptions options;
  std::string out = "reproduction";
  bool json = false;
  bool quiet = false;
  bool list = false;
};

void print_claims(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    put("{:<14} {}\n{:<14} paper: {}; measured: {}\n", verdict_name(claim.verdict), claim.claim, "",
        claim.paper, claim.measured);
  }
}

void reproduce_all(ReproduceArguments arguments) {
  if (arguments.list) {
    for (const Figure& figure : paper_figures()) {
      put("{:<24} {}\n", figure.name, figure.title);
    }
    return;
  }
  when_stopped(kStopped, [] { return std::string("the same command goes on"); });
  arguments.options.folder = arguments.out;
  Progress progress(arguments.quiet);
  arguments.options.work = progress.work(kComparisonRounds);
  arguments.options.before_figure = [&](const Figure& figure) {
    if (!arguments.quiet) write_message(figure.title);
  };
  const std::vector<FigureResult> results = reproduce(arguments.options);
  progress.finish();
  const std::vector<Claim> claims = judge_claims(results);
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["figures"] = nlohmann::ordered_json::array();
    for (const FigureResult& result : results) json["figures"].push_back(figure_to_json(result));
    json["claims"] = claims_to_json(claims);
    print_json(json);
    return;
  }
  print_claims(claims);
  put("\nRun files, data and results.md are in {}\n", arguments.out);
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* command = app.add_subcommand(
      "reproduce", "Run the paper's experiments and hold its claims against what comes out");
  command
      ->add_option("--figure", arguments->options.figures,
                   "only this one; may be given often (--list names them)")
      ->allow_extra_args(false);
  command->add_flag("--quick", arguments->options.quick,
                    "two seeds and few rounds, under two minutes: a first look, not a measurement");
  add_number(*command, "--seeds", arguments->options.seeds, 1, 10000, "how many (20 if left out)");
  add_path(*command, "-o,--out", arguments->out,
           "folder for run files, data and results.md; finished runs in it are kept")
      ->capture_default_str();
  add_threads(*command, arguments->options.threads);
  command->add_flag("--list", arguments->list, "name the figures");
  command->add_flag("--json", arguments->json, "print all data as JSON");
  command->add_flag("--quiet", arguments->quiet, "no progress");
  command->callback([arguments] { reproduce_all(*arguments); });
}

}  // namespace lifeguard
