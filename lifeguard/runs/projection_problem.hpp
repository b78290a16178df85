#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

/// One projection as data: the point (L̃, S̃), and what it has to obey.
struct ProjectionProblem {
  double p = kNaN;
  double q = kNaN;
  double mu1 = kNaN;
  double mu2 = kNaN;
  /// L̃ and S̃; anchors are given, or found as a learner does.
  Knowledge target;
  std::vector<std::string> names;
  std::vector<SafeSet> safe_sets;
  std::vector<bool> has_row_names;  // else a row's name is its index
};

/// Reads
///   {"p", "q", "mu1", "mu2", "c_max" (optional, for all tasks), "L": [[row], …],
///    "tasks": [{"name", "A": [[row], …], "b": […], "rows": [names] (optional),
///               "anchor": […] (optional), "s": […]}, …]}.
/// Every number is 0 or has a magnitude from 1e-30 to 1e30: products and squares of such numbers
/// neither overflow nor vanish. L has at most 40,000 numbers; text as InputLimits say. Task names
/// differ from each other.
///
/// Throws InvalidInput that says where: line and column if it is not JSON; else the key, its value
/// and the rule. An empty safe set is named with the rows that contradict each other. Throws
/// std::runtime_error when the deadline passes before an anchor is found that was not given.
ProjectionProblem read_projection_problem(std::string_view json, const Deadline& deadline = {});

struct ProjectionProblemSettings {
  /// exact or paper. The semi-definite program of mode paper takes L with at most 48 columns.
  ProjectionMode mode = ProjectionMode::exact;
  /// At most this many new L, ≥ 1: alternations and Newton steps of the descent after them.
  int max_alternations = 1000;
  /// The part of the objective that a small step may still gain in the end, ≥ 0.
  double objective_tolerance = 1e-10;
  /// After this time, ≥ 0 and perhaps infinite, the best verified point so far is the answer.
  /// Certificate and check come after it.
  double seconds = 60;
  /// Whoever asks to stop gets that point as well.
  StopToken stop = {};
};

/// What was reached, and what is proven of it.
struct ProjectionSolution {
  ProjectionStatus status = ProjectionStatus::not_run;
  double objective = kNaN;
  int alternations = 0;
  Knowledge knowledge;
  Certificate certificate;
  /// The certificate is valid, and the checker in exact arithmetic agrees with it.
  bool verified = false;
  double seconds = kNaN;        // of the projection
  double check_seconds = kNaN;  // of certificate and checker

  /// Verified, and no solver step failed on the way.
  bool ok() const;
};

/// Projects from the nearest point that is easy to find: L̃ with its spectrum limited, and the best
/// S for it.
ProjectionSolution solve_projection_problem(const ProjectionProblem& problem,
                                            const ProjectionProblemSettings& settings = {});

/// {"status", "objective", "alternations", "L", "tasks": [{"name", "s", "alpha", "anchor",
/// "worst_row", "margin", "slack_margin" (with c_max)}], "seconds", "check_seconds"}. Numbers read
/// back to the same bits; a number that is not finite is null.
std::string write_projection_solution(const ProjectionProblem& problem,
                                      const ProjectionSolution& solution);

}  // namespace lifeguard
