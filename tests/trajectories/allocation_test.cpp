// The hot loop allocates nothing.

#include <gtest/gtest.h>

#include <memory>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::allocation_test {

template <class Body>
std::int64_t allocations_of(const Body& body) {
  const std::int64_t before = test_support::allocation_count();
  body();
  return test_support::allocation_count() - before;
}

class Allocation : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test_support::allocations_are_counted()) GTEST_SKIP() << "not counted in this build";
  }
};

TEST_F(Allocation, TheCounterSeesEveryKindOfAllocation) {
  struct alignas(64) Line {
    double values[8];
  };
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(10)); }), 1);
  EXPECT_EQ(allocations_of([] {
              ::operator delete (::operator new (64, std::align_val_t{64}), std::align_val_t{64});
            }),
            1);
  EXPECT_EQ(allocations_of([] { ::operator delete[](::operator new[](10, std::nothrow)); }), 1);
  EXPECT_EQ(allocations_of([] { AlignedVector<double> v(100); }), 1);
  // Compilers may leave out what nobody looks at.
  volatile double looked_at = 0;
  EXPECT_EQ(allocations_of([&] { looked_at = Eigen::VectorXd::Zero(100).eval()(7); }), 1);
}

TEST_F(Allocation, ARolloutIntoTheSameMemoryAllocatesNothing) {
  for (const Task& task : test_support::built_in_tasks()) {
    for (const Features& features : {Features{}, Features{true, true}}) {
      for (const GaussianPolicy& policy : test_support::assorted_policies(task, features)) {
        RolloutSettings settings{.trajectories = 50, .features = features};
        Trajectories out;
        rollout(task, policy, settings, out);
        EXPECT_EQ(allocations_of([&] {
                    for (settings.seed = 1; settings.seed < 4; ++settings.seed) {
                      rollout(task, policy, settings, out);
                    }
                  }),
                  0)
            << task.name;
      }
    }
  }
}

TEST_F(Allocation, SmallerBatchesFitTheMemoryOfLargerOnes) {
  const Task task = make_task("quadrotor", Quadrotor{});
  const GaussianPolicy policy(lqr_gains(task), 0.1);
  Trajectories out;
  rollout(task, policy, {.trajectories = 64}, out);
  EXPECT_EQ(allocations_of([&] {
              rollout(task, policy, {.trajectories = 50, .steps = 100}, out);
              rollout(task, policy, {.trajectories = 64}, out);
            }),
            0);
}

TEST_F(Allocation, EvaluationAllocatesOnlyItsResultsPerTrajectory) {
  for (const Task& task : test_support::built_in_tasks()) {
    const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
    const auto allocations = [&](int trajectories, int steps) {
      return allocations_of(
          [&] { evaluate(task, policy, {.trajectories = trajectories, .steps = steps}); });
    };
    // Total costs, lengths and flags, whatever the size.
    EXPECT_LE(allocations(1, 1), 3);
    EXPECT_EQ(allocations(100, 200), allocations(1, 1));
  }
}

struct Decay {
  static constexpr int kStates = 1;
  static constexpr int kActions = 1;
  std::array<double, 1> start(const CounterRandom& random) const { return {random.uniform(0)}; }
  std::array<double, 1> step(const std::array<double, 1>& x, const std::array<double, 1>& u) const {
    return {0.9 * x[0] + u[0]};
  }
  double cost(const std::array<double, 1>& x, const std::array<double, 1>&) const {
    return x[0] * x[0];
  }
};

TEST_F(Allocation, ACustomSystemAllocatesNothingEither) {
  const Task task = make_task("decay", make_custom_system(Decay{}));
  const GaussianPolicy policy(Eigen::MatrixXd::Constant(1, 1, -0.5), 0.1);
  Trajectories out;
  rollout(task, policy, {}, out);
  EXPECT_EQ(allocations_of([&] { rollout(task, policy, {}, out); }), 0);
}

}  // namespace lifeguard::allocation_test
