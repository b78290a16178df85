#include "lifeguard/runs/fleet_template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {
namespace {

constexpr std::string_view kIntroduction =
    R"(# A fleet: what is known of your machines, and what they must never do. docs/fleets.md explains
# every key. `lifeguard validate FILE` says what is understood of it.

[experiment]
name = "my-fleet"
steps = 150 # of each trajectory; a recording that finished has just as many

)";

constexpr std::string_view kMachines = R"(
# One table for each machine. What [fleet] and [safe_set] say holds unless the machine says
# otherwise.
[[machine]]
name = "first"
notes = "as it came out of the box"
)";

constexpr std::string_view kLinear = R"([fleet]
system = "linear" # x⁺ - goal = A (x - goal) + B u, one step of dt

[fleet.model]
states = ["position [m]", "speed [m/s]"]
actions = ["force [N]"]
a = [[1.0, 0.01], [0.0, 0.999]]
b = [[0.0], [0.01]]

[fleet.tolerance] # of entries (row, column), as shares of their values or [low, high]
b_2_1 = 0.1

[fleet.settings]
dt_seconds = 0.01
start_low = [-1.0, -0.5]
start_high = [1.0, 0.5]
state_weights = [1.0, 0.1] # cost of a step: Σ w (x - goal)² + Σ v u²
action_weights = [0.1]
action_low = [-20.0]
action_high = [20.0]
failure_bounds = [5.0, 20.0]
sigma = 0.1       # standard deviation of the exploration noise
noise_limit = 0.2 # at which it is clipped

[safe_set.closed_loop] # every policy keeps the machine inside, whatever it is within its tolerance
decay = 0.998      # by which the distance from the goal shrinks at least in each step
start_share = 0.5  # the part of the start box that must be guaranteed at least
state_limits = [3.0, 10.0]
)";

constexpr std::string_view kExternal = R"([fleet]
system = "external" # nothing to simulate: trajectories come from the machine

[fleet.model]
states = ["position [m]", "speed [m/s]"] # what it records, and what its policy sees
actions = ["force [N]"]

[fleet.settings]
dt_seconds = 0.01
state_weights = [1.0, 0.1] # cost of a step: Σ w (x - goal)² + Σ v u², unless it is recorded
action_weights = [0.1]
action_low = [-20.0]
action_high = [20.0]
failure_bounds = [5.0, 20.0]
sigma = 0.1       # standard deviation of the exploration noise
noise_limit = 0.2 # at which it is clipped

[safe_set.gain_box] # its gains stay inside; with linear models of it, [safe_set.closed_loop] and
lower = [-5.0, -5.0] # its corners keep the machine itself inside its limits
upper = [0.5, 0.5]
)";

std::string parameter_lines(const SystemDescription& system) {
  std::string text;
  for (const ParameterDescription& p : system.parameters) {
    text += fmt::format("{} = {} # {}: {}\n", p.name, p.value, p.unit == "1" ? "no unit" : p.unit,
                        p.meaning);
  }
  return text.empty() ? "" : "[fleet.parameters]\n" + text + "\n";
}

std::string signal_list(const std::vector<Signal>& signals) {
  std::vector<std::string> names;
  for (const Signal& s : signals) names.push_back(fmt::format("{} [{}]", s.name, s.unit));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string registered_template(std::string_view name) {
  const System system = system_by_name(name);
  const SystemDescription about = describe(system);
  std::string text = fmt::format("[fleet]\nsystem = \"{}\"{}\n# states: {}\n# actions: {}\n\n",
                                 name, about.meaning.empty() ? "" : " # " + about.meaning,
                                 signal_list(about.states), signal_list(about.actions));
  text += parameter_lines(about);
  if (!about.fleet_example.empty()) return text + about.fleet_example;
  text += "# [fleet.settings] has the start box, limits and weights: docs/systems.md\n\n";
  const Task task = make_task("machine", system);
  if (find_lqr_policy_gains(task)) {
    return text +
           "[safe_set.lqr_box] # each gain between -1 and 2 times that of the LQR controller\n"
           "reach = 2.0\n";
  }
  return text + "[safe_set.gain_box] # gains stay inside\nlower = -1.0\nupper = 1.0\n";
}

}  // namespace

std::vector<std::string> fleet_systems() {
  std::vector<std::string> names = system_names();
  names.insert(names.end(), {"linear", "external"});
  return names;
}

std::string fleet_template(std::string_view system) {
  const std::vector<std::string> known = fleet_systems();
  require(std::find(known.begin(), known.end(), system) != known.end(), "system", system,
          fmt::format("must be one of {}", fmt::join(known, ", ")));
  const bool linear = system == "linear";
  const bool external = system == "external";
  std::string text(kIntroduction);
  text += linear     ? std::string(kLinear)
          : external ? std::string(kExternal)
                     : registered_template(system);
  text += kMachines;
  const std::vector<ParameterDescription> parameters =
      linear || external ? std::vector<ParameterDescription>()
                         : describe(system_by_name(system)).parameters;
  text += "\n[[machine]]\nname = \"second\"\n";
  if (!parameters.empty()) {
    text +=
        fmt::format("[machine.parameters] # what is other than in [fleet.parameters]\n{} = {}\n",
                    parameters.front().name, parameters.front().value);
  }
  return text;
}

}  // namespace lifeguard
