#include "lifeguard/safety/sets/closed_loop.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/ranges.hpp"
#include "bindings/text_state.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/closed_loop_task.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/saved_closed_loop.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"

namespace lifeguard::python {
namespace {

using Corners = std::vector<std::tuple<std::string, Eigen::MatrixXd, Eigen::MatrixXd>>;
using Named = std::vector<std::pair<std::string, Eigen::MatrixXd>>;

std::vector<UncertainPlant::Corner> corners_of(const Corners& corners) {
  std::vector<UncertainPlant::Corner> result;
  for (const auto& [name, a, b] : corners) result.push_back({name, a, b});
  return result;
}

PlantStatement statement_of(const std::string& statement) {
  require(statement == "linear" || statement == "nonlinear", "statement", statement,
          "must be \"linear\" or \"nonlinear\"");
  return statement == "linear" ? PlantStatement::linear : PlantStatement::nonlinear;
}

const char* text_of(PlantStatement statement) {
  return statement == PlantStatement::linear ? "linear" : "nonlinear";
}

UncertainPlant plant_with(const Corners& corners, const Eigen::VectorXd& state_limits,
                          const Eigen::VectorXd& action_limits) {
  UncertainPlant plant;
  plant.corners = corners_of(corners);
  plant.state_limits = state_limits;
  plant.action_directions = Eigen::MatrixXd::Identity(action_limits.size(), action_limits.size());
  plant.action_limits = action_limits;
  for (Eigen::Index a = 0; a < action_limits.size(); ++a) {
    plant.action_limit_names.push_back(fmt::format("action {}", a + 1));
  }
  plant.validate();
  return plant.with_sizes();
}

InclusionSettings inclusion_settings(const Task& task, const std::string& statement,
                                     const Ranges& ranges,
                                     const std::map<std::string, double>& tolerances,
                                     const std::optional<Eigen::VectorXd>& state_limits,
                                     const std::optional<Eigen::VectorXd>& action_limits) {
  InclusionSettings settings;
  settings.statement = statement_of(statement);
  settings.ranges = to_ranges(ranges);
  for (const auto& [name, share] : tolerances) {
    const std::vector<std::string> one = {name};
    for (ParameterRange& range : tolerance(task, one, share)) {
      settings.ranges.push_back(std::move(range));
    }
  }
  if (state_limits) settings.state_limits = *state_limits;
  if (action_limits) settings.action_limits = *action_limits;
  return settings;
}

ClosedLoopSettings loop_settings(double decay, const Eigen::VectorXd& start_low,
                                 const Eigen::VectorXd& start_high, double least_start_share,
                                 const std::optional<Eigen::VectorXd>& noise_limits,
                                 const Named& required,
                                 const std::optional<Eigen::MatrixXd>& anchor) {
  ClosedLoopSettings settings;
  settings.decay = decay;
  settings.start_low = start_low;
  settings.start_high = start_high;
  settings.least_start_share = least_start_share;
  if (noise_limits) settings.noise_limits = *noise_limits;
  for (const auto& [name, gains] : required) settings.required_gains.push_back({name, gains});
  settings.anchor = anchor;
  return settings;
}

/// The closed loop, or an InvalidInput that says what stands in the way.
std::shared_ptr<ClosedLoop> made(const UncertainPlant& plant, const ClosedLoopSettings& settings,
                                 double seconds) {
  ClosedLoopResult result = Interrupt().run_until(seconds, [&](const Deadline& deadline) {
    return make_closed_loop(plant, settings, deadline);
  });
  require(result.status == ClosedLoopStatus::found, "closed_loop", to_string(result.status),
          result.message);
  return std::make_shared<ClosedLoop>(std::move(*result.closed_loop));
}

std::shared_ptr<ClosedLoop> made_for_task(
    const Task& task, const Corners& corners, const std::string& statement, const Ranges& ranges,
    const std::map<std::string, double>& tolerances, const std::string& room, double decay,
    const std::optional<Eigen::VectorXd>& start_low,
    const std::optional<Eigen::VectorXd>& start_high, double least_start_share,
    const std::optional<Eigen::VectorXd>& state_limits,
    const std::optional<Eigen::VectorXd>& action_limits,
    const std::optional<Eigen::VectorXd>& noise_limits, const Named& required,
    const std::optional<Eigen::MatrixXd>& anchor) {
  ClosedLoopTask asked;
  asked.machine = task;
  asked.inclusion = inclusion_settings(task, corners.empty() ? statement : "linear", ranges,
                                       tolerances, state_limits, action_limits);
  asked.corners = corners_of(corners);
  require(room == "none" || room == "nominal" || room == "corners", "room", room,
          "must be \"none\", \"nominal\" or \"corners\"");
  asked.room = room == "none"      ? ClosedLoopRoom::none
               : room == "nominal" ? ClosedLoopRoom::nominal
                                   : ClosedLoopRoom::corners;
  const Eigen::VectorXd low =
      start_low ? *start_low : Eigen::VectorXd(task.settings.start_low - task.settings.goal);
  const Eigen::VectorXd high =
      start_high ? *start_high : Eigen::VectorXd(task.settings.start_high - task.settings.goal);
  asked.settings =
      loop_settings(decay, low, high, least_start_share, noise_limits, required, anchor);
  const std::shared_ptr<const ClosedLoop> found = Interrupt().run_until(
      kInfinity, [&](const Deadline& deadline) { return solve_closed_loop(asked, deadline); });
  return std::make_shared<ClosedLoop>(*found);
}

std::vector<std::string> findings(const ClosedLoop& closed_loop) {
  std::vector<std::string> messages;
  const nb::gil_scoped_release release;
  for (const ClosedLoopFinding& finding : check_closed_loop(closed_loop)) {
    messages.push_back(finding.message);
  }
  return messages;
}

Corners corners_to_tuples(const UncertainPlant& plant);

/// All that an uncertain plant is: corners, channels, limits of states, limits of actions,
/// statement.
using PlantState =
    std::tuple<Corners, std::vector<Eigen::MatrixXd>, Eigen::VectorXd, Eigen::MatrixXd,
               Eigen::VectorXd, std::vector<std::string>, std::string>;

PlantState state_of_plant(const UncertainPlant& p) {
  return {corners_to_tuples(p), {p.spreads, p.state_factors, p.action_factors},
          p.state_limits,       p.action_directions,
          p.action_limits,      p.action_limit_names,
          text_of(p.statement)};
}

UncertainPlant plant_of(const PlantState& state) {
  const auto& [corners, channels, state_limits, directions, action_limits, names, statement] =
      state;
  require_size("channels", static_cast<long>(channels.size()), 3);
  UncertainPlant plant;
  plant.corners = corners_of(corners);
  plant.spreads = channels[0];
  plant.state_factors = channels[1];
  plant.action_factors = channels[2];
  plant.state_limits = state_limits;
  plant.action_directions = directions;
  plant.action_limits = action_limits;
  plant.action_limit_names = names;
  plant.statement = statement_of(statement);
  plant.validate();
  return plant;
}

Corners corners_to_tuples(const UncertainPlant& plant) {
  Corners result;
  for (const UncertainPlant::Corner& corner : plant.corners) {
    result.emplace_back(corner.name, corner.a, corner.b);
  }
  return result;
}

}  // namespace

void bind_closed_loops(nb::module_& module) {
  nb::class_<UncertainPlant>(
      module, "UncertainPlant",
      doc("UncertainPlant", "\nCorners are a list of (name, A, B); an infinite limit is none."))
      .def(
          "__init__",
          [](UncertainPlant* self, const Corners& corners, const Eigen::VectorXd& state_limits,
             const Eigen::VectorXd& action_limits) {
            new (self) UncertainPlant(plant_with(corners, state_limits, action_limits));
          },
          "corners"_a, "state_limits"_a, "action_limits"_a)
      .def_prop_ro("corners", &corners_to_tuples)
      .def_prop_ro("states", &UncertainPlant::states)
      .def_prop_ro("actions", &UncertainPlant::actions)
      .def_prop_ro("channels", &UncertainPlant::channels)
      .def_prop_ro("state_limits",
                   [](const UncertainPlant& p) { return Eigen::VectorXd(p.state_limits); })
      .def_prop_ro("action_limits",
                   [](const UncertainPlant& p) { return Eigen::VectorXd(p.action_limits); })
      .def_prop_ro("statement", [](const UncertainPlant& p) { return text_of(p.statement); })
      .def(nb::self == nb::self)
      .def("__getstate__", &state_of_plant)
      .def("__setstate__",
           [](UncertainPlant& self, const PlantState& state) {
             new (&self) UncertainPlant(plant_of(state));
           })
      .def("__repr__", [](const UncertainPlant& p) {
        return fmt::format("<UncertainPlant: {} corners, {} states, {} actions, {}>",
                           p.corners.size(), p.states(), p.actions(), text_of(p.statement));
      });

  module.def(
      "inclusion",
      [](const Task& task, const Ranges& ranges, const std::map<std::string, double>& tolerances,
         const std::string& statement, const std::optional<Eigen::VectorXd>& state_limits,
         const std::optional<Eigen::VectorXd>& action_limits) {
        return inclusion(task, inclusion_settings(task, statement, ranges, tolerances, state_limits,
                                                  action_limits));
      },
      "task"_a, "ranges"_a = Ranges{}, "tolerances"_a = std::map<std::string, double>{},
      "statement"_a = "nonlinear", "state_limits"_a = nb::none(), "action_limits"_a = nb::none(),
      doc("inclusion", "\n`tolerances` are shares by parameter."));
  module.def(
      "linearised_plant",
      [](const Task& task, const Ranges& ranges, const std::map<std::string, double>& tolerances,
         const std::optional<Eigen::VectorXd>& state_limits,
         const std::optional<Eigen::VectorXd>& action_limits) {
        return linearised_plant(task, inclusion_settings(task, "linear", ranges, tolerances,
                                                         state_limits, action_limits));
      },
      "task"_a, "ranges"_a = Ranges{}, "tolerances"_a = std::map<std::string, double>{},
      "state_limits"_a = nb::none(), "action_limits"_a = nb::none(), doc("linearised_plant"));

  nb::class_<ClosedLoop>(module, "ClosedLoop", doc("ClosedLoop"))
      .def_prop_ro("plant", [](const ClosedLoop& c) { return c.plant; })
      .def_ro("decay", &ClosedLoop::decay, doc("ClosedLoop::decay"))
      .def_prop_ro(
          "p", [](const ClosedLoop& c) { return Eigen::MatrixXd(c.p); }, doc("ClosedLoop::p"))
      .def_prop_ro(
          "start_low", [](const ClosedLoop& c) { return Eigen::VectorXd(c.start_low); },
          doc("ClosedLoop::start_low"))
      .def_prop_ro("start_high", [](const ClosedLoop& c) { return Eigen::VectorXd(c.start_high); })
      .def_ro("start_share", &ClosedLoop::start_share, doc("ClosedLoop::start_share"))
      .def_prop_ro("noise_limits",
                   [](const ClosedLoop& c) { return Eigen::VectorXd(c.noise_limits); })
      .def_prop_ro(
          "anchor", [](const ClosedLoop& c) { return Eigen::MatrixXd(c.anchor); },
          doc("ClosedLoop::anchor", " Actions × states."))
      .def_prop_ro("inequalities", &ClosedLoop::inequalities, doc("ClosedLoop::inequalities"))
      .def("guarantees", &ClosedLoop::guarantees, "deviation"_a, doc("ClosedLoop::guarantees"))
      .def("largest_ratio", &ClosedLoop::largest_ratio, "gains"_a, doc("ClosedLoop::largest_ratio"))
      .def("safe_set", &closed_loop_set, doc("closed_loop_set"))
      .def("findings", &findings,
           doc("check_closed_loop",
               "\nThe result says in words what does not hold; empty: all holds."))
      .def(nb::self == nb::self)
      .def("__getstate__",
           [](const ClosedLoop& c) {
             return written_state([&](StateWriter& writer) { write_closed_loop(writer, c); });
           })
      .def("__setstate__",
           [](ClosedLoop& self, const std::string& state) {
             new (&self) ClosedLoop(
                 read_state(state, [](StateReader& reader) { return read_closed_loop(reader); }));
           })
      .def("__repr__", [](const ClosedLoop& c) {
        return fmt::format("<ClosedLoop: {} inequalities, decay {}, {:.0f} % of the start box>",
                           c.inequalities().size(), c.decay, 100 * c.start_share);
      });

  module.def(
      "make_closed_loop",
      [](const UncertainPlant& plant, double decay, const Eigen::VectorXd& start_low,
         const Eigen::VectorXd& start_high, double least_start_share,
         const std::optional<Eigen::VectorXd>& noise_limits, const Named& required,
         const std::optional<Eigen::MatrixXd>& anchor, double seconds) {
        return made(plant,
                    loop_settings(decay, start_low, start_high, least_start_share, noise_limits,
                                  required, anchor),
                    seconds);
      },
      "plant"_a, nb::kw_only(), "decay"_a = 0.99, "start_low"_a, "start_high"_a,
      "least_start_share"_a = 1.0, "noise_limits"_a = nb::none(), "required_gains"_a = Named{},
      "anchor"_a = nb::none(), "seconds"_a = kInfinity,
      doc("make_closed_loop",
          "\nIf there is no such set, InvalidInput says what would be feasible."));
  module.def(
      "closed_loop_for", &made_for_task, "task"_a, nb::kw_only(), "corners"_a = Corners{},
      "statement"_a = "nonlinear", "ranges"_a = Ranges{},
      "tolerances"_a = std::map<std::string, double>{}, "room"_a = "corners", "decay"_a = 0.99,
      "start_low"_a = nb::none(), "start_high"_a = nb::none(), "least_start_share"_a = 1.0,
      "state_limits"_a = nb::none(), "action_limits"_a = nb::none(), "noise_limits"_a = nb::none(),
      "required_gains"_a = Named{}, "anchor"_a = nb::none(),
      "The closed-loop set of a task as a configuration asks for it; raises InvalidInput that "
      "says what would be feasible. `corners`, a list of "
      "(name, A, B), take the place of a built-in system's inclusion: for a user's own system.");
}

}  // namespace lifeguard::python
