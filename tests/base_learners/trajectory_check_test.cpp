#include "lifeguard/base_learners/trajectory_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/base_learners/linear_system.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::trajectory_check_test {

using test_support::LinearSystem;
using ::testing::HasSubstr;

bool is_refused(TrajectoryStatus status) {
  return status != TrajectoryStatus::ok && status != TrajectoryStatus::no_live_step &&
         status != TrajectoryStatus::constant_costs;
}

TEST(TrajectoryCheck, NeverRefusesRolloutsOfAnyFamilyAndNoise) {
  int batches = 0, failing = 0, empty = 0;
  for (const Family& family : test_support::built_in_families()) {
    for (const Task& task : family.draw_many(3, 2)) {
      for (const Features& features : {Features{}, Features{true, true}}) {
        for (const GaussianPolicy& policy : test_support::assorted_policies(task, features)) {
          for (const double factor : {1e-300, 1e-18, 1e-15, 1e-12, 1e-6, 1.0, 1e3, 1e30, 1e98, 1e99,
                                      1e100, 1e101, 1e200}) {
            const GaussianPolicy played(policy.gains(), factor * task.settings.sigma.of(0));
            for (const auto& [count, steps] : {std::pair{2, 1}, {1, 1}, {3, 2}, {20, 40}}) {
              const Trajectories t = rollout(task, played,
                                             {.trajectories = count,
                                              .steps = steps,
                                              .seed = static_cast<std::uint64_t>(++batches),
                                              .features = features});
              const TrajectoryCheck check = check_trajectories(t, played);
              ASSERT_FALSE(is_refused(check.status))
                  << family.name << " σ " << played.sigma() << ", " << count << " x " << steps
                  << ": " << check.message();
              failing += check.failed > 0 ? 1 : 0;
              empty += check.live_steps == 0 ? 1 : 0;
              EXPECT_EQ(check.failed, t.failed());
            }
          }
        }
      }
    }
  }
  EXPECT_GT(batches, 5000);
  EXPECT_GT(failing, 500);
  EXPECT_GT(empty, 100);
}

TEST(TrajectoryCheck, NeverRefusesTenThousandRandomRollouts) {
  const std::vector<Task> tasks = test_support::built_in_tasks();
  double largest = 0, furthest = 0;
  for (int k = 0; k < 10000; ++k) {
    const CounterRandom random(9, RandomStream::user, static_cast<std::uint64_t>(k));
    const Task& task = tasks[static_cast<std::size_t>(k) % tasks.size()];
    const GaussianPolicy played(random.uniform(0, -0.5, 1.2) * lqr_gains(task),
                                task.settings.sigma.of(0) * std::exp(random.uniform(1, -9, 4)));
    const Trajectories t = rollout(task, played,
                                   {.trajectories = 1 + static_cast<int>(random.uniform(2, 0, 12)),
                                    .steps = 1 + static_cast<int>(random.uniform(3, 0, 30)),
                                    .seed = static_cast<std::uint64_t>(k)});
    const TrajectoryCheck check = check_trajectories(t, played);
    ASSERT_FALSE(is_refused(check.status)) << k << ": " << check.message();
    if (check.live_steps == 0) continue;
    largest = std::max(largest, check.largest_noise);
    furthest = std::max(furthest, std::abs(check.noise_mean));
  }
  // What chance gives, and the thresholds are beyond.
  EXPECT_GT(largest, 4.5);
  EXPECT_GT(furthest, 2.0);
}

/// Costs that forbid an action: the draw that made a trajectory diverge is not in the batch.
struct OneWay {
  static constexpr int kStates = 1;
  static constexpr int kActions = 1;
  std::array<double, 1> start(const CounterRandom& random) const { return {random.normal(0)}; }
  std::array<double, 1> step(const std::array<double, 1>& x, const std::array<double, 1>& u) const {
    return {0.5 * x[0] + u[0]};
  }
  double cost(const std::array<double, 1>& x, const std::array<double, 1>& u) const {
    return u[0] > 0 ? kInfinity : x[0] * x[0];
  }
};

TEST(TrajectoryCheck, AllowsForDrawsThatEndedTheirTrajectories) {
  Task task;
  task.name = "one way";
  task.system = make_custom_system(OneWay{});
  task.settings = default_settings(task.system);
  const GaussianPolicy played(Eigen::MatrixXd::Zero(1, 1), 0.3);
  const Trajectories t = rollout(task, played, {.trajectories = 400, .steps = 20});
  const TrajectoryCheck check = check_trajectories(t, played);
  ASSERT_LT(check.noise_mean, -0.7);  // all that is left is on one side
  EXPECT_EQ(check.status, TrajectoryStatus::ok) << check.message();
  // The same numbers without that excuse.
  Trajectories recorded = t;
  std::fill_n(recorded.diverged_flags(), recorded.count(), 0);
  EXPECT_EQ(check_trajectories(recorded, played).status, TrajectoryStatus::other_policy);
}

