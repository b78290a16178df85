// What a run file holds of what empirical Bayes believes, against the learner itself.
#include "lifeguard/runs/run_beliefs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/task_directions.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/followed_tasks.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/played_runs.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::run_beliefs_test {

using run_files::results_of;
using run_files::RunFiles;

class StoredBeliefsOf : public RunFiles {};

const Learner& learner_of(const lifeguard::Run& run) {
  return dynamic_cast<const Learner&>(run.learner());
}

Eigen::MatrixXd whole(const Eigen::VectorXd& half, Eigen::Index size) {
  Eigen::MatrixXd matrix(size, size);
  Eigen::Index next = 0;
  for (Eigen::Index c = 0; c < size; ++c) {
    for (Eigen::Index r = c; r < size; ++r) matrix(r, c) = matrix(c, r) = half(next++);
  }
  return matrix;
}

TEST_F(StoredBeliefsOf, EveryRoundAreTheLearnersOwn) {
  const ExperimentConfig config = small_believing_experiment(40, 5);
  start_run(config, path("a.run"));
  const RunView view(path("a.run"));
  lifeguard::Run run(config);
  run.evaluate_now();
  std::map<int, long> visits;
  std::size_t next = 0;
  std::size_t next_of_task = 0;
  std::size_t priors = 0;
  for (const StoredRound& round : view.rounds) {
    const std::string& name = run.drawn().tasks[static_cast<std::size_t>(round.task)].name;
    const std::optional<TaskPosterior> before = learner_of(run).posterior(name);
    run.play();
    const TaskBeliefs beliefs = *learner_of(run).beliefs();
    EXPECT_EQ(round.agreement, beliefs.agreement);
    const auto expect_next = [&](long moment, long visit, const TaskPosterior& posterior) {
      ASSERT_LT(next_of_task, view.task_beliefs.size());
      const StoredTaskBelief& stored = view.task_beliefs[next_of_task++];
      EXPECT_EQ(stored.moment, moment);
      EXPECT_EQ(stored.round(), round.round);
      EXPECT_EQ(stored.task, round.task);
      EXPECT_EQ(stored.visit, visit);
      EXPECT_EQ(stored.mean, posterior.mean);
      const Eigen::MatrixXd covariance = whole(stored.covariance, 2);
      EXPECT_EQ(covariance(1, 0), posterior.covariance(1, 0));
      EXPECT_EQ(covariance(0, 0), posterior.covariance(0, 0));
      EXPECT_EQ(covariance(1, 1), posterior.covariance(1, 1));
      const Eigen::Vector2d a(0.3, -2);
      EXPECT_NEAR(variance_along(stored.covariance, a), a.dot(covariance * a), 1e-12);
    };
    const long visit = ++visits[round.task];
    if (visit == 1 && before) {
      EXPECT_FALSE(before->visited);
      expect_next(2 * round.round - 1, 0, *before);
      ++priors;
    }
    if (visit <= 8) expect_next(2 * round.round, visit, *learner_of(run).posterior(name));
    if (next >= view.beliefs.size() || view.beliefs[next].round != round.round) continue;
    const StoredBeliefs& stored = view.beliefs[next++];
    EXPECT_EQ(stored.mean, beliefs.mean);
    EXPECT_EQ(stored.trust_in_mean, beliefs.trust_in_mean);
    const Eigen::MatrixXd covariance = beliefs.basis * beliefs.basis.transpose();
    EXPECT_LT((stored.directions * stored.variances.asDiagonal() * stored.directions.transpose() -
               covariance)
                  .norm(),
              1e-9 * covariance.norm());
    EXPECT_LT((stored.readings - beliefs.metric * stored.directions).norm(),
              1e-9 * stored.readings.norm());
    ASSERT_EQ(stored.places.cols(), 5);
    for (int t = 0; t < 5; ++t) {
      const TaskPosterior posterior =
          *learner_of(run).posterior(run.drawn().tasks[static_cast<std::size_t>(t)].name);
      const Eigen::Vector2d at = stored.readings.transpose() * (posterior.mean - beliefs.mean);
      const Eigen::Matrix2d spread =
          stored.readings.transpose() * posterior.covariance * stored.readings;
      EXPECT_LT((stored.places.col(t).head(2) - at).norm(), 1e-9 * (1 + at.norm()));
      EXPECT_NEAR(stored.places(2, t), spread(0, 0), 1e-9 * spread.norm());
      EXPECT_NEAR(stored.places(3, t), spread(1, 0), 1e-9 * spread.norm());
      EXPECT_NEAR(stored.places(4, t), spread(1, 1), 1e-9 * spread.norm());
    }
  }
  // One for each evaluation but the first policies', and a prior of each task but the first.
  EXPECT_EQ(next, view.beliefs.size());
  EXPECT_EQ(view.beliefs.size(), view.evaluations.size() - 1);
  EXPECT_EQ(next_of_task, view.task_beliefs.size());
  EXPECT_EQ(priors, 4U);
}

TEST_F(StoredBeliefsOf, ResumedAndReplayedRunsAreTheSameToTheBit) {
  const ExperimentConfig config = small_believing_experiment(20, 3);
  start_run(config, path("whole.run"));
  for (const long stop : {1L, 3L, 10L}) {
    std::filesystem::remove(path("part.run"));
    RunOptions options;
    options.after_round = [&](const auto&, const RoundOutcome& o) { return o.round.round < stop; };
    start_run(config, path("part.run"), options);
    EXPECT_THAT(check_run(path("part.run"), true).findings, testing::IsEmpty());
    RunView live(path("part.run"));
    EXPECT_EQ(resume_run(path("part.run")), RunStatus::finished);
    EXPECT_EQ(results_of(path("part.run")), results_of(path("whole.run")));
    live.read_on(RunReader(path("part.run")));
    EXPECT_EQ(live.beliefs.size(), RunView(path("whole.run")).beliefs.size());
    EXPECT_EQ(live.task_beliefs.size(), RunView(path("whole.run")).task_beliefs.size());
  }
  EXPECT_THAT(check_run(path("whole.run"), true).findings, testing::IsEmpty());
}

