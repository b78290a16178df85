// Whatever bytes are given as a projection problem: they are refused with InvalidInput, or the
// answer is safe, by the checker in exact arithmetic.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/projection_problem.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard::projection_problem_fuzz {

// What is tried is what is read. Solving takes a thousand times as long, so small problems are
// solved, and of these one of so many, chosen by its bytes; one of those as the paper does.
constexpr int kLargest = 3;  // parameters, columns, tasks
constexpr int kMostRows = 6;
constexpr std::size_t kSolvedShare = 128;
constexpr std::size_t kPaperShare = 8;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "projection_problem_fuzz: %s\n", what);
  std::abort();
}

bool is_small(const ProjectionProblem& problem) {
  if (problem.target.parameters() > kLargest || problem.target.tasks() > kLargest) return false;
  for (const SafeSet& set : problem.safe_sets) {
    if (set.rows() > kMostRows) return false;
  }
  return true;
}

void check(const ProjectionProblem& problem, const ProjectionProblemSettings& settings) {
  const ProjectionSolution solution = solve_projection_problem(problem, settings);
  const Knowledge& knowledge = solution.knowledge;
  std::vector<Eigen::VectorXd> anchors;
  for (int t = 0; t < knowledge.tasks(); ++t) anchors.emplace_back(knowledge.anchors.col(t));
  const Findings findings = check_safety(
      {knowledge.basis, knowledge.coefficients, anchors, problem.safe_sets, problem.p, problem.q});
  for (const Finding& finding : findings) fail(finding.message.c_str());
  if (!solution.verified) fail("the answer is safe and was not verified");
  write_projection_solution(problem, solution);
}

void try_input(std::string_view text) {
  try {
    const ProjectionProblem problem = read_projection_problem(text, Deadline::after(2));
    const std::size_t number = std::hash<std::string_view>{}(text);
    if (!is_small(problem) || number % kSolvedShare != 0) return;
    ProjectionProblemSettings settings;
    settings.max_alternations = 10;
    settings.seconds = 0.2;
    check(problem, settings);
    if (number / kSolvedShare % kPaperShare != 0) return;
    settings.mode = ProjectionMode::paper;
    check(problem, settings);
  } catch (const InvalidInput&) {
    // What the documentation says of input that is not valid.
  } catch (const std::runtime_error&) {
    // No anchor in time.
  }
}

}  // namespace lifeguard::projection_problem_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lifeguard::projection_problem_fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
