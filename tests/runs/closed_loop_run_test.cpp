#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/incidents.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/played_runs.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::closed_loop_run_test {

using run_files::RunFiles;
using testing::HasSubstr;

ExperimentConfig cart_poles(std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), "experiment.rounds=20");
  return parse_config(kClosedLoopPoles, "cart-poles.toml", overrides);
}

std::string refusal(const std::vector<std::string>& overrides) {
  try {
    draw_tasks(cart_poles(overrides));
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(ClosedLoopConfig, SaysWhatIsWrong) {
  EXPECT_THAT(refusal({"safe_set.closed_loop.tolerance=-0.1"}),
              HasSubstr("safe_set.closed_loop.tolerance"));
  EXPECT_THAT(refusal({"safe_set.closed_loop.decay=1.5"}), HasSubstr("decay"));
  EXPECT_THAT(refusal({"safe_set.closed_loop.stetement=\"linear\""}), HasSubstr("stetement"));
  EXPECT_THAT(refusal({"safe_set.closed_loop.statement=\"wishful\""}),
              HasSubstr("must be one of nonlinear, linear"));
  EXPECT_THAT(refusal({"family.settings.noise_limit=inf"}),
              HasSubstr("--set: family.settings.noise_limit = inf"));
  EXPECT_THAT(refusal({"policy.bias=true"}), HasSubstr("needs a policy that sees the state alone"));
  EXPECT_THAT(refusal({"family.settings.integrator=\"runge_kutta_4\""}), HasSubstr("integrator"));
  EXPECT_THAT(refusal({"safe_set.closed_loop.settling_seconds=3"}), HasSubstr("given twice"));
  // A first controller that is not proven is refused with numbers, not replaced.
  EXPECT_THAT(refusal({"safe_set.closed_loop.first_lqr_share=0.01"}),
              HasSubstr("it is the anchor that cannot be proven"));
  EXPECT_THAT(refusal({"safe_set.closed_loop.certified_noise=0.2"}),
              HasSubstr("must be less than family.settings.noise_limit = 0.1"));
  // What would be feasible.
  EXPECT_THAT(refusal({"family.settings.noise_limit=10"}), HasSubstr("of the noise would do"));
}

TEST(ClosedLoopConfig, MachinesLieWithinTheirTolerance) {
  const ExperimentConfig config = cart_poles();
  const DrawnTasks drawn = draw_tasks(config);
  bool moved = false;
  for (int t = 0; t < config.tasks; ++t) {
    const Task known = config.family.draw(0, static_cast<std::uint64_t>(t));
    const Task& actual = drawn.tasks[static_cast<std::size_t>(t)];
    for (const ParameterRange& range : config.family.ranges) {
      const double share =
          parameter(actual.system, range.parameter) / parameter(known.system, range.parameter);
      EXPECT_LE(std::abs(share - 1), 0.1 + 1e-12);
      moved = moved || std::abs(share - 1) > 0.02;
    }
    EXPECT_TRUE(strictly_safe(drawn.safe_sets[static_cast<std::size_t>(t)],
                              drawn.first[static_cast<std::size_t>(t)].parameters));
  }
  EXPECT_TRUE(moved);
}

class ClosedLoopRuns : public RunFiles {};

// The whole way: learn, check in exact arithmetic, play again, look at it, export.
TEST_F(ClosedLoopRuns, NoFallsAndEveryPolicyProven) {
  const auto file = path("a.run");
  start_run(cart_poles(), file, {});
  const RunView view(file);
  ASSERT_EQ(view.rounds.size(), 20U);
  for (const StoredRound& round : view.rounds) {
    EXPECT_EQ(round.unsafe, 0);
    EXPECT_EQ(round.fallbacks, 0);
    EXPECT_EQ(round.falls + round.violations + round.saturations, 0);
    // What the inequalities mean: every plant of the inclusion contracts under what was played.
    const ClosedLoop& loop = *view.safe_set(round.task).closed_loops().front();
    const Eigen::MatrixXd gains = gains_from_parameters(round.played, 1);
    for (const UncertainPlant::Corner& corner : loop.plant.corners) {
      const Eigen::MatrixXd closed = corner.a + corner.b * gains;
      EXPECT_LE(closed.eigenvalues().cwiseAbs().maxCoeff(), loop.decay);
    }
  }
  const RunCheck check = check_run(file, /*replay=*/true);
  EXPECT_TRUE(check.findings.empty()) << check.findings.front();
  EXPECT_LT(view.evaluations.back().costs.mean(), view.evaluations.front().costs.mean());
}

TEST_F(ClosedLoopRuns, CertificatesHoldWhatIsProvenOfTheMachine) {
  const auto file = path("a.run");
  start_run(cart_poles({"experiment.rounds=3"}), file, {});
  const RunView view(file);
  const nlohmann::json json = nlohmann::json::parse(view.certificate_json);
  for (int t = 0; t < 3; ++t) {
    const ClosedLoop& loop = *view.safe_set(t).closed_loops().front();
    const nlohmann::json& entry = json.at("tasks").at(static_cast<std::size_t>(t));
    EXPECT_GT(entry.at("row_margin").get<double>(), 0);
    const nlohmann::json& stated = entry.at("closed_loops").at(0);
    EXPECT_EQ(stated.at("decay").get<double>(), loop.decay);
    EXPECT_EQ(stated.at("p").at(1).at(0).get<double>(), loop.p(1, 0));
    EXPECT_EQ(stated.at("corners").size(), loop.plant.corners.size());
  }
  // A λ that nobody proved is found, whatever the checksums say.
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE meta SET value = replace(value, '\"decay\":0.99', '\"decay\":0.98') "
          "WHERE key = 'certificate'");
  const RunCheck check = check_run(file, {.checksums = Checksums::ignore});
  ASSERT_FALSE(check.findings.empty());
  EXPECT_THAT(check.findings.front(), HasSubstr("another closed loop"));
}

TEST_F(ClosedLoopRuns, KilledAndResumedToTheSameBits) {
  start_run(cart_poles(), path("whole.run"), {});
  RunOptions options;
  options.after_round = [](const lifeguard::Run& run, const RoundOutcome&) {
    return run.rounds_done() < 7;
  };
  start_run(cart_poles(), path("cut.run"), options);
  resume_run(path("cut.run"), {});
  const RunView whole(path("whole.run"));
  const RunView cut(path("cut.run"));
  EXPECT_EQ(whole.policies, cut.policies);
  ASSERT_EQ(cut.rounds.size(), whole.rounds.size());
  for (std::size_t i = 0; i < cut.rounds.size(); ++i) {
    EXPECT_EQ(whole.rounds[i].played, cut.rounds[i].played);
  }
}

TEST_F(ClosedLoopRuns, ExportedControllersCarryTheirRegion) {
  start_run(cart_poles(), path("a.run"), {});
  const RunView view(path("a.run"));
  const ExportedPolicy policy = export_policy(view, "1");
  const ClosedLoop& loop = *view.safe_set(1).closed_loops().front();
  const nlohmann::ordered_json json = policy_to_json(policy);
  EXPECT_EQ(json["closed_loop"]["decay"], loop.decay);
  EXPECT_EQ(json["closed_loop"]["p"][2][3], loop.p(2, 3));
  EXPECT_EQ(json["closed_loop"]["corners"].size(), loop.plant.corners.size());
  const std::vector<GainInequality> inequalities = loop.inequalities();
  ASSERT_EQ(json["closed_loop"]["inequalities"].size(), inequalities.size());
  for (std::size_t i = 0; i < inequalities.size(); ++i) {
    const nlohmann::ordered_json& written = json["closed_loop"]["inequalities"][i];
    EXPECT_EQ(written["name"], inequalities[i].name());
    EXPECT_EQ(written["theta"][4][1], inequalities[i].theta()(4, 1));
    EXPECT_EQ(written["limit"][2][3], inequalities[i].limit()(2, 3));
  }
  // The header, compiled, tells states inside from states outside as the library does.
  std::ofstream(path("controller.hpp")) << policy_to_header(policy);
  std::ofstream program(path("main.cpp"));
  program << "#include \"controller.hpp\"\n#include <cstdio>\nusing namespace cart_pole_1;\n"
          << "static_assert(kDecay < 0.995 && kStates == 4);\nint main() {\n";
  const Eigen::VectorXd edge = loop.start_high;
  for (const double part : {0.5, 1.0, 3.0, 100.0}) {
    program << "  { const double x[4] = {";
    for (int i = 0; i < 4; ++i) program << (i > 0 ? ", " : "") << part * edge(i);
    program << "};\n    std::printf(\"%d\\n\", in_guaranteed_region(x)); }\n";
  }
  program << "}\n";
  program.close();
  const std::string binary = path("program").string();
  ASSERT_EQ(std::system(("c++ -std=c++17 -Wall -Werror -o " + binary + " " +
                         path("main.cpp").string() + " && " + binary + " > " + path("out").string())
                            .c_str()),
            0);
  std::ifstream out(path("out"));
  for (const double part : {0.5, 1.0, 3.0, 100.0}) {
    int inside = -1;
    out >> inside;
    EXPECT_EQ(inside, loop.guarantees(part * edge) ? 1 : 0) << part;
  }
  EXPECT_TRUE(loop.guarantees(edge));
  EXPECT_FALSE(loop.guarantees(100 * edge));
}

// Noise that is not clipped leaves what is guaranteed some day: how often is said, and true.
TEST_F(ClosedLoopRuns, UnclippedNoiseComesWithItsExitProbability) {
  const ExperimentConfig clipped = cart_poles();
  const DrawnTasks drawn = draw_tasks(clipped);
  const ClosedLoop& loop = *drawn.safe_sets[0].closed_loops().front();
  EXPECT_EQ(exit_probability(drawn.tasks[0], loop, clipped.steps), 0);

  const ExperimentConfig unclipped =
      cart_poles({"family.settings.noise_limit=inf", "family.settings.sigma=0.04",
                  "safe_set.closed_loop.certified_noise=0.1", "experiment.rounds=2"});
  const auto file = path("unclipped.run");
  start_run(unclipped, file, {});
  const RunView view(file);
  const double probability = summarise(view).exit_probability;
  // 2 Φ(-2.5) = 0.012419 a step.
  EXPECT_NEAR(probability, 1 - std::pow(1 - 0.0124193, unclipped.steps), 1e-4);

  // As many trajectories exceed the limit as it says.
  RolloutSettings rollouts;
  rollouts.trajectories = 20000;
  rollouts.steps = 20;
  const Task& task = view.tasks[0];
  const GaussianPolicy policy = GaussianPolicy::from_parameters(view.policies.col(0), 1, 0.04);
  Trajectories batch;
  rollout(task, policy, rollouts, batch);
  int outside = 0;
  for (int i = 0; i < batch.count(); ++i) {
    bool left = false;
    for (int m = 0; m < batch.steps(); ++m) {
      double mean = 0;
      for (int f = 0; f < 4; ++f) mean += policy.gains()(0, f) * batch.feature_row(m, f)[i];
      left = left || std::abs(batch.action_row(m, 0)[i] - mean) > 0.1;
    }
    outside += left ? 1 : 0;
  }
  const double expected = exit_probability(task, *view.safe_set(0).closed_loops().front(), 20);
  EXPECT_NEAR(outside / 20000.0, expected, 4 * std::sqrt(expected / 20000));
}

// Sets with the same inequalities and another guarantee are not the same.
TEST(ClosedLoopSafeSet, IsStoredOnceOnlyIfAllOfItIsEqual) {
  const ExperimentConfig config = cart_poles();
  DrawnTasks drawn = draw_tasks(config);
  drawn.safe_sets[1] = drawn.safe_sets[0];
  ClosedLoop smaller = *drawn.safe_sets[0].closed_loops().front();
  smaller.start_high *= 0.5;
  const SafeSet without = SafeSet(drawn.parameters()).with_inequalities(smaller.inequalities());
  drawn.safe_sets[2] = without.with_meaning(std::make_shared<const ClosedLoop>(smaller));
  const Eigen::MatrixXd first = Eigen::MatrixXd::Zero(drawn.parameters(), 3);
  const RunDescription description = describe(config, drawn, first, 4);
  EXPECT_EQ(description.safe_sets.size(), 2U);
  EXPECT_EQ(description.tasks[0].safe_set, description.tasks[1].safe_set);
  const DrawnTasks again = drawn_tasks_of(config, description);
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_TRUE(again.safe_sets[t] == drawn.safe_sets[t]);
    EXPECT_TRUE(*again.safe_sets[t].closed_loops().front() ==
                *drawn.safe_sets[t].closed_loops().front());
  }
}

