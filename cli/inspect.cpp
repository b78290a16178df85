#include "cli/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/failure.hpp"
#include "cli/incident_lines.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/stop.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run_beliefs.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/systems/signal_text.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

struct CheckArguments {
  std::vector<std::string> runs;
  bool replay = false;
  bool json = false;
};

std::string_view verdict_of(const RunCheck& result) {
  if (!result.findings.empty()) return "DOES NOT HOLD";
  return result.not_checked.empty() ? "all holds" : "all that can be checked here holds";
}

void check(const CheckArguments& arguments) {
  bool all_hold = true;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& path : arguments.runs) {
    CheckOptions options;
    options.replay = arguments.replay;
    options.work.stop = stop_token();
    const RunCheck result = check_run(path, options);
    all_hold = all_hold && result.findings.empty();
    if (arguments.json) {
      nlohmann::ordered_json entry;
      entry["run"] = path;
      entry["method"] = result.method;
      entry["rounds"] = result.rounds;
      entry["policies"] = result.policies;
      entry["issues"] = result.issues;
      entry["evaluations"] = result.evaluations;
      entry["bounds"] = result.bounds;
      entry["lemmas"] = result.lemmas;
      entry["checksums_checked"] = result.checksums_checked;
      entry["certificate_checked"] = result.certificate_checked;
      entry["replayed"] = result.replayed;
      entry["not_checked"] = result.not_checked;
      entry["holds"] = result.findings.empty();
      entry["findings"] = result.findings;
      json.push_back(std::move(entry));
      continue;
    }
    put("{}: {}\n", path, verdict_of(result));
    put("  {} policies played in {} rounds, each against its constraints in exact arithmetic\n",
        result.policies, result.rounds);
    if (result.evaluations > 0) {
      put("  what {} evaluations said of policies that are known, by evaluating them again\n",
          result.evaluations);
    }
    if (result.bounds > 0) {
      put("  the regret of {} rounds, against the theorem's bound\n", result.bounds);
    }
    if (result.lemmas > 0) {
      put("  the quantities of the paper's Lemmas 1 to 4, against their bounds in {} rounds\n",
          result.lemmas);
    }
    if (result.certificate_checked) {
      put("  the certificate of the last round, against the stored learner\n");
    }
    if (result.checksums_checked) {
      put("  every row and the state, against their checksums\n");
    }
    if (result.issues > 0) {
      put("  {} policies that were handed out, each against its constraints in exact arithmetic\n",
          result.issues);
    }
    if (arguments.replay && !result.replayed) {
      put("  not played again: its trajectories came from outside\n");
    }
    if (result.replayed) put("  every number of every round, by playing it again\n");
    if (!result.not_checked.empty()) put("  not checked: {}\n", result.not_checked);
    for (const std::string& finding : result.findings) put("  ! {}\n", finding);
  }
  if (arguments.json) print_json(json);
  if (!all_hold) throw Exit{kUnsafe};
}

struct PolicyArguments {
  std::string run;
  std::string task = "0";
  std::string learns_into;
  std::string header;
  std::string c_header;
  bool json = false;
};

/// Of a run, or what a machine of a fleet shall play next.
ExportedPolicy find_policy(const PolicyArguments& arguments) {
  if (std::filesystem::path(arguments.run).extension() != ".toml") {
    require(arguments.learns_into.empty(), "--run", arguments.learns_into,
            "must not be given: this is a run file already");
    return export_policy(RunView(arguments.run), arguments.task);
  }
  require(!arguments.task.empty() && arguments.task != "0", "--machine", "(none)",
          "must be the name of a machine of the fleet");
  when_stopped(kStopped, [] { return std::string(); });
  LongWork work;
  work.stop = stop_token();
  try {
    FleetRun fleet(load_config(arguments.run),
                   arguments.learns_into.empty() ? FleetRun::default_run_file(arguments.run)
                                                 : std::filesystem::path(arguments.learns_into),
                   work);
    return fleet.policy(arguments.task);
  } catch (const RunFileFull& error) {
    end_without_room(error);
  }
}

