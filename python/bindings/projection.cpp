#include <string>

#include "bindings/common.hpp"
#include "bindings/interrupt.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/projection_problem.hpp"

namespace lifeguard::python {

void bind_projection(nb::module_& module) {
  module.def(
      "project_json",
      [](const std::string& json, const std::string& mode, int max_alternations,
         double objective_tolerance, double seconds) {
        require(mode == "exact" || mode == "paper", "mode", mode, "must be \"exact\" or \"paper\"");
        ProjectionProblemSettings settings;
        settings.mode = mode == "exact" ? ProjectionMode::exact : ProjectionMode::paper;
        settings.max_alternations = max_alternations;
        settings.objective_tolerance = objective_tolerance;
        Interrupt interrupt;
        settings.stop = interrupt.token();
        return interrupt.run_until(seconds, [&](const Deadline& deadline) {
          const ProjectionProblem problem = read_projection_problem(json, deadline);
          settings.seconds = deadline.seconds_left();
          return write_projection_solution(problem, solve_projection_problem(problem, settings));
        });
      },
      "json"_a, "mode"_a = "exact", "max_alternations"_a = 1000, "objective_tolerance"_a = 1e-10,
      "seconds"_a = 60.0, "As `lifeguard project`: a problem and its solution as JSON.");
}

}  // namespace lifeguard::python
