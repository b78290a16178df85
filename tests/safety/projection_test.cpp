#include "lifeguard/safety/solve/projection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lifeguard/core/check.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::projection_test {

using test_support::Draws;
using test_support::RandomProjection;

ProjectionSettings settings_for(const RandomProjection& problem) {
  ProjectionSettings settings;
  settings.p = problem.p;
  settings.q = problem.q;
  return settings;
}

const ProjectionResult& run(Projection& projection, const RandomProjection& p) {
  return projection.project({p.tasks}, p.target, p.last);
}

TEST(Projection, RandomProblemsAreSafeAndNeverGetWorse) {
  long kept = 0;
  const int count = 400;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Draws draws(derive_seed(7, seed));
    const test_support::ProjectionSize size = seed % 50 == 0
                                                  ? test_support::ProjectionSize{}
                                                  : test_support::ProjectionSize{12, 12, 40, 12};
    const RandomProjection problem = test_support::random_projection(draws, size);
    Projection projection(settings_for(problem));
    const ProjectionResult& result = run(projection, problem);
    EXPECT_EQ(test_support::unsafe_count(problem, result.knowledge), 0) << "seed " << seed;
    EXPECT_EQ(result.repaired_tasks, 0);
    EXPECT_GT(result.worst_row_margin, 0);
    EXPECT_GT(result.worst_slack_margin, 0);
    for (std::size_t i = 1; i < result.objectives.size(); ++i) {
      EXPECT_LE(result.objectives[i], result.objectives[i - 1]) << "seed " << seed;
    }
    kept += result.status == ProjectionStatus::kept_last;
  }
  EXPECT_LE(kept, count / 50);
}

// Every solver step fails, in every way, in chains of rounds: each point is safe all the same.
TEST(Projection, SafeWhenEverySolverStepFails) {
  long rounds = 0;
  long unsafe = 0;
  long failures = 0;
  for (std::uint64_t seed = 0; rounds < 10000; ++seed) {
    Draws draws(derive_seed(8, seed));
    RandomProjection problem = test_support::random_projection(draws, {6, 6, 10, 4});
    ProjectionSettings settings = settings_for(problem);
    settings.mode = seed % 4 == 3 ? ProjectionMode::paper : ProjectionMode::exact;
    settings.max_alternations = 2;
    const double probability = seed % 2 == 0 ? 1.0 : 0.5;
    const int kind = draws.integer(0, 3);
    Projection projection(settings);
    projection.inject_faults([&](ProjectionStage) {
      if (!draws.chance(probability)) return ProjectionFault::none;
      ++failures;
      return kind == 3 ? static_cast<ProjectionFault>(draws.integer(1, 3))
                       : static_cast<ProjectionFault>(kind + 1);
    });
    for (int round = 0; round < 50; ++round, ++rounds) {
      test_support::draw_target(draws, problem);
      const ProjectionResult& result = run(projection, problem);
      unsafe += test_support::unsafe_count(problem, result.knowledge);
      problem.last = result.knowledge;
    }
  }
  EXPECT_EQ(unsafe, 0);
  EXPECT_GT(failures, 25000);
}

// The fault hook itself must bite: without verification these faults would be unsafe.
TEST(Projection, ReportsFailures) {
  Draws draws(3);
  RandomProjection problem = test_support::random_projection(draws, {6, 6, 10, 4});
  ProjectionSettings settings = settings_for(problem);
  Projection projection(settings);
  projection.inject_faults([](ProjectionStage) { return ProjectionFault::not_finite; });
  const ProjectionResult& result = run(projection, problem);
  EXPECT_EQ(result.status, ProjectionStatus::kept_last);
  EXPECT_EQ(result.knowledge, problem.last);
}

TEST(Projection, RepairsAnUnsafeStart) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(derive_seed(9, seed));
    RandomProjection problem = test_support::random_projection(draws, {8, 8, 20, 6});
    problem.last.basis *= 100;
    problem.last.coefficients.array() += 10;
    if (seed % 3 == 0) problem.last.basis.setZero();
    if (seed % 7 == 0) problem.last.basis(0, 0) = std::numeric_limits<double>::quiet_NaN();
    if (seed % 5 == 0) problem.last.coefficients(0, 0) = std::numeric_limits<double>::infinity();
    Projection projection(settings_for(problem));
    const ProjectionResult& result = run(projection, problem);
    EXPECT_EQ(test_support::unsafe_count(problem, result.knowledge), 0) << "seed " << seed;
    // Nobody asks for the start if the target is safe.
    EXPECT_TRUE(result.repaired_basis || result.objective == 0) << "seed " << seed;
  }
}

