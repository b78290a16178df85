#include "cli/project.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/projection_problem.hpp"

namespace lifeguard {
namespace {

struct ProjectOptions {
  std::string file;
  ProjectionProblemSettings settings;
  bool json = true;  // accepted as everywhere; there is no other form
};

std::string read_all(const std::string& name) {
  if (name == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(name, std::ios::binary);
  require(file.good(), "FILE", name, "must be a file that can be read, or - for standard input");
  return {std::istreambuf_iterator<char>(file), {}};
}

void project(const ProjectOptions& options) {
  const ProjectionProblem problem = read_projection_problem(read_all(options.file));
  const ProjectionSolution solution = solve_projection_problem(problem, options.settings);
  fmt::print("{}\n", write_projection_solution(problem, solution));
  if (!solution.ok()) throw std::runtime_error("the projection was not solved; see \"status\"");
}

}  // namespace

void add_project_command(CLI::App& app) {
  auto options = std::make_shared<ProjectOptions>();
  CLI::App* command = app.add_subcommand(
      "project",
      "Apply the safety projection to a problem given as JSON, print the result as JSON");
  command->add_option("FILE", options->file, "the problem; - reads standard input")->required();
  command
      ->add_option("--mode", options->settings.mode,
                   "exact, or paper: the paper's semi-definite program, then the S-step")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ProjectionMode>{
          {"exact", ProjectionMode::exact}, {"paper", ProjectionMode::paper}}))
      ->default_str("exact");
  command
      ->add_option("--alternations", options->settings.max_alternations,
                   "at most this many; fewer when the objective no longer falls")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--json", options->json, "changes nothing: the output is JSON anyway");
  command->footer(R"(Minimises, from the given point (L0, S0),
    objective = mu1 * sum_t |s_t - s0_t|^2 + mu2 * |L - L0|_F^2
    with  A_t alpha_t <= b_t,  |b_t - A_t alpha_t| <= c_max,  alpha_t = anchor_t + L s_t
          all eigenvalues of L^T L in [p, q]

In:   {"p", "q", "mu1", "mu2", "c_max" (optional), "L": [[row], ...],
       "tasks": [{"name", "A": [[row], ...], "b": [...], "rows": [names of the rows] (optional),
                  "anchor": [...] (optional), "s": [...]}, ...]}
Out:  {"status", "objective", "alternations", "L",
       "tasks": [{"name", "s", "alpha", "anchor", "worst_row", "margin"}, ...],
       "seconds" of the projection, "check_seconds" of the certificate in exact arithmetic}

An anchor that is not given is the origin if that is strictly safe, else the centre of the safe
set. "margin" is a lower bound on b_i - a_i alpha of the worst row, named by its index or, if "rows"
is given, by its name; with c_max "slack_margin" is one on c_max - |b - A alpha|. Numbers read back
to the same bits. A point that is safe already comes back unchanged, with objective 0.

"status": converged, or alternation_limit (more alternations may lower the objective): exit code 0.
Else solver_failed or kept_last (safe, but perhaps not the nearest), or not_verified: exit code 1.
Input that is not valid: a message and exit code 2.

The problem is not convex in L and S together: the result is a local minimum, see
docs/projection.md.)");
  command->callback([options] { project(*options); });
}

}  // namespace lifeguard