class Batch {
 public:
  explicit Batch(int count = 50, int steps = 150) {
    system_.steps = steps;
    system_.a *= 0.9;
    batch = system_.simulate(policy, count, 12);
  }
  LinearSystem system_ = LinearSystem::example();
  GaussianPolicy policy = system_.policy(LinearSystem::example_gains());
  Trajectories batch;

  TrajectoryCheck check() const { return check_trajectories(batch, policy); }
  /// Every action as a function of the policy's mean and the noise.
  template <class Change>
  void change(const Change& change) {
    for (int i = 0; i < batch.count(); ++i) {
      for (int m = 0; m < batch.steps(); ++m) {
        Eigen::VectorXd x(3);
        for (int f = 0; f < 3; ++f) x(f) = batch.feature(i, m, f);
        const Eigen::VectorXd mean = policy.mean(x);
        for (int a = 0; a < 2; ++a) {
          batch.action(i, m, a) = change(mean(a), batch.action(i, m, a) - mean(a), a);
        }
      }
    }
  }
};

TEST(TrajectoryCheck, SaysWhatItSaw) {
  Batch b;
  b.batch.fail(3, 100, 2.0);
  b.batch.cut(4, 51);
  const TrajectoryCheck check = b.check();
  EXPECT_EQ(check.status, TrajectoryStatus::ok);
  EXPECT_EQ(check.trajectories, 50);
  EXPECT_EQ(check.failed, 1);
  EXPECT_EQ(check.cut_short, 1);
  EXPECT_EQ(check.live_steps, 48 * 150 + 100 + 50);
  EXPECT_NEAR(check.noise_mean_square, 1, 0.06);
  EXPECT_NEAR(check.noise_mean, 0, 0.05);
  EXPECT_GT(check.largest_noise, 3.5);
  EXPECT_LT(check.largest_noise, 6);
  EXPECT_EQ(check.message(), "");
  EXPECT_NO_THROW(check.require_usable());
}

TEST(TrajectoryCheck, FindsActionsWithoutNoise) {
  for (const double share : {0.0, 1e-12, 1e-6, 1e-3, 9e-3}) {
    Batch b;
    b.change([&](double mean, double noise, int) { return mean + share * noise; });
    EXPECT_EQ(b.check().status, TrajectoryStatus::no_noise) << share;
    EXPECT_THAT(b.check().message(), HasSubstr("must have exploration noise of σ = 0.5"));
    EXPECT_NO_THROW(b.check().require_usable());  // a status, not a mistake
  }
  // Two draws are enough if both are exactly the mean, and one says nothing.
  Batch two(1, 1);
  two.change([](double mean, double, int) { return mean; });
  EXPECT_EQ(two.check().status, TrajectoryStatus::no_noise);
  // One action of two.
  Batch one;
  one.change([](double mean, double noise, int a) { return a == 1 ? mean : mean + noise; });
  EXPECT_EQ(one.check().status, TrajectoryStatus::no_noise);
  EXPECT_EQ(one.check().field, "actions[1]");
  // Rounded to single precision on the way.
  Batch single;
  single.change(
      [](double mean, double, int) { return static_cast<double>(static_cast<float>(mean)); });
  EXPECT_EQ(single.check().status, TrajectoryStatus::no_noise);
}

TEST(TrajectoryCheck, FindsActionsOfAnotherPolicy) {
  const auto expect_other = [](const Batch& b, const std::string& what) {
    const TrajectoryCheck check = b.check();
    EXPECT_EQ(check.status, TrajectoryStatus::other_policy) << what;
    EXPECT_THAT(check.message(), HasSubstr("before it is limited")) << what;
    EXPECT_THROW(check.require_usable(), InvalidInput) << what;
  };
  for (const double factor : {0.02, 0.5, 0.8, 1.2, 3.0, 1e6}) {
    Batch b;
    b.change([&](double mean, double noise, int) { return mean + factor * noise; });
    expect_other(b, "noise " + std::to_string(factor));
  }
  for (const double shift : {0.2, -0.2, 2.0, 1e9}) {
    Batch b;
    b.change([&](double mean, double noise, int a) {
      return mean + noise + (a == 1 ? shift * 0.5 : 0.0);
    });
    expect_other(b, "shift " + std::to_string(shift));
  }
  Batch limited;
  limited.change(
      [](double mean, double noise, int) { return std::clamp(mean + noise, -0.4, 0.4); });
  expect_other(limited, "limited");
  Batch signs;
  signs.change([](double mean, double noise, int) { return -mean + noise; });
  signs.policy = GaussianPolicy(3 * LinearSystem::example_gains(), 0.5);
  expect_other(signs, "another policy");
  Batch units;
  for (int i = 0; i < 50; ++i) {
    for (int m = 0; m < 150; ++m) units.batch.feature(i, m, 0) *= 57.3;
  }
  expect_other(units, "units");
  Batch unrecorded;
  unrecorded.change([](double, double, int) { return 0.0; });
  expect_other(unrecorded, "no actions");
}