// A machine gets another payload: its set changes while the learner goes on.
TEST(ClosedLoopSafeSet, MayChangeWhileTheLearnerRuns) {
  const ExperimentConfig config = cart_poles();
  const DrawnTasks drawn = draw_tasks(config);
  const DrawnTasks tighter = draw_tasks(
      cart_poles({"safe_set.closed_loop.tolerance=0.15", "safe_set.closed_loop.decay=0.995"}));
  Learner learner(4, 1, {});
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    learner.add_task(drawn.tasks[t].name, drawn.safe_sets[t], drawn.tasks[t].settings.sigma);
  }
  RolloutSettings rollouts;
  rollouts.trajectories = 20;
  Trajectories batch;
  std::vector<SafeSet> sets = drawn.safe_sets;
  for (int round = 0; round < 30; ++round) {
    const std::size_t t = static_cast<std::size_t>(round) % 3;
    if (round >= 12 && round < 15) {
      ASSERT_FALSE(sets[t] == tighter.safe_sets[t]);
      sets[t] = tighter.safe_sets[t];
      learner.set_safe_set(drawn.tasks[t].name, sets[t]);
    }
    for (std::size_t u = 0; u < sets.size(); ++u) {
      const GaussianPolicy policy = learner.policy(drawn.tasks[u].name);
      EXPECT_TRUE(obeys_exactly(sets[u], policy.parameters())) << round;
    }
    rollouts.seed = static_cast<std::uint64_t>(round);
    rollout(drawn.tasks[t], learner.policy(drawn.tasks[t].name), rollouts, batch);
    learner.observe(drawn.tasks[t].name, batch);
    EXPECT_TRUE(learner.certificate().valid()) << round;
  }
  EXPECT_EQ(learner.fallbacks(), 0);
}

