#include "lifeguard/runs/projection_problem.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
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
  problem.target.basis = draws.normals(d, k);
  problem.target.coefficients = draws.normals(k, count);
  problem.target.anchors.resize(d, count);
  for (int t = 0; t < count; ++t) {
    const ProjectionTask task =
        test_support::random_task(draws, draws.integer(1, 4), d, {.ball = draws.chance(0.4)});
    std::vector<std::string> names;
    for (Eigen::Index i = 0; i < task.rows().rows(); ++i) names.push_back(fmt::format("r{}", i));
    problem.names.push_back(fmt::format("task {}", t));
    problem.safe_sets.emplace_back(task.rows(), task.limits(), names, task.slack_limit());
    problem.target.anchors.col(t) = task.anchor();
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
    const auto column = static_cast<Eigen::Index>(t);
    const Eigen::VectorXd alpha = problem.target.anchors.col(column) + l * s.col(column);
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
    l = Eigen::Map<const Eigen::MatrixXd>(x, problem.target.basis.rows(),
                                          problem.target.basis.cols());
    s = Eigen::Map<const Eigen::MatrixXd>(x + l.size(), problem.target.coefficients.rows(),
                                          problem.target.coefficients.cols());
  }
  double objective(const double* x) const {
    Eigen::MatrixXd l, s;
    split(x, l, s);
    return problem.mu1 * (s - problem.target.coefficients).squaredNorm() +
           problem.mu2 * (l - problem.target.basis).squaredNorm();
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
    for (const double value :
         constraint_values(problem, solution.knowledge.basis, solution.knowledge.coefficients)) {
      ASSERT_LE(value, 1e-13) << seed;
    }
    if (solution.objective == 0) continue;
    ++constrained;
    JointReference reference{problem};
    const double least = solution.objective * (1 - 1e-6);
    const double near = reference.solve(solution.knowledge.basis, solution.knowledge.coefficients);
    EXPECT_GE(near, least) << seed;
    answered += std::isfinite(near);
    better_from_elsewhere +=
        reference.solve(problem.target.basis, problem.target.coefficients) < least;
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

struct BadInput {
  std::string text;
  std::vector<std::string> said;
};

void expect_refused(const std::vector<BadInput>& inputs) {
  for (const BadInput& bad : inputs) {
    const std::string start = bad.text.substr(0, 300);
    try {
      solve_projection_problem(read_projection_problem(bad.text));
      ADD_FAILURE() << "accepted: " << start;
    } catch (const InvalidInput& error) {
      for (const std::string& part : bad.said) {
        EXPECT_THAT(error.what(), HasSubstr(part)) << start;
      }
      EXPECT_LT(std::string(error.what()).size(), 600u) << start;
      for (const char c : std::string(error.what())) {
        EXPECT_FALSE(c >= 0 && c < ' ') << "a control character: " << start;
      }
    }
  }
}

TEST(ProjectionProblem, BadInputIsNamed) {
  expect_refused({
      {with("\"q\": 100,", "\"q\": 100"), {"line 1, column", "must be JSON"}},
      {with("[2.5]", "[NaN]"), {"line 2, column", "must be JSON"}},
      {with("[2.5]", "[-Infinity]"), {"line 2, column", "must be JSON"}},
      {with("[2.5]", "[\"a\"]"), {"tasks[0].s[0] = \"a\"", "must be a number"}},
      {with("[2.5]", "[null]"), {"tasks[0].s[0] = null", "must be a number"}},
      {with("[2.5]", "[[2.5]]"), {"tasks[0].s[0] = [2.5]", "must be a number"}},
      {with("[2.5]", "2.5"), {"tasks[0].s = 2.5", "must be a list"}},
      {with("[2.5]", "[]"), {"tasks[0].s = 0 entries", "must have 1 entry"}},
      {with("[2.5]", "[1, 2]"), {"tasks[0].s = 2 entries", "must have 1 entry"}},
      {with("\"one\"", "\"\""), {"tasks[0].name = \"\"", "not empty"}},
      {with("\"one\"", "7"), {"tasks[0].name = 7", "must be a string"}},
      {with("\"name\": \"one\", ", ""), {"tasks[0].name = nothing", "must be given"}},
      {with("[[1, 0], [0, 1]]", "[[1, 0], [0]]"), {"tasks[0].A[1] = 1 entry", "2 entries"}},
      {with("[[1, 0], [0, 1]]", "[1, 0]"), {"tasks[0].A[0] = 1", "must be a list"}},
      {with("\"b\": [2, 2]", "\"b\": [2]"), {"tasks[0].b = 1 entry", "2 entries"}},
      {with("[[1, 0], [0, 1]]", "[[1, 0], [0, 0]]"), {"tasks[0].A[1] = [0,0]", "not 0"}},
      {with("\"s\"", "\"rows\": [\"a\", \"a\"], \"s\""), {"tasks[0].rows[1] = \"a\"", "differ"}},
      {with("\"s\"", "\"rows\": [\"a\"], \"s\""), {"tasks[0].rows = 1 entry", "2 entries"}},
      {with("[[2], [1]]", "[[2, 1, 1], [1, 1, 1]]"), {"L = ", "at least as many rows"}},
      {with("[[2], [1]]", "[]"), {"L = []", "at least one row"}},
      {with("[[2], [1]]", "[[], []]"), {"L = [[],[]]", "at least as many rows"}},
      {with("[[2], [1]]", "[[2], [1, 1]]"), {"L[1] = 2 entries", "1 entry, as many as L[0]"}},
      {with("\"p\": 0.01", "\"p\": 200"), {"q = 100", "greater than p"}},
      {with("\"p\": 0.01", "\"p\": 100"), {"q = 100", "greater than p"}},
      {with("\"p\": 0.01", "\"p\": 99.99999999999999"), {"q = 100", "beyond rounding"}},
      {with("\"p\": 0.01", "\"p\": -1"), {"p = -1", "greater than 0"}},
      {with("\"mu1\": 1", "\"mu1\": 0"), {"mu1 = 0", "greater than 0"}},
      {with("\"p\": 0.01, ", ""), {"p = nothing", "must be given"}},
      {with("\"p\"", "\"u\": 1, \"p\""), {"key = \"u\"", "not known"}},
      {with("\"p\"", "\"p\": 1, \"p\""), {"p = another value: must be given once only"}},
      {with("\"s\"", "\"b\": [1, 1], \"s\""), {"tasks[0].b = another value", "once only"}},
      {with("\"name\"", "\"c_max\": 1, \"name\""), {"tasks[0] key = \"c_max\"", "not known"}},
      {with("\"s\"", "\"anchor\": [3, 0], \"s\""), {"tasks[0].anchor", "row 0", "strictly safe"}},
      {with("\"p\"", "\"c_max\": 0, \"p\""), {"c_max = 0", "greater than 0"}},
      {with("[[1, 0], [0, 1]], \"b\": [2, 2]",
            "[[1, 0], [-1, 0]], \"b\": [1, -2], \"rows\": [\"low\", \"high\"]"),
       {"tasks[0]", "low", "high"}},
      {"[1]", {"input = [1]", "must be an object"}},
      {"[[1,2],{\"a\":\"\\u001b[31m\"}]", {"input = [[1,2],{\"a\":\"\\u001b", "an object"}},
      {"", {"must be JSON"}},
      {" \n", {"must be JSON"}},
      {std::string(1, '\0'), {"must be JSON"}},
      {"{}{}", {"line 1, column 3", "must be JSON"}},
      {"\xff\xfe{}", {"must be JSON"}},
      {with("\"one\"", "\"\xc3\x28\""), {"must be JSON"}},
      {with("\"one\"", "\"on"), {"must be JSON"}},
  });
}

TEST(ProjectionProblem, TasksHaveNamesOfTheirOwn) {
  expect_refused({{R"({"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [[1]], "tasks": [
                       {"name": "one", "A": [], "b": [], "s": [1]},
                       {"name": "one", "A": [], "b": [], "s": [1]}]})",
                   {"tasks[1].name = \"one\"", "must differ"}}});
}

