#include "lifeguard/systems/task.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/ranges.hpp"
#include "bindings/saved_system.hpp"
#include "bindings/seed.hpp"
#include "bindings/sigma.hpp"
#include "bindings/task_keywords.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/family_config.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::python {
namespace {

Task task_with(std::string name, System system, TaskSettings settings, const nb::dict& changes) {
  Task task{std::move(name), std::move(system), std::move(settings)};
  read_task_settings(changes, task.states(), task.actions(), task.settings);
  settle(task);
  task.validate();
  return task;
}

Family family_with(std::string name, System nominal, const Ranges& ranges, TaskSettings settings) {
  Family family{std::move(name), std::move(nominal), to_ranges(ranges), std::move(settings)};
  family.validate();
  return family;
}

void require_state(const Task& task, const Eigen::VectorXd& state) {
  require_size("state", state.size(), task.states());
}

void require_action(const Task& task, const Eigen::VectorXd& action) {
  require_size("action", action.size(), task.actions());
}

}  // namespace

std::vector<ParameterRange> to_ranges(const Ranges& ranges) {
  std::vector<ParameterRange> result;
  for (const auto& [name, range] : ranges) {
    if (const auto* linear = std::get_if<std::pair<double, double>>(&range)) {
      result.push_back({name, linear->first, linear->second, false});
    } else {
      const auto& [low, high, logarithmic] = std::get<std::tuple<double, double, bool>>(range);
      result.push_back({name, low, high, logarithmic});
    }
  }
  return result;
}