void export_one(const PolicyArguments& arguments) {
  const ExportedPolicy policy = find_policy(arguments);
  bool written = false;
  const auto write_header = [&](const std::string& file, HeaderLanguage language) {
    if (file.empty()) return;
    write_file(file, policy_to_header(policy, language));
    say("{} written", file);
    written = true;
  };
  write_header(arguments.header, HeaderLanguage::cpp);
  write_header(arguments.c_header, HeaderLanguage::c99);
  if (!written || arguments.json) print_json(policy_to_json(policy));
}

struct InfoArguments {
  std::string what;
  bool keys = false;
  bool json = false;
};

using SettingValues = std::vector<std::pair<std::string, std::string>>;

nlohmann::ordered_json values_json(const SettingValues& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : values) json[key] = value;
  return json;
}

std::vector<std::string> signal_texts(const std::vector<Signal>& signals) {
  std::vector<std::string> texts;
  for (const Signal& signal : signals) texts.push_back(signal_text(signal));
  return texts;
}

nlohmann::ordered_json knowledge_json(const KnowledgeSummary& knowledge) {
  const auto parts = [](const std::vector<DirectionSummary::Part>& all) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& [name, share] : all) list.push_back({{"name", name}, {"share", share}});
    return list;
  };
  nlohmann::ordered_json json = {{"directions", knowledge.directions},
                                 {"effective_directions", knowledge.effective}};
  for (const DirectionSummary& direction : knowledge.first) {
    json["first"].push_back({{"explained", direction.explained},
                             {"inputs", parts(direction.inputs)},
                             {"gains", parts(direction.gains)}});
  }
  return json;
}

void info_of_run(const std::string& path, bool json) {
  const RunView view(path);
  const RunHeader& header = view.header;
  const StoredExperiment& experiment = header.experiment;
  const RunSummary summary = summarise(view);
  const SystemDescription system =
      view.tasks.empty() ? SystemDescription{} : describe(view.tasks.front().system);
  if (json) {
    nlohmann::ordered_json result = summary_to_json(summary);
    result["schema_version"] = header.schema_version;
    result["lifeguard_version"] = header.lifeguard_version;
    result["planned_rounds"] =
        header.observed ? nlohmann::ordered_json() : nlohmann::ordered_json(experiment.rounds);
    result["observed"] = header.observed;
    result["k"] = experiment.k;  // 0 for methods without a basis
    if (const auto knowledge = summarise_knowledge(view)) {
      result["knowledge"] = knowledge_json(*knowledge);
    }
    result["states"] = signal_texts(system.states);
    result["actions"] = signal_texts(system.actions);
    result["settings"] = values_json(view.settings);
    print_json(result);
    return;
  }
  put("{}\n", path);
  put("  experiment  {} ({})\n", experiment.name, experiment.family);
  if (!view.tasks.empty()) {
    put("  states      {}\n", signals_text(system.states));
    if (!system.features.empty()) put("  features    {}\n", signals_text(system.features));
    put("  actions     {}\n", signals_text(system.actions));
  }
  put("  method      {}, seed {}\n", experiment.method, experiment.seed);
  if (header.observed) {
    put("  rounds      {}, learnt from outside by {} machines\n", header.rounds_done,
        view.tasks.size());
  } else {
    put("  rounds      {} of {}{}\n", header.rounds_done, experiment.rounds,
        header.finished                        ? ""
        : header.lifeguard_version == kVersion ? "; `lifeguard resume` goes on"
                                               : "; only the version it was begun with goes on");
  }
  if (summary.costs.empty()) {
    put("  mean cost   not evaluated yet\n");
  } else {
    put("  mean cost   {:.6g} -> {:.6g}\n", summary.initial_cost(), summary.final_cost());
  }
  if (summary.constrained) {
    put("  safety      {} unsafe policies of {}\n", summary.unsafe_policies,
        summary.policies_handed_out);
  }
  put_incident_lines(summary, 12);
  if (summary.fallbacks > 0) {
    put("  fallbacks   {} times the anchor in place of a policy\n", summary.fallbacks);
  }
  if (!summary.regret.empty()) {
    const StoredRegret& last = summary.regret.back();
    put("  regret      {:.6g} of the losses{}\n", last.surrogate,
        std::isnan(last.true_cost) ? "" : fmt::format(", {:.6g} of the true cost", last.true_cost));
  }
  if (!summary.regret.empty() && summary.regret.back().bounded()) {
    const StoredRegret& last = summary.regret.back();
    put("  bound       {:.6g} ({:.6g} prior, {:.6g} rounds, {:.6g} off the leader{})\n", last.bound,
        last.bound_prior, last.bound_rounds, last.bound_off_leader,
        last.bound_changes == 0 ? "" : fmt::format(", {:.6g} changes", last.bound_changes));
    put("  knowledge   a leader is held to {:.6g} with it, to {:.6g} without\n",
        last.bound_of_leader(), last.bound_without_knowledge);
  }
  if (const auto knowledge = summarise_knowledge(view)) {
    put("  tasks       differ most in {}\n", knowledge->first.front().words());
    put("  directions  {:.1f} of {} in effect; the first explains {:.0f} % of the differences\n",
        knowledge->effective, knowledge->directions, 100 * knowledge->first.front().explained);
  }
  if (summary.theorem) {
    put("  paper       Lemmas 1 to 4 use {:.2g} of their bounds; the regret's is {:.2g}\n",
        fmt::join(summary.theorem->worst_ratios, ", "), summary.theorem->regret_bound);
  }
  put("  written by  lifeguard {}, schema {}\n", header.lifeguard_version, header.schema_version);
}