TEST(TrajectoryCheck, NamesASingleActionThatIsFarOff) {
  Batch b;
  b.batch.action(17, 33, 1) += 15 * 0.5;
  EXPECT_EQ(b.check().status, TrajectoryStatus::other_policy);
  EXPECT_EQ(b.check().field, "action (trajectory 17, step 33, column 1)");
  EXPECT_THAT(b.check().value, HasSubstr("σ from the policy's mean"));
  b.batch.action(17, 33, 1) = 1e200;  // its square is not finite
  EXPECT_EQ(b.check().field, "action (trajectory 17, step 33, column 1)");
}

TEST(TrajectoryCheck, LeavesRoomForWhatDoesNoHarm) {
  Batch single;
  single.change([](double mean, double noise, int) {
    return static_cast<double>(static_cast<float>(mean + noise));
  });
  EXPECT_EQ(single.check().status, TrajectoryStatus::ok);
  Batch many(500, 1000);
  many.change([](double mean, double noise, int) { return mean + 1.03 * noise + 0.02; });
  EXPECT_EQ(many.check().status, TrajectoryStatus::ok) << many.check().message();
  Batch steps;  // a controller with 8 bits
  steps.change(
      [](double mean, double noise, int) { return 0.1 * std::round(10 * (mean + noise)); });
  EXPECT_EQ(steps.check().status, TrajectoryStatus::ok);
}

TEST(TrajectoryCheck, FindsWhatIsNotFinite) {
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    Batch b;
    b.batch.feature(49, 149, 2) = bad;
    EXPECT_EQ(b.check().status, TrajectoryStatus::not_finite);
    EXPECT_EQ(b.check().field, "feature (trajectory 49, step 149, column 2)");
    b = Batch();
    b.batch.action(0, 7, 0) = bad;
    EXPECT_EQ(b.check().field, "action (trajectory 0, step 7, column 0)");
    b = Batch();
    b.batch.cost(20, 0) = bad;
    EXPECT_EQ(b.check().field, "cost (trajectory 20, step 0, column 0)");
    EXPECT_THROW(b.check().require_usable(), InvalidInput);
    b = Batch();
    b.batch.cut(6, 40, std::vector<double>{0, 0, bad});
    EXPECT_EQ(b.check().status, TrajectoryStatus::not_finite);
    EXPECT_EQ(b.check().field, "final feature (trajectory 6, column 2)");
    EXPECT_EQ(check_ends(b.batch, b.policy).field, b.check().field);
  }
}

TEST(TrajectoryCheck, FindsWrongShapesAndEnds) {
  Batch b;
  const auto expect_wrong = [&](TrajectoryStatus status, const std::string& field) {
    for (const TrajectoryCheck& check : {b.check(), check_ends(b.batch, b.policy)}) {
      EXPECT_EQ(check.status, status) << field;
      EXPECT_EQ(check.field, field);
      EXPECT_THROW(check.require_usable(), InvalidInput);
    }
  };
  b.batch.set_length(3, 151);
  expect_wrong(TrajectoryStatus::wrong_end, "length[3]");
  b.batch.set_length(3, -1);
  expect_wrong(TrajectoryStatus::wrong_end, "length[3]");
  b.batch.set_length(3, 80);  // the rest was left as it is
  expect_wrong(TrajectoryStatus::wrong_end, "feature (trajectory 3, step 80, column 0)");
  b = Batch();
  b.batch.cut(3, 80);
  b.batch.cost(3, 149) = 1;
  expect_wrong(TrajectoryStatus::wrong_end, "cost (trajectory 3, step 149, column 0)");
  for (int i = 0; i < 50; ++i) b.batch.cut(i, 0);
  expect_wrong(TrajectoryStatus::wrong_end, "length");
  b.batch = Trajectories(5, 10, 4, 2);
  expect_wrong(TrajectoryStatus::wrong_shape, "features");
  b.batch = Trajectories(5, 10, 3, 1);
  expect_wrong(TrajectoryStatus::wrong_shape, "actions");
  b.batch = Trajectories();
  expect_wrong(TrajectoryStatus::wrong_shape, "trajectories");
  EXPECT_THROW(check_trajectories(Batch().batch, b.policy.without_noise()), InvalidInput);
}

TEST(TrajectoryCheck, SaysWhyThereIsNothingToLearn) {
  Batch b;
  for (int i = 0; i < 50; ++i) {
    for (int m = 0; m < 150; ++m) b.batch.cost(i, m) = 0.25;
  }
  b.batch.cut(0, 0);
  EXPECT_EQ(b.check().status, TrajectoryStatus::constant_costs);
  EXPECT_EQ(b.check().value, "0.25 at every step");
  b.batch.cost(1, 7) = 0.5;
  EXPECT_EQ(b.check().status, TrajectoryStatus::ok);
  for (int i = 0; i < 50; ++i) b.batch.fail(i, 0, 3.0);
  EXPECT_EQ(b.check().status, TrajectoryStatus::no_live_step);
  EXPECT_NO_THROW(b.check().require_usable());
}

TEST(TrajectoryCheck, StatusesHaveNames) {
  for (int s = 0; s <= static_cast<int>(TrajectoryStatus::other_policy); ++s) {
    EXPECT_STRNE(to_string(static_cast<TrajectoryStatus>(s)), "?");
  }
}

}  // namespace lifeguard::trajectory_check_test