// Products and squares of numbers like these overflow or vanish, and then nothing can be said of
// distances: `converged` was claimed of them.
TEST(ProjectionProblem, MagnitudesThatCannotBeComputedWithAreRefused) {
  const std::string rule = "magnitude from 1e-30 to 1e30";
  expect_refused({
      {with("[2.5]", "[1e999]"), {"tasks[0].s[0] = 1e999", "a double can hold"}},
      {with("[2.5]", "[-1e-999]"), {"tasks[0].s[0] = -1e-999", "a double can hold"}},
      {with("[2.5]", "[1e100]"), {"tasks[0].s[0] = 1e+100", rule}},
      {with("[2.5]", "[1e-100]"), {"tasks[0].s[0] = 1e-100", rule}},
      {with("[2.5]", "[1e-310]"), {"tasks[0].s[0] = ", rule}},
      {with("[2.5]", "[" + std::string(400, '9') + "]"), {"tasks[0].s[0] = 999", "a double can"}},
      {with("\"p\": 0.01", "\"p\": 1e-100"), {"p = 1e-100", rule}},
      {with("\"q\": 100", "\"q\": 1e100"), {"q = 1e+100", rule}},
      {with("\"mu2\": 1", "\"mu2\": 1e100"), {"mu2 = 1e+100", rule}},
      {with("[[1, 0], [0, 1]]", "[[1e100, 0], [0, 1]]"), {"tasks[0].A[0][0] = 1e+100", rule}},
      {with("\"b\": [2, 2]", "\"b\": [2, 1e300]"), {"tasks[0].b[1] = 1e+300", rule}},
      {with("[[2], [1]]", "[[2], [-1e31]]"), {"L[1][0] = -1e+31", rule}},
      {with("\"p\"", "\"c_max\": 1e200, \"p\""), {"c_max = 1e+200", rule}},
  });
}

