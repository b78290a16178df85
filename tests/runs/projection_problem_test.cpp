#include "lifeguard/runs/projection_problem.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <nlopt.hpp>

#include "lifeguard/core/check.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::projection_problem_test {

using test_support::Draws;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json solve_text(const std::string& text, const ProjectionProblemSettings& settings = {}) {
  const ProjectionProblem problem = read_projection_problem(text);
  const ProjectionSolution solution = solve_projection_problem(problem, settings);
  EXPECT_TRUE(solution.ok());
  return Json::parse(write_projection_solution(problem, solution));
}

// L s ≤ 2 from (2, 2.5): with the multiplier ½, L = 2 − ½ s and s = 2.5 − ½ L give (1, 2).
TEST(ProjectionProblem, ARowBetweenBasisAndCoefficient) {
  const Json out = solve_text(R"({"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [[2]],
      "tasks": [{"name": "one", "A": [[1]], "b": [2], "anchor": [0], "s": [2.5]}]})");
  EXPECT_EQ(out["status"], "converged");
  EXPECT_NEAR(out["objective"], 1.25, 1e-8);
  EXPECT_NEAR(out["L"][0][0], 1, 1e-4);
  EXPECT_NEAR(out["tasks"][0]["s"][0], 2, 1e-4);
  EXPECT_NEAR(out["tasks"][0]["alpha"][0], 2, 1e-8);
  EXPECT_EQ(out["tasks"][0]["worst_row"], 0);
  EXPECT_GT(out["tasks"][0]["margin"], 0);
  EXPECT_LT(out["tasks"][0]["margin"], 1e-8);
}

// The weights decide who gives way: 4 (L − L̃)² + (s − s̃)² with the multiplier 1 of L s ≤ 2 at
// (1, 2) needs 8 (L̃ − 1) = 2 and 2 (s̃ − 2) = 1.
TEST(ProjectionProblem, Weights) {
  const Json out = solve_text(R"({"p": 0.01, "q": 100, "mu1": 1, "mu2": 4, "L": [[1.25]],
      "tasks": [{"name": "one", "A": [[1]], "b": [2], "anchor": [0], "s": [2.5]}]})");
  EXPECT_NEAR(out["objective"], 4 * 0.0625 + 0.25, 1e-9);
  EXPECT_NEAR(out["L"][0][0], 1, 1e-4);
}

// b = (1, 1), A = (1, −1): the slack is √(2 + 2α²), so c_max = √2.5 means |α| ≤ ½.
TEST(ProjectionProblem, TheBall) {
  const Json out = solve_text(fmt::format(
      R"({{"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "c_max": {}, "L": [[1.25]],
      "tasks": [{{"name": "one", "A": [[1], [-1]], "b": [1, 1], "rows": ["up", "down"], "s": [1]}}]}})",
      std::sqrt(2.5)));
  EXPECT_NEAR(out["objective"], 0.3125, 1e-9);  // L = 1.25 − ½ s and s = 1 − ½ L: (1, ½)
  EXPECT_NEAR(out["tasks"][0]["alpha"][0], 0.5, 1e-9);
  EXPECT_EQ(out["tasks"][0]["worst_row"], "up");
  EXPECT_NEAR(out["tasks"][0]["margin"], 0.5, 1e-8);
  EXPECT_GT(out["tasks"][0]["slack_margin"], 0);
  EXPECT_LT(out["tasks"][0]["slack_margin"], 1e-8);
  EXPECT_EQ(out["tasks"][0]["anchor"][0], 0);  // found: the origin
}

TEST(ProjectionProblem, TheSpectrumAloneIsLimited) {
  const Json out = solve_text(R"({"p": 0.25, "q": 4, "mu1": 1, "mu2": 2, "L": [[3, 0], [0, 0.25]],
      "tasks": [{"name": "free", "A": [], "b": [], "s": [7, 8]}]})");
  EXPECT_NEAR(out["objective"], 2 * (1 + 0.0625), 1e-9);
  EXPECT_NEAR(out["L"][0][0], 2, 1e-9);
  EXPECT_NEAR(out["L"][1][1], 0.5, 1e-9);
  EXPECT_EQ(out["tasks"][0]["s"], (Json{7.0, 8.0}));
  EXPECT_TRUE(out["tasks"][0]["worst_row"].is_null());
}

