#include "lifeguard/systems/system.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/python_system.hpp"
#include "bindings/saved_system.hpp"
#include "bindings/task_keywords.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::python {
namespace {

using SignalTexts = std::vector<std::pair<std::string, std::string>>;

SignalTexts names_of(const std::vector<Signal>& signals) {
  SignalTexts names;
  for (const Signal& s : signals) names.emplace_back(s.name, s.unit);
  return names;
}

std::vector<Signal> signals_of(const SignalTexts& names) {
  std::vector<Signal> signals;
  for (const auto& [name, unit] : names) signals.push_back({name, unit});
  return signals;
}

System with_parameters(System system, const nb::kwargs& parameters) {
  for (const auto& [name, value] : parameters) {
    set_parameter(system, nb::cast<std::string>(name), nb::cast<double>(value));
  }
  validate_system(system);
  return system;
}

nb::dict parameters_of(const System& system) {
  nb::dict result;
  for (const ParameterDescription& p : describe(system).parameters) {
    result[nb::cast(p.name)] = p.value;
  }
  return result;
}

/// Parameters with unit, rule and meaning, signals, how it is drawn.
nb::dict described_to_dict(const System& system) {
  const SystemDescription about = describe(system);
  nb::dict parameters;
  for (const ParameterDescription& p : about.parameters) {
    nb::dict entry;
    entry["value"] = p.value;
    entry["unit"] = p.unit;
    entry["rule"] = p.rule.text();
    entry["meaning"] = p.meaning;
    parameters[nb::cast(p.name)] = entry;
  }
  nb::dict result;
  result["name"] = about.name;
  result["meaning"] = about.meaning;
  result["custom"] = about.custom;
  result["states"] = names_of(about.states);
  result["actions"] = names_of(about.actions);
  result["features"] = names_of(about.features);
  result["parameters"] = parameters;
  result["drawing"] = about.drawing;
  result["positions"] = about.positions;
  result["start_share"] = about.start_share;
  return result;
}

const PythonSystem* python_system(const System& system) {
  const auto* custom = std::get_if<CustomSystemPointer>(&system.model().machine);
  return custom == nullptr ? nullptr : dynamic_cast<const PythonSystem*>(custom->get());
}

}  // namespace

nb::tuple saved_system(const System& system) {
  if (const PythonSystem* own = python_system(system)) return nb::make_tuple("own", own->object());
  if (const DescribedSystem* d = described(system)) {
    nb::object model = nb::none();
    if (d->model) model = nb::make_tuple(d->model->a, d->model->b);
    return nb::make_tuple("described", names_of(d->states), names_of(d->actions),
                          names_of(d->features), model);
  }
  return nb::make_tuple("named", system_name(system), parameters_of(system));
}

System system_from(const nb::tuple& state, const TaskSettings* settings) {
  const auto kind = nb::cast<std::string>(state[0]);
  if (kind == "own") {
    return {std::make_shared<const PythonSystem>(nb::borrow<nb::object>(state[1]))};
  }
  if (kind == "described") {
    DescribedSystem d{signals_of(nb::cast<SignalTexts>(state[1])),
                      signals_of(nb::cast<SignalTexts>(state[2])),
                      signals_of(nb::cast<SignalTexts>(state[3])), std::nullopt};
    const nb::object model = state[4];
    if (!model.is_none()) {
      auto [a, b] = nb::cast<std::pair<Eigen::MatrixXd, Eigen::MatrixXd>>(model);
      d.model = LinearModel{std::move(a), std::move(b)};
    }
    const TaskSettings plain = TaskSettings::unlimited(static_cast<int>(d.states.size()),
                                                       static_cast<int>(d.actions.size()));
    return make_described_system(std::move(d), settings == nullptr ? plain : *settings);
  }
  System system = system_by_name(nb::cast<std::string>(state[1]));
  for (const auto& [name, value] : nb::cast<nb::dict>(state[2])) {
    set_parameter(system, nb::cast<std::string>(name), nb::cast<double>(value));
  }
  return system;
}

void bind_systems(nb::module_& module) {
  nb::class_<CounterRandom>(module, "Random",
                            "Random numbers of one trajectory's start: pure functions of the seed.")
      .def(
          "uniform",
          [](const CounterRandom& random, std::uint32_t n, double low, double high) {
            return random.uniform(n, low, high);
          },
          "n"_a, "low"_a = 0.0, "high"_a = 1.0, doc("CounterRandom::uniform"))
      .def("normal", &CounterRandom::normal, "n"_a, "The n-th standard normal of this sequence.");

  nb::class_<System>(
      module, "System",
      first("System",
            "\n\n"
            "System(\"cart-pole\", pole_mass_kilograms=0.2) is a registered one with some\n"
            "of its parameters changed; System(object) is one that is written in Python, see\n"
            "lifeguard.OwnSystem."))
      .def(
          "__init__",
          [](System* self, const std::string& name, const nb::kwargs& parameters) {
            new (self) System(with_parameters(system_by_name(name), parameters));
          },
          "name"_a, "parameters"_a)
      .def(
          "__init__",
          [](System* self, nb::object own, const nb::kwargs& parameters) {
            require(nb::hasattr(own, "step"), "system", nb::cast<std::string>(nb::repr(own)),
                    "must be a name, or an object with states, actions, step() and cost()");
            new (self) System(with_parameters(
                System(std::make_shared<const PythonSystem>(std::move(own))), parameters));
          },
          "own"_a, "parameters"_a)
      .def_static(
          "linear",
          [](const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const SignalTexts& states,
             const SignalTexts& actions) {
            DescribedSystem d{signals_of(states), signals_of(actions), {}, LinearModel{a, b}};
            for (long i = 0; states.empty() && i < a.rows(); ++i) {
              d.states.push_back({fmt::format("state {}", i + 1), "1"});
            }
            for (long i = 0; actions.empty() && i < b.cols(); ++i) {
              d.actions.push_back({fmt::format("action {}", i + 1), "1"});
            }
            d.validate();
            const auto settings =
                TaskSettings::unlimited(static_cast<int>(a.rows()), static_cast<int>(b.cols()));
            return make_described_system(std::move(d), settings);
          },
          "a"_a, "b"_a, "states"_a = SignalTexts{}, "actions"_a = SignalTexts{},
          "x+ - goal = A (x - goal) + B u, one step of dt; its task has start box and weights.")
      .def_prop_ro("name", &system_name)
      .def_prop_ro("parameters", &parameters_of, "The parameters' values by name; a copy.")
      .def_prop_ro("description", &described_to_dict,
                   "Names, units and meanings of states, actions, features and parameters.")
      .def("with_parameters", &with_parameters, "parameters"_a,
           "The same system with some parameters changed.")
      .def_prop_ro(
          "own",
          [](const System& system) -> nb::object {
            const PythonSystem* own = python_system(system);
            return own == nullptr ? nb::none() : own->object();
          },
          "The Python object of a system that is written in Python, else None.")
      .def(nb::self == nb::self)
      .def("__getstate__", &saved_system)
      .def("__setstate__",
           [](System& self, const nb::tuple& state) {
             new (&self) System(system_from(state, nullptr));
           })
      .def("__repr__", [](const System& system) {
        return nb::str("System({!r}, {})").format(system_name(system), parameters_of(system));
      });

  module.def("systems", &system_names, "The names of all registered systems, built-in ones first.");
  module.def("families", &family_names, doc("family_names"));
}

}  // namespace lifeguard::python
