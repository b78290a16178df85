#include "cli/report.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/page.hpp"
#include "cli/stop.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/input_file.hpp"
#include "lifeguard/runs/output_file.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out = "report.html";
  std::string claims;
  bool json = false;
};

/// A list of {"claim", "paper", "measured", "verdict"}, all text.
Json read_claims(const std::string& path) {
  Json claims = Json::parse(read_input_file("--claims", path), nullptr,
                            /*allow_exceptions=*/false);
  require(claims.is_array(), "--claims", path, "must hold a JSON list");
  for (const Json& entry : claims) {
    for (const char* key : {"claim", "paper", "measured", "verdict"}) {
      require(entry.is_object() && entry.contains(key) && entry[key].is_string(), "--claims", path,
              fmt::format("must have the text \"{}\" in every entry", key));
    }
  }
  return claims;
}

void report(const ReportArguments& arguments) {
  require_distinct_files("runs", arguments.runs);
  if (!arguments.json) {
    require_distinct_files("--claims and --out", {arguments.claims, arguments.out});
  }
  when_stopped(kStopped, [] { return std::string("nothing was written"); });
  Json data = report_data({arguments.runs.begin(), arguments.runs.end()});
  if (!arguments.claims.empty()) data["claims"] = read_claims(arguments.claims);
  if (arguments.json) return print_json(data, -1);
  write_file(arguments.out, page_with(data));
  put("{}\n", arguments.out);
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand(
      "report", "Make one HTML file of runs: costs, safety, what was learnt, how it moves");
  command->add_option("runs", arguments->runs, "run files")->required();
  add_path(*command, "-o,--out", arguments->out, "the file to write")->capture_default_str();
  add_path(*command, "--claims", arguments->claims,
           "a JSON list of {claim, paper, measured, verdict} to show as a table");
  command->add_flag("--json", arguments->json, "print the page's data as JSON instead");
  command->footer(
      "The file needs no network and no server: open it or send it. Runs with the same experiment\n"
      "name are compared; seeds of a method become medians with 10 to 90 % bands.\n"
      "Example: lifeguard compare CONFIG.toml --out runs && lifeguard report runs/*.run");
  command->callback([arguments] { report(*arguments); });
}

}  // namespace lifeguard