TEST(ProjectionProblem, ASafePointComesBackToTheBit) {
  const Json in = {{"p", 0.01},
                   {"q", 100},
                   {"mu1", 1},
                   {"mu2", 1},
                   {"L", {{1.0 / 3}, {0.1}}},
                   {"tasks",
                    {{{"name", "one"},
                      {"A", {{1.0, 0.0}, {0.0, 1.0}}},
                      {"b", {1.0, 1.0}},
                      {"anchor", {0.1, 0.2}},
                      {"s", {2.0 / 3}}}}}};
  const Json out = solve_text(in.dump());
  EXPECT_EQ(out["status"], "converged");
  EXPECT_EQ(out["objective"], 0.0);
  EXPECT_EQ(out["alternations"], 0);
  EXPECT_EQ(out["L"], in["L"]);
  EXPECT_EQ(out["tasks"][0]["s"], in["tasks"][0]["s"]);
}

TEST(ProjectionProblem, PaperModeIsVerifiedToo) {
  const Json out = solve_text(R"({"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [[2]],
      "tasks": [{"name": "one", "A": [[1]], "b": [2], "anchor": [0], "s": [2.5]}]})",
                              {.mode = ProjectionMode::paper});
  EXPECT_GE(out["objective"], 1.25 - 1e-8);
  EXPECT_GT(out["tasks"][0]["margin"], 0);
}

ProjectionProblem random_problem(Draws& draws) {
  ProjectionProblem problem;
  const int d = draws.integer(1, 3);
  const int k = draws.integer(1, std::min(d, 2));
  const int count = draws.integer(1, 2);
  problem.p = draws.power(0.05, 0.5);
  problem.q = problem.p * draws.power(2, 50);
  problem.mu1 = draws.power(0.3, 3);
  problem.mu2 = draws.power(0.3, 3);
  problem.basis = draws.normals(d, k);
  problem.coefficients = draws.normals(k, count);
  for (int t = 0; t < count; ++t) {
    const ProjectionTask task =
        test_support::random_task(draws, draws.integer(1, 4), d, {.ball = draws.chance(0.4)});
    std::vector<std::string> names;
    for (Eigen::Index i = 0; i < task.rows().rows(); ++i) names.push_back(fmt::format("r{}", i));
    problem.names.push_back(fmt::format("task {}", t));
    problem.safe_sets.emplace_back(task.rows(), task.limits(), names, task.slack_limit());
    problem.anchors.push_back(task.anchor());
    problem.has_row_names.push_back(true);
  }
  return problem;
}

/// All constraints of the joint problem, at most 0; smooth, for k ≤ 2.
std::vector<double> constraint_values(const ProjectionProblem& problem, const Eigen::MatrixXd& l,
                                      const Eigen::MatrixXd& s) {
  std::vector<double> values;
  for (std::size_t t = 0; t < problem.safe_sets.size(); ++t) {
    const SafeSet& set = problem.safe_sets[t];
    const Eigen::VectorXd alpha = problem.anchors[t] + l * s.col(static_cast<Eigen::Index>(t));
    const Eigen::VectorXd slack = set.limits() - set.coefficients() * alpha;
    for (const double value : slack) values.push_back(-value);
    if (set.has_slack_limit()) {
      values.push_back(slack.squaredNorm() - set.slack_limit() * set.slack_limit());
    }
  }
  const Eigen::MatrixXd gram = l.transpose() * l;
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(gram.rows(), gram.cols());
  // A symmetric matrix of size 1 or 2 is positive if its trace and its determinant are.
  for (const Eigen::MatrixXd& m :
       {(gram - problem.p * one).eval(), (problem.q * one - gram).eval()}) {
    values.push_back(-m.trace());
    values.push_back(-m.determinant());
  }
  return values;
}

