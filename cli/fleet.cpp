#include "cli/fleet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/failure.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/stop.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/fleet_report.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/fleet_template.hpp"
#include "lifeguard/runs/input_file.hpp"
#include "lifeguard/runs/number_list.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {
namespace {

struct InitArguments {
  std::string system;
  std::string out;
};

void init(const InitArguments& arguments) {
  std::string text = fleet_template(arguments.system);
  // A fleet of its own has a name of its own: that of its file, if it can be one.
  const std::string name = std::filesystem::path(arguments.out).stem().string();
  const bool usable = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  if (usable) text.replace(text.find("my-fleet"), std::string_view("my-fleet").size(), name);
  if (arguments.out.empty()) {
    put("{}", text);
    return;
  }
  require(!std::filesystem::exists(arguments.out), "--out", arguments.out,
          "exists already; choose another name");
  write_file(arguments.out, text);
  say("{} written; `lifeguard validate {}` says what is understood of it", arguments.out,
      arguments.out);
}

struct ValidateArguments {
  std::string fleet;
  bool all = false;
  bool json = false;
};

/// "position [-2, 2] m, speed [-1, 1] m/s"
std::string box_text(const std::vector<Signal>& states, const Eigen::VectorXd& low,
                     const Eigen::VectorXd& high) {
  std::vector<std::string> sides;
  for (Eigen::Index i = 0; i < low.size(); ++i) {
    const Signal& state = states[static_cast<std::size_t>(i)];
    sides.push_back(fmt::format("{} [{:.3g}, {:.3g}]{}", state.name, low(i), high(i),
                                state.unit == "1" ? "" : " " + state.unit));
  }
  return fmt::format("{}", fmt::join(sides, ", "));
}

/// "position 3 m, pole angle 0.6 rad": those that have a limit.
std::string limits_text(const std::vector<Signal>& states, const Eigen::VectorXd& limits) {
  std::vector<std::string> texts;
  for (Eigen::Index i = 0; i < limits.size(); ++i) {
    if (!std::isfinite(limits(i))) continue;
    const Signal& state = states[static_cast<std::size_t>(i)];
    texts.push_back(fmt::format("{} {}", state.name, value_text(limits(i), state)));
  }
  return texts.empty() ? "no limits" : fmt::format("{}", fmt::join(texts, ", "));
}

/// "force 0.1 N, at most 0.2 N"
std::string noise_text(const MachineReport& machine) {
  std::vector<std::string> texts;
  for (std::size_t a = 0; a < machine.actions.size(); ++a) {
    const Signal& action = machine.actions[a];
    const auto place = static_cast<Eigen::Index>(a);
    const double limit = machine.noise_limit.of(place);
    texts.push_back(fmt::format("{} {}", action.name, value_text(machine.sigma.of(place), action)) +
                    (std::isfinite(limit) ? ", at most " + value_text(limit, action) : ""));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

void print_machine(const MachineReport& machine) {
  put("\n{} ({}){}\n", machine.name, machine.system, machine.retired ? ", retired" : "");
  if (!machine.problem.empty()) put("  ! cannot be used: {}\n", machine.problem);
  for (std::size_t i = 0; i < machine.tolerances.size(); ++i) {
    const ParameterRange& range = machine.tolerances[i];
    const std::string& unit = machine.tolerance_units[i];
    put("  {:<14}{} in [{:.6g}, {:.6g}]{}\n", "tolerance", range.parameter, range.low, range.high,
        unit.empty() || unit == "1" ? "" : " " + unit);
  }
  put("  {:<14}{}\n", "noise", noise_text(machine));
  if (machine.not_solved) put("  {:<14}not looked for\n", "closed loop");
  if (machine.problem.empty() && !machine.not_solved) {
    if (machine.constraints > 0) {
      put("  {:<14}{} constraints; the first policy keeps \"{}\"{} by {:.3g}\n", "safe set",
          machine.constraints, machine.nearest,
          machine.nearest_meaning.empty() ? "" : fmt::format(" ({})", machine.nearest_meaning),
          machine.margin);
    }
    if (!std::isnan(machine.decay)) {
      put("  {:<14}λ = {:.4g}, for the {} machine, {:.0f} % of the start box\n", "closed loop",
          machine.decay, machine.nonlinear ? "nonlinear" : "linear", 100 * machine.start_share);
      put("  {:<14}{}\n", "starts in",
          box_text(machine.states, machine.start_low, machine.start_high));
      put("  {:<14}{} from the goal\n", "stays within",
          limits_text(machine.states, machine.state_limits));
    }
    put("  {:<14}{}\n", "first policy", machine.first_policy);
  }
  for (const std::string& lack : machine.missing) put("  {:<14}{}\n", "note", lack);
}

void validate(const ValidateArguments& arguments) {
  constexpr std::size_t kShown = 20;
  when_stopped(kStopped, [] { return std::string(); });
  Progress progress(false);
  const ExperimentConfig config = load_config(arguments.fleet);
  // Each takes a part of a second; what the file says is read for all of them.
  constexpr std::size_t kSolved = 10;
  const FleetReport report = arguments.all ? report_fleet(config, progress.work())
                                           : report_fleet(config, progress.work(), kSolved);
  progress.finish();
  if (arguments.json) {
    print_json(fleet_report_to_json(report));
  } else {
    std::size_t good = 0;
    for (const MachineReport& m : report.machines) good += m.problem.empty() ? 1U : 0U;
    put("{}: {} machines, {} can be used; policies have {} gains: {}\n", report.name,
        report.machines.size(), good, report.gains.size(), fmt::join(report.gains, ", "));
    std::size_t shown = 0;
    for (const MachineReport& machine : report.machines) {
      // What is wrong is always shown.
      if (!arguments.all && shown >= kShown && machine.problem.empty()) continue;
      print_machine(machine);
      ++shown;
    }
    const auto unsolved = std::count_if(report.machines.begin(), report.machines.end(),
                                        [](const MachineReport& m) { return m.not_solved; });
    if (unsolved > 0) {
      put("\n{} more closed loops were read but not looked for; --all does that, and takes as "
          "long\n"
          "as the first `lifeguard policy` will\n",
          unsolved);
    }
    if (shown < report.machines.size()) {
      put("\n… and {} more like these; --all shows them\n", report.machines.size() - shown);
    }
  }
  if (!report.usable()) throw Exit{kInvalidInput};
}

struct ObserveArguments {
  std::string fleet;
  std::string run;
  std::string machine;
  std::string file;
  std::optional<std::string> id;
  std::optional<std::string> policy;
  bool json = false;
};

/// A name that is given is one: a variable of a script that is empty is a mistake, and none at all
/// is something else.
void require_name_if_given(const char* option, const std::optional<std::string>& name) {
  constexpr std::size_t kLongest = 200;
  require(!name || (!name->empty() && name->size() <= kLongest), option, name.value_or(""),
          fmt::format("must have 1 to {} characters", kLongest));
}

void observe_once(const ObserveArguments& arguments) {
  when_stopped(kStopped, [] { return std::string(); });
  require_name_if_given("--id", arguments.id);
  require_name_if_given("--policy", arguments.policy);
  LongWork work;
  work.stop = stop_token();
  const RecordingFormat format = recording_format(arguments.file);
  const std::string text = read_input_file("file", arguments.file, kMostRecordingBytes);
  Recording recording =
      read_recording(text, format, std::filesystem::path(arguments.file).filename().string());
  const std::string policy = arguments.policy.value_or("");
  require(policy.empty() || recording.policy.empty() || recording.policy == policy, "--policy",
          policy, fmt::format("must be that of the file, {}", recording.policy));
  if (recording.policy.empty()) recording.policy = policy;
  Fingerprint digest;
  digest.add(std::string_view(text));
  FleetRun fleet(load_config(arguments.fleet),
                 arguments.run.empty() ? FleetRun::default_run_file(arguments.fleet)
                                       : std::filesystem::path(arguments.run),
                 work);
  const ObservedRound observed =
      fleet.observe(arguments.machine, recording,
                    {arguments.id.value_or(""),
                     std::filesystem::path(arguments.file).filename().string(), digest.hex()});
  if (arguments.json) {
    print_json(observed_to_json(observed, arguments.machine));
    return;
  }
  if (observed.repeated) {
    put("{}: these were round {} already, and were not counted again\n", arguments.machine,
        observed.round.round);
    return;
  }
  put("{}: round {}, visit {}, {} trajectories: {}\n", arguments.machine, observed.round.round,
      observed.round.visit, observed.observation.trajectories, to_string(observed.round.status));
  put("  mean cost     {:.6g}\n", observed.round.mean_cost);
  if (observed.round.falls + observed.round.violations + observed.round.saturations > 0) {
    put("  incidents     {} fell, {} left their limits, {} asked for more than an actuator has\n",
        observed.round.falls, observed.round.violations, observed.round.saturations);
  }
}

void observe(const ObserveArguments& arguments) {
  try {
    observe_once(arguments);
  } catch (const RunFileFull& error) {
    end_without_room(error);
  }
}

}  // namespace

void add_fleet_commands(CLI::App& app) {
  auto init_arguments = std::make_shared<InitArguments>();
  CLI::App* init_command =
      app.add_subcommand("init", "Write a fleet's file to begin with, every key explained");
  init_command
      ->add_option("system", init_arguments->system,
                   "what the machines are: a system, linear (a model in the file) or external")
      ->required();
  add_path(*init_command, "-o,--out", init_arguments->out,
           "the file to write; standard output if left out");
  init_command->callback([init_arguments] { init(*init_arguments); });

  auto validate_arguments = std::make_shared<ValidateArguments>();
  CLI::App* validate_command = app.add_subcommand(
      "validate", "Say what is understood of a fleet: machines, safe sets, what is missing");
  add_path(*validate_command, "fleet", validate_arguments->fleet, "the fleet's TOML file")
      ->required();
  validate_command->add_flag("--all", validate_arguments->all,
                             "look for every closed loop, show every machine");
  validate_command->add_flag("--json", validate_arguments->json, "print the report as JSON");
  validate_command->footer("Ends with 2 if a machine cannot be used.");
  validate_command->callback([validate_arguments] { validate(*validate_arguments); });

  auto observe_arguments = std::make_shared<ObserveArguments>();
  CLI::App* observe_command =
      app.add_subcommand("observe", "Learn one round from trajectories that a machine recorded");
  add_path(*observe_command, "fleet", observe_arguments->fleet, "the fleet's TOML file")
      ->required();
  add_path(*observe_command, "file", observe_arguments->file,
           "the trajectories: .csv or .jsonl (docs/trajectories.md)")
      ->required();
  observe_command->add_option("--machine", observe_arguments->machine, "which machine flew them")
      ->required();
  add_path(*observe_command, "--run", observe_arguments->run,
           "the run file to learn into (the fleet's name with .run if left out)");
  observe_command->add_option("--id", observe_arguments->id,
                              "a name of these trajectories; sent again they count once");
  observe_command->add_option(
      "--policy", observe_arguments->policy,
      "the fingerprint of the policy that was played, if the file has none");
  observe_command->add_flag("--json", observe_arguments->json, "print the round as JSON");
  observe_command->footer(
      "`lifeguard policy FLEET --machine NAME` says what to play. Trajectories that cannot come\n"
      "from a policy that was handed out are refused with the reason, and nothing is learnt.");
  observe_command->callback([observe_arguments] { observe(*observe_arguments); });
}

}  // namespace lifeguard
