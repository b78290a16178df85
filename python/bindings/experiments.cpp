#include "lifeguard/runs/experiment.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/keywords.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"

namespace lifeguard::python {
namespace {

using Overrides = std::vector<std::string>;

/// "experiment.rounds=20" for every entry of {"experiment.rounds": 20}.
ExperimentConfig loaded(const std::filesystem::path& path, const Overrides& overrides) {
  // An own system is asked while the configuration is read, perhaps on other threads.
  const nb::gil_scoped_release release;
  return load_config(path, overrides);
}

ExperimentConfig parsed(const std::string& toml, const std::string& source,
                        const Overrides& overrides) {
  const nb::gil_scoped_release release;
  return parse_config(toml, source, overrides);
}

nb::list drawn_to_list(const ExperimentConfig& config) {
  Interrupt interrupt;
  const DrawnTasks drawn = interrupt.run([&] {
    LongWork work;
    work.stop = interrupt.token();
    return draw_tasks(config, work);
  });
  nb::list result;
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    const Eigen::VectorXd& first = drawn.first[t].parameters;
    result.append(nb::make_tuple(drawn.tasks[t], drawn.safe_sets[t],
                                 first.size() > 0 ? nb::cast(first) : nb::none()));
  }
  return result;
}

}  // namespace

void bind_experiments(nb::module_& module) {
  nb::class_<ExperimentConfig>(module, "Experiment",
                               first("ExperimentConfig", " docs/configuration.md has every key."))
      .def_static("load", &loaded, "path"_a, "overrides"_a = Overrides{},
                  joined("From a file. ", doc("parse_config")))
      .def_static("parse", &parsed, "toml"_a, "source"_a = "text", "overrides"_a = Overrides{},
                  joined("From a text. ", doc("parse_config")))
      .def_ro("name", &ExperimentConfig::name)
      .def_ro("rounds", &ExperimentConfig::rounds)
      .def_ro("trajectories", &ExperimentConfig::trajectories)
      .def_ro("steps", &ExperimentConfig::steps)
      .def_ro("seed", &ExperimentConfig::seed)
      .def_ro("method", &ExperimentConfig::method)
      .def_prop_ro("methods", [](const ExperimentConfig& c) { return Overrides(c.methods); })
      .def_ro("family", &ExperimentConfig::family)
      .def_prop_ro(
          "features", [](const ExperimentConfig& c) { return c.features; },
          doc("ExperimentConfig::features"))
      .def_prop_ro(
          "machines",
          [](const ExperimentConfig& c) {
            std::vector<Task> tasks;
            for (const Machine& machine : c.machines) tasks.push_back(machine.task);
            return tasks;
          },
          doc("ExperimentConfig::machines"))
      .def_prop_ro(
          "values",
          [](const ExperimentConfig& c) {
            nb::dict result;
            for (const auto& [key, value] : effective_values(c)) {
              result[nb::cast(key)] = value;
            }
            return result;
          },
          doc("effective_values"))
      .def_prop_ro("text", [](const ExperimentConfig& c) { return c.source_text; })
      .def("only", &configuration_of, "label"_a, "seed"_a, doc("configuration_of"))
      .def("draw", &drawn_to_list,
           doc("DrawnTasks", "\nA list of (task, safe set, first policy's parameters)."))
      .def("__getstate__",
           [](const ExperimentConfig& c) {
             return nb::make_tuple(c.source_text, c.source, c.overrides);
           })
      .def("__setstate__",
           [](ExperimentConfig& self, const nb::tuple& state) {
             new (&self) ExperimentConfig(parsed(nb::cast<std::string>(state[0]),
                                                 nb::cast<std::string>(state[1]),
                                                 nb::cast<Overrides>(state[2])));
           })
      .def("__repr__", [](const ExperimentConfig& c) {
        return fmt::format("<Experiment {}: {}, {} rounds>", c.name, c.method, c.rounds);
      });
}

}  // namespace lifeguard::python