TEST_F(StoredBeliefsOf, OtherMethodsHaveNone) {
  for (const char* method : {"shared", "pg"}) {
    const auto file = path(std::string(method) + ".run");
    start_run(small_experiment(method, 0), file);
    const RunView view(file);
    EXPECT_TRUE(view.beliefs.empty());
    EXPECT_TRUE(view.task_beliefs.empty());
    for (const StoredRound& round : view.rounds) EXPECT_TRUE(std::isnan(round.agreement));
    EXPECT_FALSE(summarise_knowledge(view));
  }
}

TEST_F(StoredBeliefsOf, TheySayInWordsHowTasksDiffer) {
  start_run(small_believing_experiment(20, 3), path("a.run"));
  RunView view(path("a.run"));
  StoredBeliefs& last = view.beliefs.back();
  last.variances = Eigen::Vector2d(3, 1);
  last.units = Eigen::Vector2d(0.1, 10);
  last.directions.col(0) = Eigen::Vector2d(0.03, 4);  // 0.3 and 0.4 of their units
  const KnowledgeSummary summary = *summarise_knowledge(view);
  EXPECT_EQ(summary.directions, 2);
  EXPECT_NEAR(summary.effective, 16.0 / 10, 1e-12);
  ASSERT_EQ(summary.first.size(), 2U);
  EXPECT_NEAR(summary.first[0].explained, 0.75, 1e-12);
  EXPECT_EQ(summary.first[0].gains[0].name, "gain on speed");
  EXPECT_NEAR(summary.first[0].gains[0].share, 0.64, 1e-12);
  EXPECT_EQ(summary.first[0].words(), "the gains on speed (64 %), position (36 %)");
  EXPECT_EQ(summary.first[0].short_words(), "speed, position");
  last.directions.col(0) = Eigen::Vector2d(0, 4);
  EXPECT_EQ(summarise_knowledge(view)->first[0].words(), "the gains on speed (100 %)");
}

TEST(FollowedTasks, AreAllOfFewAndFewOfMany) {
  EXPECT_EQ(followed_tasks(16, 2).size(), 16U);
  EXPECT_EQ(followed_tasks(30, 2).size(), 23U);
  EXPECT_EQ(followed_tasks(1000000, 2).size(), 143U);
  EXPECT_TRUE(followed_tasks(16, kMostFollowedParameters + 1).empty());
  // Those of a fleet that grows stay in their places.
  const std::vector<int> all = followed_tasks(1000, 2);
  std::size_t next = 0;
  for (long t = 0; t < 1000; ++t) {
    const bool followed = next < all.size() && all[next] == t;
    EXPECT_EQ(is_followed(t, 2), followed) << t;
    next += followed ? 1 : 0;
    EXPECT_EQ(followed_tasks(t + 1, 2).size(), next);
  }
  EXPECT_FALSE(is_followed(3, kMostFollowedParameters + 1));
  std::vector<long> visits;
  for (long visit = 1; visit <= 40; ++visit) {
    if (is_followed_visit(visit)) visits.push_back(visit);
  }
  EXPECT_THAT(visits,
              testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40));
}

TEST_F(StoredBeliefsOf, ManyTasksAreStoredByAsManyAsAreFollowed) {
  start_run(small_believing_experiment(25, 40), path("many.run"));
  const RunView view(path("many.run"));
  EXPECT_EQ(view.beliefs.back().places.cols(), static_cast<long>(followed_tasks(40, 2).size()));
  for (const StoredTaskBelief& belief : view.task_beliefs) EXPECT_TRUE(is_followed(belief.task, 2));
  EXPECT_THAT(check_run(path("many.run"), true).findings, testing::IsEmpty());
}

/// A fleet that learns from outside, and grows: what was believed before is of the machines that
/// were there.
TEST_F(StoredBeliefsOf, AFleetThatGrowsIsBelievedAsFarAsItIsThere) {
  const std::string rule = "[learner]\nupdate = \"empirical Bayes\"\n";
  {
    const ExperimentConfig config = small_fleet(rule);
    FleetRun fleet(config, path("fleet.run"));
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      fly_round(fleet, config, seed % 2 == 1 ? "a" : "b", seed);
    }
  }
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
  {
    const ExperimentConfig config = small_fleet(kThirdMachine + rule);
    FleetRun fleet(config, path("fleet.run"));
    for (std::uint64_t seed = 5; seed <= 7; ++seed) fly_round(fleet, config, "c", seed);
  }
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
  const RunView view(path("fleet.run"));
  ASSERT_EQ(view.beliefs.size(), 7U);
  EXPECT_EQ(view.beliefs[3].places.cols(), 2);
  EXPECT_EQ(view.beliefs[6].places.cols(), 3);
  long of_new = 0;
  for (const StoredTaskBelief& belief : view.task_beliefs) {
    if (belief.task != 2) continue;
    EXPECT_EQ(belief.visit, of_new++);  // the prior first
  }
  EXPECT_EQ(of_new, 4);
  EXPECT_TRUE(summarise_knowledge(view));
}

}  // namespace lifeguard::run_beliefs_test