void bind_tasks(nb::module_& module) {
  nb::class_<Task>(module, "Task",
                   first("Task",
                         " Keyword arguments are the keys of a\n"
                         "[family] table: dt_seconds, integrator, start_low, start_high, goal,\n"
                         "state_weights, action_weights, action_low, action_high, failure_bounds,\n"
                         "failure_cost, sigma, noise_limit; a number stands for equal entries."))
      .def(
          "__init__",
          [](Task* self, std::string name, const System& system, const nb::kwargs& settings) {
            new (self) Task(task_with(std::move(name), system, default_settings(system), settings));
          },
          "name"_a, "system"_a, "settings"_a)
      .def_ro("name", &Task::name)
      .def_ro("system", &Task::system)
      .def_prop_ro(
          "settings", [](const Task& task) { return task_settings_to_dict(task.settings); },
          "All settings by name; a copy.")
      .def_prop_ro("states", &Task::states, "How many states there are.")
      .def_prop_ro("actions", &Task::actions, "How many actions there are.")
      .def_prop_ro("inputs", &Task::inputs, doc("Task::inputs"))
      .def_prop_ro("sigma", [](const Task& task) { return task.settings.sigma; })
      .def(
          "with_settings",
          [](const Task& task, const nb::kwargs& settings) {
            return task_with(task.name, task.system, task.settings, settings);
          },
          "settings"_a, "The same task with some settings changed.")
      .def(
          "with_parameters",
          [](const Task& task, const nb::kwargs& parameters) {
            Task changed = task;
            for (const auto& [name, value] : parameters) {
              set_parameter(changed.system, nb::cast<std::string>(name), nb::cast<double>(value));
            }
            settle(changed);
            changed.validate();
            return changed;
          },
          "parameters"_a, "The same task with some parameters of its system changed.")
      .def("feature_count", &feature_count, "features"_a = Features{}, doc("feature_count"))
      .def(
          "input",
          [](const Task& task, const Eigen::VectorXd& state) {
            require_state(task, state);
            return task.input(state);
          },
          "state"_a, doc("Task::input"))
      .def(
          "step",
          [](const Task& task, const Eigen::VectorXd& state, const Eigen::VectorXd& action) {
            require_state(task, state);
            require_action(task, action);
            return task.step(state, action);
          },
          "state"_a, "action"_a, doc("Task::step"))
      .def(
          "cost",
          [](const Task& task, const Eigen::VectorXd& state, const Eigen::VectorXd& action) {
            require_state(task, state);
            require_action(task, action);
            return task.cost(state, action);
          },
          "state"_a, "action"_a, doc("Task::cost"))
      .def(
          "failed",
          [](const Task& task, const Eigen::VectorXd& state) {
            require_state(task, state);
            return task.failed(state);
          },
          "state"_a, doc("Task::failed"))
      .def(
          "linearise",
          [](const Task& task) {
            const LinearModel model = task.linearise();
            return std::pair(model.a, model.b);
          },
          doc("Task::linearise", "\nThe result is (A, B)."))
      .def("equilibrium_action", &Task::equilibrium_action, doc("Task::equilibrium_action"))
      .def("lqr_gains", &lqr_policy_gains, "features"_a = Features{}, doc("lqr_gains"))
      .def(
          "gain_names",
          [](const Task& task, const Features& features) {
            return describe(task.system).gain_names(features);
          },
          "features"_a = Features{}, "The gains of a policy in the order of its parameters.")
      .def(nb::self == nb::self)
      .def("__getstate__",
           [](const Task& task) {
             return nb::make_tuple(task.name, saved_system(task.system),
                                   task_settings_to_dict(task.settings));
           })
      .def("__setstate__",
           [](Task& self, const nb::tuple& state) {
             const auto saved = nb::cast<nb::tuple>(state[1]);
             System system = system_from(saved, nullptr);
             TaskSettings settings = default_settings(system);
             new (&self) Task(task_with(nb::cast<std::string>(state[0]), std::move(system),
                                        std::move(settings), nb::cast<nb::dict>(state[2])));
           })
      .def("__repr__", [](const Task& task) {
        return fmt::format("<Task {}: {}>", task.name, system_name(task.system));
      });

  nb::class_<Family>(
      module, "Family",
      doc("Family", "\n`ranges` has (low, high) or (low, high, logarithmic) by parameter."))
      .def(
          "__init__",
          [](Family* self, std::string name, const System& nominal, const Ranges& ranges,
             const nb::kwargs& settings) {
            const Task task = task_with(name, nominal, default_settings(nominal), settings);
            new (self) Family(family_with(std::move(name), task.system, ranges, task.settings));
          },
          "name"_a, "nominal"_a, "ranges"_a = Ranges{}, "settings"_a)
      .def_static(
          "named", [](const std::string& name) { return family_by_name(name); }, "name"_a,
          "A family that configurations can name, see families().")
      .def_static("load", &load_family, "path"_a, doc("load_family"))
      .def_static(
          "parse",
          [](const std::string& toml, const std::string& source) {
            return parse_family(toml, source);
          },
          "toml"_a, "source"_a = "text", "From the [family] table of a TOML text.")
      .def_ro("name", &Family::name)
      .def_ro("nominal", &Family::nominal, doc("Family::nominal"))
      .def_prop_ro("ranges",
                   [](const Family& family) {
                     nb::dict result;
                     for (const ParameterRange& r : family.ranges) {
                       result[nb::cast(r.parameter)] = std::tuple(r.low, r.high, r.logarithmic);
                     }
                     return result;
                   })
      .def_prop_ro("settings",
                   [](const Family& family) { return task_settings_to_dict(family.settings); })
      .def(
          "draw",
          [](const Family& self, const Seed& seed, const Seed& index) {
            return self.draw(seed.value(), index.value("index"));
          },
          "seed"_a, "index"_a = 0, doc("Family::draw"))
      .def(
          "draw_many",
          [](const Family& self, const Seed& seed, int count) {
            return self.draw_many(seed.value(), count);
          },
          "seed"_a, "count"_a)
      .def("__getstate__",
           [](const Family& family) {
             Ranges ranges;
             for (const ParameterRange& r : family.ranges) {
               ranges.emplace_back(r.parameter, std::tuple(r.low, r.high, r.logarithmic));
             }
             return nb::make_tuple(family.name, saved_system(family.nominal), ranges,
                                   task_settings_to_dict(family.settings));
           })
      .def("__setstate__",
           [](Family& self, const nb::tuple& state) {
             System system = system_from(nb::cast<nb::tuple>(state[1]), nullptr);
             const auto name = nb::cast<std::string>(state[0]);
             const Task task =
                 task_with(name, system, default_settings(system), nb::cast<nb::dict>(state[3]));
             new (&self)
                 Family(family_with(name, task.system, nb::cast<Ranges>(state[2]), task.settings));
           })
      .def("__repr__", [](const Family& family) {
        return fmt::format("<Family {}: {}>", family.name, system_name(family.nominal));
      });

  module.def(
      "register_system",
      [](const System& system, const Ranges& ranges) {
        register_system(system, {make_family(system_name(system), system, to_ranges(ranges))});
      },
      "system"_a, "ranges"_a = Ranges{},
      doc("register_system",
          "\nConfigurations, run files and reports then treat it as the built-in ones."));
}

}  // namespace lifeguard::python