/// NLopt's SLSQP on L and S together, gradients by central differences.
struct JointReference {
  const ProjectionProblem& problem;

  void split(const double* x, Eigen::MatrixXd& l, Eigen::MatrixXd& s) const {
    l = Eigen::Map<const Eigen::MatrixXd>(x, problem.basis.rows(), problem.basis.cols());
    s = Eigen::Map<const Eigen::MatrixXd>(x + l.size(), problem.coefficients.rows(),
                                          problem.coefficients.cols());
  }
  double objective(const double* x) const {
    Eigen::MatrixXd l, s;
    split(x, l, s);
    return problem.mu1 * (s - problem.coefficients).squaredNorm() +
           problem.mu2 * (l - problem.basis).squaredNorm();
  }
  std::vector<double> constraints(const double* x) const {
    Eigen::MatrixXd l, s;
    split(x, l, s);
    return constraint_values(problem, l, s);
  }
  static double value(unsigned n, const double* x, double* gradient, void* data) {
    const auto& self = *static_cast<const JointReference*>(data);
    std::vector<double> at(x, x + n);
    for (unsigned i = 0; gradient != nullptr && i < n; ++i) {
      at[i] = x[i] + 1e-6;
      const double above = self.objective(at.data());
      at[i] = x[i] - 1e-6;
      gradient[i] = (above - self.objective(at.data())) / 2e-6;
      at[i] = x[i];
    }
    return self.objective(x);
  }
  static void limits(unsigned m, double* result, unsigned n, const double* x, double* gradient,
                     void* data) {
    const auto& self = *static_cast<const JointReference*>(data);
    const std::vector<double> here = self.constraints(x);
    std::copy(here.begin(), here.end(), result);
    std::vector<double> at(x, x + n);
    for (unsigned i = 0; gradient != nullptr && i < n; ++i) {
      at[i] = x[i] + 1e-6;
      const std::vector<double> above = self.constraints(at.data());
      at[i] = x[i] - 1e-6;
      const std::vector<double> below = self.constraints(at.data());
      for (unsigned j = 0; j < m; ++j) gradient[j * n + i] = (above[j] - below[j]) / 2e-6;
      at[i] = x[i];
    }
  }
  /// The value reached, infinity if a constraint does not hold.
  double solve(const Eigen::MatrixXd& l, const Eigen::MatrixXd& s) {
    std::vector<double> x(l.data(), l.data() + l.size());
    x.insert(x.end(), s.data(), s.data() + s.size());
    nlopt::opt solver(nlopt::LD_SLSQP, static_cast<unsigned>(x.size()));
    solver.set_min_objective(value, this);
    solver.add_inequality_mconstraint(limits, this,
                                      std::vector<double>(constraints(x.data()).size(), 1e-10));
    solver.set_ftol_rel(1e-13);
    solver.set_maxeval(1000);
    double reached = 0;
    try {
      solver.optimize(x, reached);
    } catch (const std::exception&) {  // rounding ends it; what it reached counts
    }
    for (const double violation : constraints(x.data())) {
      if (!(violation <= 1e-9)) return std::numeric_limits<double>::infinity();
    }
    // A determinant of two small factors says little about either.
    Eigen::MatrixXd l_reached, s_reached;
    split(x.data(), l_reached, s_reached);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(l_reached.transpose() *
                                                                  l_reached);
    if (spectrum.eigenvalues().minCoeff() < problem.p - 1e-9 ||
        spectrum.eigenvalues().maxCoeff() > problem.q + 1e-9) {
      return std::numeric_limits<double>::infinity();
    }
    return objective(x.data());
  }
};

