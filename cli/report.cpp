#include "cli/report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/page.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"

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
  std::ifstream file(path);
  require(file.good(), "--claims", path, "must be a file that can be read");
  Json claims = Json::parse(file, nullptr, /*allow_exceptions=*/false);
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
  Json data = report_data({arguments.runs.begin(), arguments.runs.end()});
  if (!arguments.claims.empty()) data["claims"] = read_claims(arguments.claims);
  if (arguments.json) {
    fmt::print("{}\n", data.dump());
    return;
  }
  std::ofstream file(arguments.out, std::ios::binary);
  file << page_with(data);
  file.close();
  require(file.good(), "--out", arguments.out, "must be a file that can be written");
  fmt::print("{}\n", arguments.out);
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand(
      "report", "Make one HTML file of runs: costs, safety, what was learnt, how it moves");
  command->add_option("runs", arguments->runs, "run files")->required();
  command->add_option("-o,--out", arguments->out, "the file to write")->capture_default_str();
  command->add_option("--claims", arguments->claims,
                      "a JSON list of {claim, paper, measured, verdict} to show as a table");
  command->add_flag("--json", arguments->json, "print the page's data as JSON instead");
  command->footer(
      "The file needs no network and no server: open it or send it. Runs with the same experiment\n"
      "name are compared; seeds of a method become means with 95 % intervals.\n"
      "Example: lifeguard compare CONFIG.toml --out runs && lifeguard report runs/*.run");
  command->callback([arguments] { report(*arguments); });
}

}  // namespace lifeguard