TEST(Projection, KeepsTheLastPointForATargetThatIsNotFinite) {
  Draws draws(4);
  RandomProjection problem = test_support::random_projection(draws, {6, 6, 10, 4});
  problem.target.coefficients(0, 0) = std::numeric_limits<double>::quiet_NaN();
  for (const ProjectionMode mode :
       {ProjectionMode::exact, ProjectionMode::paper, ProjectionMode::none}) {
    ProjectionSettings settings = settings_for(problem);
    settings.mode = mode;
    Projection projection(settings);
    const ProjectionResult& result = run(projection, problem);
    EXPECT_EQ(result.status, ProjectionStatus::kept_last);
    EXPECT_EQ(result.knowledge.coefficients, problem.last.coefficients);
  }
}

TEST(Projection, IsAPureFunctionOfItsArguments) {
  Draws draws(5);
  const RandomProjection first = test_support::random_projection(draws, {10, 10, 30, 8});
  Projection fresh(settings_for(first));
  const Knowledge knowledge = run(fresh, first).knowledge;
  EXPECT_EQ(run(fresh, first).knowledge, knowledge);
  Projection used(settings_for(first));
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Draws other(derive_seed(10, seed));
    RandomProjection between = test_support::random_projection(other, {12, 12, 40, 12});
    between.p = first.p;
    run(used, between);
  }
  EXPECT_EQ(run(used, first).knowledge, knowledge);
}

// At a vertex with more binding rows than L has numbers there is no step to search for. The search
// took more than 200 Newton steps a round.
TEST(Projection, ALearnerInAVertexIsAnsweredSoon) {
  Draws draws(derive_seed(11, 404));
  ProjectionSettings settings;
  settings.p = 0.25;
  settings.q = 4;
  Projection projection(settings);
  std::vector<ProjectionTask> tasks;
  for (int t = 0; t < 10; ++t) tasks.push_back(test_support::random_task(draws, 8, 4, {}));
  Knowledge last;
  last.basis = test_support::random_basis(draws, 4, 4, 0.25, 4);
  last.coefficients = Eigen::MatrixXd::Zero(4, 10);
  last.anchors = test_support::anchors_of(tasks, 4);
  const Eigen::MatrixXd goal_basis = 0.5 * draws.normals(4, 4);
  const Eigen::MatrixXd goal_coefficients = 0.7 * draws.normals(4, 10);
  long steps = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < 2 * kRounds; ++round) {
    Knowledge target = last;
    target.basis += 0.02 * (goal_basis - last.basis) + 0.002 * draws.normals(4, 4);
    target.coefficients +=
        0.02 * (goal_coefficients - last.coefficients) + 0.002 * draws.normals(4, 10);
    const ProjectionResult& result = projection.project({tasks}, target, last);
    last = result.knowledge;
    if (round >= kRounds) steps += result.basis_iterations;
  }
  EXPECT_LT(steps, 50 * kRounds);
}

TEST(Projection, ModeNoneLimitsOnlyTheSpectrum) {
  Draws draws(6);
  RandomProjection problem = test_support::random_projection(draws, {8, 8, 20, 5});
  problem.target.basis *= 1e3;
  ProjectionSettings settings = settings_for(problem);
  settings.mode = ProjectionMode::none;
  settings.none_limits_spectrum = true;
  Projection projection(settings);
  const ProjectionResult& result = run(projection, problem);
  EXPECT_EQ(result.status, ProjectionStatus::not_checked);
  EXPECT_EQ(result.knowledge.coefficients, problem.target.coefficients);
  SpectrumVerifier verifier;
  EXPECT_TRUE(verifier.inside(result.knowledge.basis, problem.p, problem.q));
}

// The paper's way: one semi-definite program, then the S-step that makes it safe.
TEST(Projection, PaperModeIsSafe) {
  int solved = 0;
  const int count = 60;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Draws draws(derive_seed(13, seed));
    RandomProjection problem = test_support::random_projection(draws, {8, 6, 12, 6});
    ProjectionSettings settings = settings_for(problem);
    settings.mode = ProjectionMode::paper;
    Projection projection(settings);
    const ProjectionResult& result = run(projection, problem);
    EXPECT_EQ(test_support::unsafe_count(problem, result.knowledge), 0) << "seed " << seed;
    solved += result.status == ProjectionStatus::converged;
  }
  EXPECT_GE(solved, count * 8 / 10);
}

TEST(Projection, RejectsSettingsOutsideTheirRules) {
  ProjectionSettings settings;
  settings.q = settings.p;
  EXPECT_THROW(Projection{settings}, InvalidInput);
  settings = {};
  settings.mu1 = 0;
  EXPECT_THROW(Projection{settings}, InvalidInput);
  settings = {};
  settings.max_alternations = 0;
  EXPECT_THROW(Projection{settings}, InvalidInput);
}

// Whoever hands in other anchors than the tasks have would get policies that nobody verified.
TEST(Projection, RejectsAnchorsThatAreNotTheTasks) {
  Draws draws(12);
  const RandomProjection problem = test_support::random_projection(draws, {6, 6, 10, 4});
  Projection projection(settings_for(problem));
  RandomProjection other = problem;
  other.target.anchors(0, 0) += 1;
  EXPECT_THROW(run(projection, other), InvalidInput);
  other = problem;
  other.last.anchors.resize(0, 0);
  EXPECT_THROW(run(projection, other), InvalidInput);
}