// At the largest ratios that are allowed the answer is safe, and `converged` means that a general
// solver would not do better: here the answer is known.
TEST(ProjectionProblem, ExtremesInsideTheRuleAreAnswered) {
  for (const double scale : {1e-30, 1e-15, 1.0, 1e15, 1e30}) {
    // s ≤ scale from 2 scale at L = 1: with μ₁ far below μ₂ s gives way alone.
    const std::string text = fmt::format(
        R"({{"p": 0.01, "q": 100, "mu1": 1, "mu2": 1e30, "L": [[1]],
             "tasks": [{{"name": "one", "A": [[1]], "b": [{0}], "anchor": [0], "s": [{1}]}}]}})",
        scale, std::min(1e30, 2 * scale));
    const ProjectionProblem problem = read_projection_problem(text);
    const ProjectionSolution solution = solve_projection_problem(problem);
    EXPECT_TRUE(solution.verified) << scale;
    EXPECT_TRUE(std::isfinite(solution.objective)) << scale;
    // Beyond that L gives way as well, since the distance in s counts as much.
    if (solution.status != ProjectionStatus::converged || scale > 1) continue;
    const double s = solution.knowledge.coefficients(0, 0);
    EXPECT_NEAR(s / scale, 1, 1e-6) << scale;
  }
}

