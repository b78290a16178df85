#include "lifeguard/safety/sets/safe_set.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/text_state.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/safe_set_config.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/safety/sets/saved_closed_loop.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"
#include "lifeguard/systems/lqr.hpp"

namespace lifeguard::python {
namespace {

using Names = std::vector<std::string>;

void require_parameters_of(const SafeSet& set, const Eigen::VectorXd& parameters) {
  require_size("parameters", parameters.size(), set.parameters());
}

nb::dict feasibility(const SafeSet& set) {
  const FeasibilityResult result = Interrupt().run_until(
      kInfinity, [&](const Deadline& deadline) { return check_feasibility(set, deadline); });
  nb::dict given;
  given["status"] = to_string(result.status);
  given["strictly_feasible"] = result.status == FeasibilityStatus::strictly_feasible;
  given["point"] = result.point.size() > 0 ? nb::cast(result.point) : nb::none();
  given["radius"] = result.radius;
  given["message"] = result.message();
  given["contradicting_rows"] = result.contradiction.names;
  given["multipliers"] = result.contradiction.multipliers;
  return given;
}

std::vector<std::string> violations(const SafeSet& set, const Eigen::VectorXd& parameters) {
  require_parameters_of(set, parameters);
  std::vector<std::string> messages;
  for (const Finding& finding : check_policy(set, parameters)) messages.push_back(finding.message);
  return messages;
}

nb::dict margins_to_dict(const SafeSet& set, const Eigen::VectorXd& parameters) {
  require_parameters_of(set, parameters);
  const Margins found = margins(set, parameters);
  nb::dict rows;
  for (int i = 0; i < set.constraints(); ++i) rows[nb::cast(set.name(i))] = found.rows(i);
  nb::dict given;
  given["rows"] = rows;
  given["slack"] = found.slack;
  given["worst"] = found.worst();
  const int worst = found.worst_row();
  given["worst_row"] = worst < 0 ? nb::none() : nb::cast(set.name(worst));
  return given;
}

SafeSet set_from_toml(const std::string& toml, const Task& task, const Features& features) {
  // As a configuration with this one machine reads it, so that every table means the same.
  ExperimentConfig config;
  config.safe_set_toml = toml;
  config.features = features;
  config.family = Family{task.name, task.system, {}, task.settings};
  const nb::gil_scoped_release release;
  return safe_set_of(config, task);
}

/// Also what inequalities mean, which a set's own text does not have.
std::pair<std::string, std::vector<std::string>> set_state(const SafeSet& set) {
  std::vector<std::string> meanings;
  for (const auto& closed_loop : set.closed_loops()) {
    meanings.push_back(
        written_state([&](StateWriter& writer) { write_closed_loop(writer, *closed_loop); }));
  }
  return {written_state([&](StateWriter& writer) {
            writer.field("parameters", set.parameters());
            write_safe_set(writer, set);
          }),
          meanings};
}

SafeSet set_of(const std::pair<std::string, std::vector<std::string>>& state) {
  SafeSet set = read_state(state.first, [](StateReader& reader) {
    int parameters = 0;
    reader.field("parameters", parameters);
    return read_safe_set(reader, parameters);
  });
  if (!set.closed_loops().empty()) return set;
  for (const std::string& meaning : state.second) {
    set = set.with_meaning(std::make_shared<const ClosedLoop>(
        read_state(meaning, [](StateReader& reader) { return read_closed_loop(reader); })));
  }
  return set;
}

}  // namespace

void bind_safe_sets(nb::module_& module) {
  nb::class_<GainInequality>(module, "GainInequality", doc("GainInequality"))
      .def(nb::init<std::string, Eigen::MatrixXd, Eigen::MatrixXd>(), "name"_a, "theta"_a,
           "limit"_a, doc("GainInequality::GainInequality"))
      .def_prop_ro("name", &GainInequality::name)
      .def_prop_ro(
          "theta", [](const GainInequality& q) { return Eigen::MatrixXd(q.theta()); },
          doc("GainInequality::theta"))
      .def_prop_ro(
          "limit", [](const GainInequality& q) { return Eigen::MatrixXd(q.limit()); },
          doc("GainInequality::limit"))
      .def(
          "ratio",
          [](const GainInequality& q, const Eigen::VectorXd& parameters) {
            require_size("parameters", parameters.size(), q.parameters());
            return q.ratio(parameters);
          },
          "parameters"_a, doc("GainInequality::ratio"))
      .def(nb::self == nb::self)
      .def("__getstate__",
           [](const GainInequality& q) {
             return written_state([&](StateWriter& writer) { write_inequality(writer, q); });
           })
      .def("__setstate__", [](GainInequality& self, const std::string& state) {
        new (&self) GainInequality(
            read_state(state, [](StateReader& reader) { return read_inequality(reader); }));
      });

  nb::class_<SafeSet>(module, "SafeSet", doc("SafeSet"))
      .def(nb::init<int>(), "parameters"_a, doc("SafeSet::SafeSet"))
      .def(
          "__init__",
          [](SafeSet* self, const Eigen::MatrixXd& coefficients, const Eigen::VectorXd& limits,
             const Names& names, double slack_limit) {
            new (self) SafeSet(coefficients, limits, names_or_numbers(names, limits.size(), "row"),
                               slack_limit);
          },
          "coefficients"_a, "limits"_a, "names"_a = Names{}, "slack_limit"_a = kInfinity,
          doc("SafeSet::SafeSet#2"))
      .def_static("from_toml", &set_from_toml, "toml"_a, "task"_a, "features"_a = Features{},
                  "The safe set that the tables of a [safe_set] describe for this task; "
                  "docs/safe_sets.md lists the keys.")
      .def_prop_ro("parameters", &SafeSet::parameters)
      .def_prop_ro("rows", &SafeSet::rows)
      .def_prop_ro("constraints", &SafeSet::constraints, "Rows and matrix inequalities.")
      .def_prop_ro("constrained", &SafeSet::constrained, doc("SafeSet::constrained"))
      .def_prop_ro(
          "coefficients", [](const SafeSet& s) { return Eigen::MatrixXd(s.coefficients()); },
          doc("SafeSet::coefficients"))
      .def_prop_ro(
          "limits", [](const SafeSet& s) { return Eigen::VectorXd(s.limits()); }, "b.")
      .def_prop_ro(
          "names", [](const SafeSet& s) { return Names(s.names()); },
          "Names of the constraints, of the rows first.")
      .def_prop_ro("slack_limit", &SafeSet::slack_limit, doc("SafeSet::slack_limit"))
      .def_prop_ro("inequalities",
                   [](const SafeSet& s) { return std::vector<GainInequality>(s.inequalities()); })
      .def("with_slack_limit", &SafeSet::with_slack_limit, "slack_limit"_a,
           doc("SafeSet::with_slack_limit"))
      .def("with_inequalities", &SafeSet::with_inequalities, "inequalities"_a,
           doc("SafeSet::with_inequalities"))
      .def("margins", &margins_to_dict, "parameters"_a,
           doc("Margins", "\nThe result is {rows: {name: margin}, slack, worst, worst_row}."))
      .def(
          "obeys",
          [](const SafeSet& s, const Eigen::VectorXd& parameters) {
            require_parameters_of(s, parameters);
            return obeys_exactly(s, parameters);
          },
          "parameters"_a, doc("obeys_exactly"))
      .def(
          "strictly_safe",
          [](const SafeSet& s, const Eigen::VectorXd& parameters) {
            require_parameters_of(s, parameters);
            return strictly_safe(s, parameters);
          },
          "parameters"_a, doc("strictly_safe"))
      .def(
          "why_not_safe",
          [](const SafeSet& s, const Eigen::VectorXd& parameters) {
            require_parameters_of(s, parameters);
            return why_not_safe(s, parameters);
          },
          "parameters"_a, doc("why_not_safe"))
      .def("violations", &violations, "parameters"_a,
           doc("check_policy", "\nThe result says in words what does not hold; empty: all holds."))
      .def("feasibility", &feasibility, doc("check_feasibility"))
      .def_prop_ro(
          "bounded",
          [](const SafeSet& s) {
            return check_boundedness(s).status == BoundednessStatus::bounded;
          },
          doc("check_boundedness"))
      .def(
          "anchor",
          [](const SafeSet& s, const std::optional<Eigen::VectorXd>& given) -> nb::object {
            const Anchor anchor = choose_anchor(s, given);
            return anchor.source == AnchorSource::none ? nb::none() : nb::cast(anchor.parameters);
          },
          "given"_a = nb::none(), doc("choose_anchor"))
      .def(nb::self == nb::self)
      .def("__and__",
           [](const SafeSet& a, const SafeSet& b) {
             return intersect({a, b});
           })
      .def("__getstate__", &set_state)
      .def("__setstate__",
           [](SafeSet& self, const std::pair<std::string, std::vector<std::string>>& state) {
             new (&self) SafeSet(set_of(state));
           })
      .def("__repr__", [](const SafeSet& s) {
        return fmt::format("<SafeSet: {} rows, {} inequalities on {} parameters>", s.rows(),
                           s.inequalities().size(), s.parameters());
      });

  module.def(
      "gain_box",
      [](const Eigen::VectorXd& lower, const Eigen::VectorXd& upper, const Names& names) {
        return gain_box(lower, upper, names_or_numbers(names, lower.size(), "gain"));
      },
      "lower"_a, "upper"_a, "names"_a = Names{}, doc("gain_box"));
  module.def(
      "gain_box_towards",
      [](const Eigen::VectorXd& best, double reach, double from, const Names& names) {
        return gain_box_towards(best, reach, from, names_or_numbers(names, best.size(), "gain"));
      },
      "best"_a, "reach"_a, "start"_a = 0.0, "names"_a = Names{},
      doc("gain_box_towards", "\nIn Python `from` is called `start`."));
  module.def("half_space", &half_space, "normal"_a, "limit"_a, "name"_a, doc("half_space"));
  module.def(
      "action_limits",
      [](const Eigen::VectorXd& state_low, const Eigen::VectorXd& state_high,
         const Eigen::VectorXd& action_low, const Eigen::VectorXd& action_high,
         const std::optional<Eigen::VectorXd>& goal, const Features& features, const Names& names) {
        ActionLimits limits;
        limits.state_low = state_low;
        limits.state_high = state_high;
        limits.goal = goal ? *goal : Eigen::VectorXd::Zero(state_low.size());
        limits.features = features;
        limits.action_low = action_low;
        limits.action_high = action_high;
        limits.action_names = names;
        return action_limits(limits);
      },
      "state_low"_a, "state_high"_a, "action_low"_a, "action_high"_a, "goal"_a = nb::none(),
      "features"_a = Features{}, "names"_a = Names{},
      joined(doc("ActionLimits", "\n"), doc("action_limits")));
  module.def(
      "mass_stability",
      [](double mass, double spring, double damping, double actuator_gain, double decay_rate,
         double time_step, const Features& features) {
        MassStability plant;
        plant.mass_kilograms = mass;
        plant.spring_newtons_per_metre = spring;
        plant.damping_newton_seconds_per_metre = damping;
        plant.actuator_gain = actuator_gain;
        plant.decay_rate_per_second = decay_rate;
        plant.time_step_seconds = time_step;
        plant.features = features;
        return mass_stability(plant);
      },
      "mass_kilograms"_a, "spring_newtons_per_metre"_a, "damping_newton_seconds_per_metre"_a,
      "actuator_gain"_a = 1.0, "decay_rate_per_second"_a = 0.0, "time_step_seconds"_a = 0.0,
      "features"_a = Features{}, joined(doc("MassStability", "\n"), doc("mass_stability")));
  module.def(
      "barrier_rows",
      [](const std::vector<std::tuple<Eigen::VectorXd, Eigen::VectorXd, double, std::string>>&
             given,
         const Eigen::VectorXd& goal, const Features& features) {
        std::vector<BarrierCondition> conditions;
        for (const auto& [state, direction, limit, name] : given) {
          conditions.push_back({state, direction, limit, name});
        }
        return barrier_rows(conditions, features, goal);
      },
      "conditions"_a, "goal"_a, "features"_a = Features{},
      joined(doc("BarrierCondition", "\n"),
             doc("barrier_rows", "\nConditions are (state, direction, limit, name).")));
  module.def("intersect", &intersect, "parts"_a, doc("intersect"));
}

}  // namespace lifeguard::python