TEST(Projection, ADeadlineThatIsNotReachedChangesNoBit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(derive_seed(15, seed));
    const RandomProjection problem = test_support::random_projection(draws, {8, 8, 20, 6});
    ProjectionSettings settings = settings_for(problem);
    settings.descend = seed % 2 == 0;
    settings.max_alternations = 100;
    Projection without(settings);
    Projection with(settings);
    const ProjectionResult& expected = run(without, problem);
    const ProjectionResult& result =
        with.project({problem.tasks, Deadline::after(1e6)}, problem.target, problem.last);
    EXPECT_EQ(result.knowledge, expected.knowledge) << seed;
    EXPECT_EQ(result.status, expected.status) << seed;
    EXPECT_EQ(result.objectives, expected.objectives) << seed;
  }
}

TEST(Projection, AfterTheDeadlineThePointIsSafeAllTheSame) {
  int limited = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(derive_seed(16, seed));
    RandomProjection problem = test_support::random_projection(draws, {10, 10, 30, 8});
    if (seed % 3 == 0) problem.last.coefficients.array() += 10;  // to be repaired without time
    if (seed % 5 == 0) problem.last.basis *= 100;
    ProjectionSettings settings = settings_for(problem);
    settings.mode = seed % 4 == 3 ? ProjectionMode::paper : ProjectionMode::exact;
    settings.descend = true;
    Projection projection(settings);
    const double seconds = seed % 2 == 0 ? 0 : draws.power(1e-6, 1e-3);
    const ProjectionResult& result =
        projection.project({problem.tasks, Deadline::after(seconds)}, problem.target, problem.last);
    EXPECT_EQ(test_support::unsafe_count(problem, result.knowledge), 0) << seed;
    limited += result.status == ProjectionStatus::time_limit;
    for (std::size_t i = 1; i < result.objectives.size(); ++i) {
      if (settings.mode == ProjectionMode::paper) break;
      EXPECT_LE(result.objectives[i], result.objectives[i - 1]) << seed;
    }
  }
  EXPECT_GT(limited, 20);
}

TEST(Projection, DescentIsNeverWorseThanAlternation) {
  int lower = 0, converged = 0;
  const int count = 60;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Draws draws(derive_seed(17, seed));
    const RandomProjection problem = test_support::random_projection(draws, {8, 8, 20, 6});
    ProjectionSettings settings = settings_for(problem);
    settings.max_alternations = 500;
    Projection alternating(settings);
    settings.descend = true;
    settings.objective_tolerance = 1e-10;
    Projection descending(settings);
    const double first = run(alternating, problem).objective;
    const ProjectionResult& result = run(descending, problem);
    EXPECT_EQ(test_support::unsafe_count(problem, result.knowledge), 0) << seed;
    EXPECT_LE(result.objective, first * (1 + 1e-3)) << seed;
    lower += result.objective < first * (1 - 1e-3);
    converged += result.status == ProjectionStatus::converged;
  }
  EXPECT_GT(lower, count / 10);
  EXPECT_GE(converged, count * 9 / 10);
}

// The verifier has to refuse what is unsafe by less than a rounding error of the naive check.
TEST(TaskVerifier, RefusesTheBoundary) {
  long refused_outside = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draws draws(derive_seed(11, seed));
    const long d = draws.integer(1, 24);
    const ProjectionTask task = test_support::random_task(draws, draws.integer(1, 20), d, {});
    const long k = draws.integer(1, static_cast<int>(d));
    const Eigen::MatrixXd basis = draws.normals(d, k);
    Eigen::VectorXd s = draws.normals(k, 1);
    using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    const Wide rows = task.rows().cast<long double>();
    const Wide image = rows * (basis.cast<long double>() * s.cast<long double>());
    const Wide bounds =
        task.limits().cast<long double>() - rows * task.anchor().cast<long double>();
    const double reach = static_cast<double>((image.array() / bounds.array()).maxCoeff());
    if (reach <= 0) continue;
    // Within a few units in the last place of the boundary, on either side.
    s *= (1 + draws.uniform(-8, 8) * 0x1p-52) / reach;
    TaskVerifier verifier;
    const bool accepted = verifier.margin(task, basis, rounded_up_length(basis), s).safe();
    const Wide policy =
        task.anchor().cast<long double>() + basis.cast<long double>() * s.cast<long double>();
    const Wide slack = task.limits().cast<long double>() - rows * policy;
    const bool safe = (slack.array() >= 0).all();
    EXPECT_TRUE(!accepted || safe) << "seed " << seed;
    refused_outside += !safe && !accepted;
  }
  EXPECT_GT(refused_outside, 100);
}

}  // namespace lifeguard::projection_test