// A state column can be changed in a file together with its checksum: the proof is what finds it.
TEST(ClosedLoopSafeSet, IsPartOfTheSavedLearner) {
  const DrawnTasks drawn = draw_tasks(cart_poles());
  const SafeSet& set = drawn.safe_sets[0];
  ASSERT_EQ(set.closed_loops().size(), 1U);
  EXPECT_EQ(set.constraints(), static_cast<int>(set.closed_loops()[0]->inequalities().size()));
  // A set keeps what it means through an intersection.
  const SafeSet both = intersect({set, SafeSet(4)});
  EXPECT_EQ(both.closed_loops().size(), 1U);
  EXPECT_TRUE(both == set);
  // And does not take a meaning that it does not have.
  EXPECT_THROW(SafeSet(4).with_meaning(set.closed_loops()[0]), InvalidInput);
}

TEST(ClippedNoise, HasTheDeviationThatWasAskedFor) {
  for (const double deviation : {0.01, 0.3, 0.6, 0.9}) {
    const double scale = clipped_noise_scale(deviation, 1.0);
    EXPECT_NEAR(clipped_noise_deviation(scale, 1.0), deviation, 1e-9);
    EXPECT_GE(scale, deviation);
  }
  EXPECT_EQ(clipped_noise_scale(0.3, kInfinity), 0.3);
  EXPECT_THROW(clipped_noise_scale(1.0, 1.0), InvalidInput);
  EXPECT_THROW(clipped_noise_scale(0.1, -1.0), InvalidInput);
}