TEST(ProjectionProblem, AGeneralSolverFindsNothingBetterNearby) {
  int constrained = 0, answered = 0, better_from_elsewhere = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(derive_seed(31, seed));
    const ProjectionProblem problem = random_problem(draws);
    const ProjectionSolution solution = solve_projection_problem(problem);
    ASSERT_TRUE(solution.ok()) << seed << to_string(solution.status);
    for (const double value : constraint_values(problem, solution.basis, solution.coefficients)) {
      ASSERT_LE(value, 1e-13) << seed;
    }
    if (solution.objective == 0) continue;
    ++constrained;
    JointReference reference{problem};
    const double least = solution.objective * (1 - 1e-6);
    const double near = reference.solve(solution.basis, solution.coefficients);
    EXPECT_GE(near, least) << seed;
    answered += std::isfinite(near);
    better_from_elsewhere += reference.solve(problem.basis, problem.coefficients) < least;
  }
  EXPECT_GT(constrained, 50);
  EXPECT_GT(answered, constrained / 2);
  EXPECT_LE(better_from_elsewhere, constrained / 10);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = R"({"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [[2], [1]],
      "tasks": [{"name": "one", "A": [[1, 0], [0, 1]], "b": [2, 2], "s": [2.5]}]})";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ProjectionProblem, BadInputIsNamed) {
  const struct {
    std::string text;
    std::vector<std::string> said;
  } cases[] = {
      {with("\"q\": 100,", "\"q\": 100"), {"line 1, column", "must be JSON"}},
      {with("[2.5]", "[NaN]"), {"line 2, column", "must be JSON"}},
      {with("[2.5]", "[1e999]"), {"1e999", "must be JSON"}},
      {with("[2.5]", "[\"a\"]"), {"tasks[0].s[0] = \"a\"", "must be a number"}},
      {with("[2.5]", "[1, 2]"), {"tasks[0].s = 2 entries", "must have 1 entry"}},
      {with("[[1, 0], [0, 1]]", "[[1, 0], [0]]"), {"tasks[0].A[1] = 1 entries", "2 entries"}},
      {with("\"b\": [2, 2]", "\"b\": [2]"), {"tasks[0].b = 1 entries", "2 entries"}},
      {with("[[1, 0], [0, 1]]", "[[1, 0], [0, 0]]"), {"tasks[0]", "row 1"}},
      {with("[[2], [1]]", "[[2, 1, 1], [1, 1, 1]]"), {"L = ", "at least as many rows"}},
      {with("\"p\": 0.01", "\"p\": 200"), {"q = 100", "greater than p"}},
      {with("\"p\": 0.01", "\"p\": -1"), {"p = -1", "greater than 0"}},
      {with("\"p\": 0.01, ", ""), {"p = nothing", "must be given"}},
      {with("\"p\"", "\"u\": 1, \"p\""), {"key = u", "not known"}},
      {with("\"p\"", "\"p\": 1, \"p\""), {"p: must be given once only"}},
      {with("\"name\"", "\"c_max\": 1, \"name\""), {"tasks[0] key = c_max", "not known"}},
      {with("\"s\"", "\"anchor\": [3, 0], \"s\""), {"tasks[0].anchor", "row 0", "strictly safe"}},
      {with("\"p\"", "\"c_max\": 0, \"p\""), {"c_max = 0", "greater than 0"}},
      {with("[[1, 0], [0, 1]], \"b\": [2, 2]",
            "[[1, 0], [-1, 0]], \"b\": [1, -2], \"rows\": [\"low\", \"high\"]"),
       {"tasks[0]", "low", "high"}},
      {"[1]", {"input = [1]", "must be an object"}},
      {"", {"must be JSON"}},
  };
  for (const auto& bad : cases) {
    try {
      solve_projection_problem(read_projection_problem(bad.text));
      ADD_FAILURE() << "accepted: " << bad.text;
    } catch (const InvalidInput& error) {
      for (const std::string& part : bad.said) EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }
}

}  // namespace lifeguard::projection_problem_test
