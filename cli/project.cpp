#include "cli/project.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/input_file.hpp"
#include "lifeguard/runs/projection_problem.hpp"

namespace lifeguard {
namespace {

struct ProjectOptions {
  std::string file;
  ProjectionProblemSettings settings;
  bool json = true;  // accepted as everywhere; there is no other form
};

constexpr std::size_t kMostProblemBytes = std::size_t{64} << 20;

void project(const ProjectOptions& options) {
  const std::string text =
      read_input_file("FILE", options.file, kMostProblemBytes, /*standard_input=*/true);
  const Deadline deadline = Deadline::after(options.settings.seconds);
  const ProjectionProblem problem = read_projection_problem(text, deadline);
  ProjectionProblemSettings settings = options.settings;
  settings.seconds = deadline.seconds_left();
  const ProjectionSolution solution = solve_projection_problem(problem, settings);
  put("{}\n", write_projection_solution(problem, solution));
  if (!solution.ok()) throw std::runtime_error("the projection was not solved; see \"status\"");
}

template <class Number>
CLI::Validator between(Number low, Number high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        Number value{};
        const bool obeys = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
        return obeys ? std::string() : fmt::format("must be from {} to {}", low, high);
      },
      "", "");
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
  add_number(*command, "--alternations", options->settings.max_alternations, 1, 1'000'000,
             "at most this many new L; fewer when the objective no longer falls");
  command
      ->add_option("--seconds", options->settings.seconds,
                   "after this time print the best verified point so far; the check of it comes "
                   "on top")
      ->check(between(0.001, 1e6))
      ->capture_default_str();
  command->add_flag("--json", options->json, "changes nothing: the output is JSON anyway");
  command->footer(R"(Minimises, from the given point (L0, S0),
    objective = mu1 * sum_t |s_t - s0_t|^2 + mu2 * |L - L0|_F^2
    with  A_t alpha_t <= b_t,  |b_t - A_t alpha_t| <= c_max,  alpha_t = anchor_t + L s_t
          [I; K_t]^T theta [I; K_t] <= limit  for every matrix inequality of the task, where the
          rows of K_t are alpha_t and the difference must have no negative eigenvalue
          all eigenvalues of L^T L in [p, q]

In:   {"p", "q", "mu1", "mu2", "c_max" (optional), "L": [[row], ...],
       "tasks": [{"name", "A": [[row], ...], "b": [...], "rows": [names of the rows] (optional),
                  "inequalities": [{"name", "theta": [[row], ...], "limit": [[row], ...]}, ...]
                  (optional), "anchor": [...] (optional), "s": [...]}, ...]}
Out:  {"status", "objective", "alternations", "L",
       "tasks": [{"name", "s", "alpha", "anchor", "worst_row", "margin"}, ...],
       "seconds" of the projection, "check_seconds" of the certificate in exact arithmetic}

Every number must be 0 or have a magnitude from 1e-30 to 1e30; L may have 40,000 numbers, in mode
paper 48 columns; the file 64 MiB and 5 million values. Names of tasks differ from each other.

An anchor that is not given is the origin if that is strictly safe, else the centre of the safe
set. "margin" is a lower bound on b_i - a_i alpha of the worst row, named by its index or, if "rows"
is given, by its name; of an inequality it is 1 - r, r the part of its limit that it reaches; with
c_max "slack_margin" is one on c_max - |b - A alpha|. Numbers read back
to the same bits. A point that is safe already comes back unchanged, with objective 0.

"status" says what the point is. It is verified, in exact arithmetic, in every case but the last:
  converged          no small change of L and S lowers the objective
  alternation_limit  more alternations may lower it
  time_limit         more time may lower it; another machine may get farther
  too_large          L has more than 2500 numbers: L and S were improved in turn, not together
                                                                           (these: exit code 0)
  solver_failed      rounding ended the search: perhaps not the nearest point
  kept_last          the start, L0 with its spectrum limited and the best S for it
  not_verified       do not use it                                         (these: exit code 1)
Input that is not valid: a message and exit code 2. No anchor found in time: a message and exit
code 1.

The problem is not convex in L and S together: the result is a local minimum, see
docs/projection.md.)");
  command->callback([options] {
    try {
      project(*options);
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("there is not enough memory for this problem");
    }
  });
}

}  // namespace lifeguard