// In rollouts: never beyond the limit, with the right deviation, and without a limit as before.
TEST(ClippedNoise, IsPlayed) {
  Task task = draw_tasks(cart_poles()).tasks[0];
  task.settings.sigma = 0.08;
  task.settings.noise_limit = 0.1;
  const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
  RolloutSettings rollouts;
  rollouts.trajectories = 400;
  const Trajectories batch = rollout(task, policy, rollouts);
  double squares = 0;
  double largest = 0;
  for (int i = 0; i < batch.count(); ++i) {
    for (int m = 0; m < batch.steps(); ++m) {
      double noise = batch.action(i, m, 0);
      for (int f = 0; f < 4; ++f) noise -= policy.gains()(0, f) * batch.feature(i, m, f);
      squares += noise * noise;
      largest = std::max(largest, std::abs(noise));
    }
  }
  EXPECT_LE(largest, 0.1 + 1e-12);
  EXPECT_GT(largest, 0.0999);
  EXPECT_NEAR(std::sqrt(squares / (batch.count() * batch.steps())), 0.08, 0.001);
}

TEST(Incidents, AreCounted) {
  Task task = draw_tasks(cart_poles()).tasks[0];
  RolloutSettings rollouts;
  rollouts.trajectories = 50;
  const GaussianPolicy idle(Eigen::MatrixXd::Zero(1, 4), 0.05);
  const Trajectories fallen = rollout(task, idle, rollouts);
  const Eigen::VectorXd wide = task.settings.failure_bounds;
  Incidents found = count_incidents(task, wide, fallen);
  EXPECT_EQ(found.falls, fallen.failed());
  EXPECT_GT(found.falls, 40);
  EXPECT_EQ(found.violations, found.falls);
  EXPECT_EQ(found.saturations, 0);
  Eigen::VectorXd narrow = wide;
  narrow(2) = 1e-6;
  EXPECT_EQ(count_incidents(task, narrow, fallen).violations, 50);
  const GaussianPolicy wild(Eigen::MatrixXd::Constant(1, 4, 1e4), 0.05);
  EXPECT_EQ(count_incidents(task, wide, rollout(task, wild, rollouts)).saturations, 50);
  const GaussianPolicy good(lqr_gains(task), 0.05);
  EXPECT_EQ(count_incidents(task, wide, rollout(task, good, rollouts)), Incidents{});
}

}  // namespace lifeguard::closed_loop_run_test