TEST(ProjectionProblem, LargeInputIsRefusedSoon) {
  std::string keys = "{\"a\": 0";
  for (int i = 0; i < 200'000; ++i) keys += fmt::format(",\"key {}\": {}", i, i);
  std::string values = "[0";
  while (values.size() < 12'000'000) values += ",0,0,0,0,0,0,0,0";
  std::string wide = "[";  // 401 × 100
  for (int i = 0; i < 401; ++i) {
    wide += i > 0 ? ",[1" : "[1";
    for (int j = 1; j < 100; ++j) wide += ",0";
    wide += "]";
  }
  wide += "]";
  expect_refused({
      {keys + "}", {"key = \"", "not known"}},
      // NOLINTNEXTLINE(bugprone-string-constructor): as long as that on purpose.
      {"{\"" + std::string(10'000'000, 'k') + "\": 1}", {"key = \"kkk", "not known"}},
      // NOLINTNEXTLINE(bugprone-string-constructor)
      {with("\"one\"", "[\"" + std::string(10'000'000, 'n') + "\"]"), {"tasks[0].name"}},
      {values + "]", {"more than 5000000 values", "must have at most"}},
      {with("[[2], [1]]", wide), {"L = 401 x 100", "at most 40000 numbers"}},
      {std::string(80'000, '['), {"nested deeper than 64"}},
      {with("[2.5]", std::string(80'000, '[') + std::string(80'000, ']')),
       {"tasks[0].s[0]", "nested deeper than 64"}},
  });
}

TEST(ProjectionProblem, PaperModeHasASizeItCanSolve) {
  ProjectionProblem problem;
  problem.p = 0.01;
  problem.q = 100;
  problem.mu1 = problem.mu2 = 1;
  problem.target.basis = Eigen::MatrixXd::Identity(49, 49);
  problem.target.coefficients.resize(49, 0);
  problem.target.anchors.resize(49, 0);
  EXPECT_THROW(solve_projection_problem(problem, {.mode = ProjectionMode::paper}), InvalidInput);
  EXPECT_TRUE(solve_projection_problem(problem).ok());
}

/// Boxes around random anchors and a point outside of most of them, with slack limits.
ProjectionProblem boxed_problem(std::uint64_t seed, int d, int k, int count, bool ball) {
  Draws draws(seed);
  ProjectionProblem problem;
  problem.p = 0.14;
  problem.q = 4.8;
  problem.mu1 = 2.2;
  problem.mu2 = 8.1;
  problem.target.basis = draws.normals(d, k);
  problem.target.coefficients = 0.5 * draws.normals(k, count);
  problem.target.anchors = draws.normals(d, count);
  Eigen::MatrixXd rows(2 * d, d);
  rows << Eigen::MatrixXd::Identity(d, d), -Eigen::MatrixXd::Identity(d, d);
  std::vector<std::string> names;
  for (int i = 0; i < 2 * d; ++i) names.push_back(fmt::format("row {}", i));
  for (int t = 0; t < count; ++t) {
    Eigen::VectorXd room(2 * d);
    for (double& value : room) value = draws.uniform(0.3, 1);
    problem.names.push_back(fmt::format("task {}", t));
    problem.has_row_names.push_back(false);
    problem.safe_sets.emplace_back(rows, rows * problem.target.anchors.col(t) + room, names,
                                   ball ? 1.02 * room.norm() : kInfinity);
  }
  return problem;
}

// Cutting planes for the balls and the spectrum, and steps that knew no curvature, took minutes.
TEST(ProjectionProblem, BoxesWithSlackLimitsAreSolved) {
  const ProjectionSolution solution =
      solve_projection_problem(boxed_problem(3, 24, 24, 11, true), {.seconds = 300});
  EXPECT_EQ(solution.status, ProjectionStatus::converged);
  EXPECT_TRUE(solution.verified);
  EXPECT_LT(solution.alternations, 300);
}

// One dense row for each constraint took 9 GB.
TEST(ProjectionProblem, ManySmallTasksAreSolved) {
  ProjectionProblem problem = boxed_problem(4, 1, 1, 20'000, false);
  problem.target.basis(0, 0) = 2;
  const ProjectionSolution solution = solve_projection_problem(problem, {.seconds = 300});
  EXPECT_EQ(solution.status, ProjectionStatus::converged);
  EXPECT_TRUE(solution.verified);
  // L alone decides: another L, with the best s for it, is not better.
  const auto value_at = [&](double l) {
    double sum = problem.mu2 * (l - 2) * (l - 2);
    for (Eigen::Index t = 0; t < problem.target.coefficients.cols(); ++t) {
      const SafeSet& set = problem.safe_sets[static_cast<std::size_t>(t)];
      const double anchor = problem.target.anchors(0, t);
      const double wanted = problem.target.coefficients(0, t);
      const double s =
          std::clamp(wanted, -(set.limits()(1) + anchor) / l, (set.limits()(0) - anchor) / l);
      sum += problem.mu1 * (s - wanted) * (s - wanted);
    }
    return sum;
  };
  const double l = std::fabs(solution.knowledge.basis(0, 0));
  EXPECT_NEAR(solution.objective, value_at(l), 1e-6 * solution.objective);
  for (const double factor : {0.9, 0.99, 0.999, 1.001, 1.01, 1.1}) {
    EXPECT_GE(value_at(std::clamp(factor * l, 0.38, 2.19)), (1 - 1e-9) * solution.objective);
  }
}

TEST(ProjectionProblem, WithoutTimeTheAnswerIsSafeAndSaysSo) {
  const ProjectionProblem problem = boxed_problem(5, 10, 6, 8, true);
  const ProjectionSolution none = solve_projection_problem(problem, {.seconds = 0});
  EXPECT_EQ(none.status, ProjectionStatus::time_limit);
  EXPECT_TRUE(none.verified);
  EXPECT_TRUE(none.ok());
  const ProjectionSolution enough = solve_projection_problem(problem, {.seconds = kInfinity});
  EXPECT_EQ(enough.status, ProjectionStatus::converged);
  EXPECT_LE(enough.objective, none.objective);
  for (int most = 1; most < 40; most += 7) {
    const ProjectionSolution some = solve_projection_problem(problem, {.max_alternations = most});
    EXPECT_EQ(some.status, ProjectionStatus::alternation_limit);
    EXPECT_TRUE(some.verified);
    EXPECT_LE(some.alternations, most);
    EXPECT_GE(some.objective, enough.objective * (1 - 1e-9));
  }
}

// Enough work for hours; the limit is what ends it, inside of the steps too.
TEST(ProjectionProblem, LargeProblemsEndInTime) {
  const ProjectionProblem problem = boxed_problem(6, 60, 40, 300, true);
  const auto start = std::chrono::steady_clock::now();
  const ProjectionSolution solution = solve_projection_problem(problem, {.seconds = 0.5});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(solution.status, ProjectionStatus::time_limit);
  EXPECT_TRUE(solution.verified);
  EXPECT_LT(solution.seconds, 20);  // on a machine that does much else
  EXPECT_LT(elapsed.count(), 120);
}

TEST(ProjectionProblem, BasesTooLargeForTheDescentSayTheyAre) {
  const ProjectionSolution solution =
      solve_projection_problem(boxed_problem(7, 60, 45, 2, false), {.seconds = 300});
  EXPECT_EQ(solution.status, ProjectionStatus::too_large);
  EXPECT_TRUE(solution.ok());
}

TEST(ProjectionProblem, TheSearchForAnAnchorEndsInTime) {
  std::string text = R"({"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [)";
  constexpr int kSize = 60;
  for (int i = 0; i < kSize; ++i) text += i > 0 ? ",[1]" : "[1]";
  text += R"(], "tasks": [{"name": "far from 0", "s": [1], "A": [)";
  Draws draws(8);
  for (int i = 0; i < 2 * kSize; ++i) {
    text += i > 0 ? ",[" : "[";
    for (int j = 0; j < kSize; ++j) text += fmt::format("{}{}", j > 0 ? "," : "", draws.normal());
    text += "]";
  }
  text += "], \"b\": [";
  for (int i = 0; i < 2 * kSize; ++i) text += i > 0 ? ",-1e-3" : "-1e-3";
  text += "]}]}";
  try {
    read_projection_problem(text, Deadline::after(0.01));
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tasks[0]"));
    EXPECT_THAT(error.what(), HasSubstr("give an anchor, or more time"));
  }
}

}  // namespace lifeguard::projection_problem_test
