#include "cli/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

struct CheckArguments {
  std::vector<std::string> runs;
  bool replay = false;
  bool json = false;
};

void check(const CheckArguments& arguments) {
  bool all_hold = true;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& path : arguments.runs) {
    const RunCheck result = check_run(path, arguments.replay);
    all_hold = all_hold && result.findings.empty();
    if (arguments.json) {
      nlohmann::ordered_json entry;
      entry["run"] = path;
      entry["method"] = result.method;
      entry["rounds"] = result.rounds;
      entry["policies"] = result.policies;
      entry["lemmas"] = result.lemmas;
      entry["certificate_checked"] = result.certificate_checked;
      entry["replayed"] = result.replayed;
      entry["holds"] = result.findings.empty();
      entry["findings"] = result.findings;
      json.push_back(std::move(entry));
      continue;
    }
    fmt::print("{}: {}\n", path, result.findings.empty() ? "all holds" : "DOES NOT HOLD");
    fmt::print(
        "  {} policies played in {} rounds, each against its constraints in exact arithmetic\n",
        result.policies, result.rounds);
    if (result.lemmas > 0) {
      fmt::print("  the quantities of Lemmas 1 to 4, against their bounds in {} rounds\n",
                 result.lemmas);
    }
    if (result.certificate_checked) {
      fmt::print("  the certificate of the last round, against the stored learner\n");
    }
    if (result.replayed) fmt::print("  every number of every round, by playing it again\n");
    for (const std::string& finding : result.findings) fmt::print("  ! {}\n", finding);
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2));
  if (!all_hold) throw Exit{kUnsafe};
}

struct PolicyArguments {
  std::string run;
  std::string task = "0";
  std::string header;
  bool json = false;
};

void export_one(const PolicyArguments& arguments) {
  const RunReader reader(arguments.run);
  const ExportedPolicy policy = export_policy(reader, arguments.task);
  if (!arguments.header.empty()) {
    std::ofstream file(arguments.header);
    file << policy_to_header(policy);
    file.close();
    require(file.good(), "--header", arguments.header, "must be a file that can be written");
    fmt::print(stderr, "{} written\n", arguments.header);
    if (!arguments.json) return;
  }
  fmt::print("{}\n", policy_to_json(policy).dump(2));
}

struct InfoArguments {
  std::string what;
  bool keys = false;
  bool json = false;
};

nlohmann::ordered_json values_json(const ExperimentConfig& config) {
  nlohmann::ordered_json json;
  for (const auto& [key, value] : effective_values(config)) json[key] = value;
  return json;
}

void info_of_run(const std::string& path, bool json) {
  const RunReader reader(path);
  const RunHeader& header = reader.header();
  const RunSummary summary = summarise(reader);
  if (json) {
    nlohmann::ordered_json result = summary_to_json(summary);
    result["schema_version"] = header.schema_version;
    result["lifeguard_version"] = header.lifeguard_version;
    result["planned_rounds"] = header.config.rounds;
    result["settings"] = values_json(header.config);
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{}\n", path);
  fmt::print("  experiment  {} ({})\n", header.config.name, header.config.family.name);
  fmt::print("  method      {}, seed {}\n", header.method, header.config.seed);
  fmt::print("  rounds      {} of {}{}\n", header.rounds_done, header.config.rounds,
             header.finished ? "" : "; `lifeguard resume` goes on");
  fmt::print("  mean cost   {:.6g} -> {:.6g}\n", summary.costs.front(), summary.costs.back());
  if (summary.constrained) {
    fmt::print("  safety      {} unsafe policies of {}\n", summary.unsafe_policies,
               summary.policies_handed_out);
  }
  if (!summary.regret.empty()) {
    fmt::print("  regret      {:.6g} of the losses, {:.6g} of the true cost\n",
               summary.regret.back().surrogate, summary.regret.back().true_cost);
  }
  if (summary.theorem) {
    fmt::print("  theorem     Lemmas 1 to 4 use {:.2g} of their bounds; the regret's is {:.2g}\n",
               fmt::join(summary.theorem->worst_ratios, ", "), summary.theorem->regret_bound);
  }
  fmt::print("  written by  lifeguard {}, schema {}\n", header.lifeguard_version,
             header.schema_version);
}

void info(const InfoArguments& arguments) {
  if (arguments.keys) {
    fmt::print("{}", configuration_reference());
    return;
  }
  if (!arguments.what.empty() && std::filesystem::path(arguments.what).extension() == ".toml") {
    const ExperimentConfig config = load_config(arguments.what);
    if (arguments.json) {
      fmt::print("{}\n", values_json(config).dump(2));
    } else {
      for (const auto& [key, value] : effective_values(config)) {
        fmt::print("{:<36} {}\n", key, value);
      }
    }
    return;
  }
  if (!arguments.what.empty()) {
    info_of_run(arguments.what, arguments.json);
    return;
  }
  nlohmann::ordered_json json;
  json["version"] = kVersion;
  json["simd"] = current_simd_target();
  json["families"] = family_names();
  json["methods"] = method_names();
  if (arguments.json) {
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("lifeguard {} ({})\n", kVersion, current_simd_target());
  fmt::print("families  {}\n", fmt::join(family_names(), ", "));
  fmt::print("methods   {}\n", fmt::join(method_names(), ", "));
  fmt::print(
      "`lifeguard info RUN` describes a run file, `lifeguard info CONFIG.toml` lists every\n"
      "setting of a configuration, `lifeguard info --keys` all there are.\n");
}

}  // namespace

void add_inspect_commands(CLI::App& app) {
  auto check_arguments = std::make_shared<CheckArguments>();
  CLI::App* check_command = app.add_subcommand(
      "check", "Verify run files independently: every policy, every certificate, every byte");
  check_command->add_option("runs", check_arguments->runs, "run files")->required();
  check_command->add_flag("--replay", check_arguments->replay,
                          "also play each run again and compare to the bit");
  check_command->add_flag("--json", check_arguments->json, "print the result as JSON");
  check_command->footer("Ends with 0 if all holds and with 4 if anything does not.");
  check_command->callback([check_arguments] { check(*check_arguments); });

  auto policy_arguments = std::make_shared<PolicyArguments>();
  CLI::App* policy_command = app.add_subcommand(
      "policy", "Export the policy of a task as JSON, or as a C++ header for a controller");
  policy_command->add_option("run", policy_arguments->run, "a run file")->required();
  policy_command->add_option("--task", policy_arguments->task, "name or number of the task")
      ->capture_default_str();
  policy_command->add_option("--header", policy_arguments->header,
                             "write a self-contained C++ header to this file");
  policy_command->add_flag("--json", policy_arguments->json,
                           "print JSON, also when a header is written");
  policy_command->callback([policy_arguments] { export_one(*policy_arguments); });

  auto info_arguments = std::make_shared<InfoArguments>();
  CLI::App* info_command =
      app.add_subcommand("info", "Describe a run file, a configuration, or this lifeguard");
  info_command->add_option("what", info_arguments->what, "a run file or a TOML configuration");
  info_command->add_flag("--keys", info_arguments->keys,
                         "print every key of a configuration (docs/configuration.md)");
  info_command->add_flag("--json", info_arguments->json, "print JSON");
  info_command->callback([info_arguments] { info(*info_arguments); });
}

}  // namespace lifeguard