void info(const InfoArguments& arguments) {
  if (arguments.keys) {
    put("{}", configuration_reference());
    return;
  }
  if (!arguments.what.empty() && std::filesystem::path(arguments.what).extension() == ".toml") {
    const ExperimentConfig config = load_config(arguments.what);
    if (arguments.json) {
      print_json(values_json(effective_values(config)));
    } else {
      for (const auto& [key, value] : effective_values(config)) {
        put("{:<36} {}\n", key, value);
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
    print_json(json);
    return;
  }
  put("lifeguard {} ({})\n", kVersion, current_simd_target());
  put("families  {}\n", fmt::join(family_names(), ", "));
  put("methods   {}\n", fmt::join(method_names(), ", "));
  put("`lifeguard info RUN` describes a run file, `lifeguard info CONFIG.toml` lists every\n"
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
      "policy",
      "What to play: the policy of a task or machine as JSON, or as a header for a controller");
  policy_command
      ->add_option("run", policy_arguments->run,
                   "a run file, or the TOML file of a fleet that learns from outside")
      ->required();
  CLI::Option* task =
      policy_command->add_option("--task", policy_arguments->task, "name or number of the task");
  task->capture_default_str();
  policy_command
      ->add_option("--machine", policy_arguments->task, "the same of a fleet: a machine's name")
      ->excludes(task);
  add_path(*policy_command, "--run", policy_arguments->learns_into,
           "the fleet's run file (its name with .run if left out)");
  add_path(*policy_command, "--header", policy_arguments->header,
           "write a self-contained C++ header to this file");
  add_path(*policy_command, "--c-header", policy_arguments->c_header,
           "write a self-contained C99 header to this file");
  policy_command->add_flag("--json", policy_arguments->json,
                           "print JSON, also when a header is written");
  policy_command->callback([policy_arguments] { export_one(*policy_arguments); });

  auto info_arguments = std::make_shared<InfoArguments>();
  CLI::App* info_command =
      app.add_subcommand("info", "Describe a run file, a configuration, or this lifeguard");
  add_path(*info_command, "what", info_arguments->what, "a run file or a TOML configuration");
  info_command->add_flag("--keys", info_arguments->keys,
                         "print every key of a configuration (docs/configuration.md)");
  info_command->add_flag("--json", info_arguments->json, "print JSON");
  info_command->callback([info_arguments] { info(*info_arguments); });
}

}  // namespace lifeguard
