#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <set>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard::safe_set_builders_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Draws in the order they are asked for.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed, RandomStream::user, 2) {}
  double uniform(double low, double high) { return random_.uniform(next_++, low, high); }
  double normal() { return random_.normal(next_++); }
  Eigen::VectorXd normals(int count) {
    Eigen::VectorXd v(count);
    for (double& x : v) x = normal();
    return v;
  }
  int integer(int low, int high) { return low + static_cast<int>(uniform(0, high - low + 1)); }

 private:
  CounterRandom random_;
  std::uint32_t next_ = 0;
};

template <typename Make>
void expect_invalid(Make make, const std::string& part) {
  try {
    make();
    ADD_FAILURE() << "accepted, expected: " << part;
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(GainBoxTest, IsTheBox) {
  Eigen::Vector3d lower(-1, -kInfinity, -4);
  Eigen::Vector3d upper(2, 0.5, kInfinity);
  const SafeSet box = gain_box(lower, upper, {"roll gain", "pitch gain", "yaw gain"});
  EXPECT_THAT(box.names(), ElementsAre("roll gain upper limit", "roll gain lower limit",
                                       "pitch gain upper limit", "yaw gain lower limit"));
  Draws draws(1);
  int inside = 0;
  for (int i = 0; i < 2000; ++i) {
    const Eigen::VectorXd alpha = 3 * draws.normals(3);
    const bool expected =
        (alpha.array() >= lower.array()).all() && (alpha.array() <= upper.array()).all();
    EXPECT_EQ(obeys(box, alpha), expected);
    inside += expected;
  }
  EXPECT_GT(inside, 100);
  EXPECT_EQ(gain_box(lower.head(1) * kInfinity, upper.head(1) * kInfinity, {"free"}), SafeSet(1));
  expect_invalid([&] { gain_box(lower, upper, {"one"}); }, "gain_names");
  expect_invalid([&] { gain_box(lower * std::nan(""), upper, default_gain_names(1, 3)); },
                 "lower[0] = nan");
  EXPECT_THAT(default_gain_names(2, 2),
              ElementsAre("gain(0, 0)", "gain(0, 1)", "gain(1, 0)", "gain(1, 1)"));
}

TEST(HalfSpaceTest, IsOneNamedRow) {
  const SafeSet set = half_space(Eigen::Vector2d(1, 2), 3, "sum");
  EXPECT_TRUE(obeys(set, Eigen::Vector2d(1, 1)));
  EXPECT_FALSE(obeys(set, Eigen::Vector2d(1, 1.01)));
  EXPECT_EQ(set.name(0), "sum");
}

/// Random boxes: off centre, symmetric, with states that do not vary, with and without bias.
ActionLimits random_limits(Draws& draws) {
  ActionLimits limits;
  const int states = draws.integer(1, 4);
  const int actions = draws.integer(1, 2);
  limits.goal = draws.normals(states);
  limits.state_low = limits.goal - draws.normals(states).cwiseAbs();
  limits.state_high = limits.goal + draws.normals(states).cwiseAbs();
  for (int i = 0; i < states; ++i) {
    const int kind = draws.integer(0, 5);
    if (kind == 0) limits.state_low(i) = limits.state_high(i);  // does not vary
    if (kind == 1) limits.state_low(i) = limits.goal(i);        // one-sided
    if (kind == 2)
      limits.state_low(i) = limits.goal(i) + 0.5 * (limits.state_high(i) - limits.goal(i));
  }
  limits.features.bias = draws.integer(0, 1) == 1;
  limits.action_high = draws.normals(actions).cwiseAbs() + Eigen::VectorXd::Constant(actions, 0.1);
  limits.action_low = draws.integer(0, 1) == 0
                          ? Eigen::VectorXd(-limits.action_high)
                          : Eigen::VectorXd(-draws.normals(actions).cwiseAbs());
  return limits;
}

TEST(ActionLimitsTest, HoldExactlyWhereTheyHoldOnTheWholeBox) {
  int agreed_inside = 0;
  int agreed_outside = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed);
    const ActionLimits limits = random_limits(draws);
    const SafeSet set = action_limits(limits);
    const int states = static_cast<int>(limits.goal.size());
    const int actions = static_cast<int>(limits.action_low.size());
    for (int sample = 0; sample < 40; ++sample) {
      const Eigen::VectorXd alpha =
          draws.normals(set.parameters()) * std::exp(draws.uniform(-3, 1));
      const Eigen::MatrixXd gains = gains_from_parameters(alpha, actions);
      // Brute force: every corner, and states in between.
      double excess = -kInfinity;
      const int corners = 1 << states;
      for (int s = 0; s < corners + 30; ++s) {
        Eigen::VectorXd x(states);
        for (int i = 0; i < states; ++i) {
          const double weight = s < corners ? (s >> i) & 1 : draws.uniform(0, 1);
          x(i) = limits.state_low(i) + weight * (limits.state_high(i) - limits.state_low(i));
        }
        const Eigen::VectorXd u = gains * limits.features.evaluate(x, limits.goal);
        excess = std::max(
            {excess, (u - limits.action_high).maxCoeff(), (limits.action_low - u).maxCoeff()});
      }
      if (std::abs(excess) < 1e-12) continue;  // on the boundary to within rounding
      ASSERT_EQ(obeys(set, alpha), excess < 0) << "seed " << seed << " excess " << excess;
      (excess < 0 ? agreed_inside : agreed_outside)++;
    }
  }
  EXPECT_GT(agreed_inside, 1000);
  EXPECT_GT(agreed_outside, 1000);
}

TEST(ActionLimitsTest, EveryRowIsNeeded) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(seed);
    ActionLimits limits = random_limits(draws);
    // One action, at most three states, 0 strictly allowed: then every direction of gains leaves
    // the set, and the row it crosses first is needed.
    limits.action_low = limits.action_low.head(1).eval();
    limits.action_high = limits.action_high.head(1).eval();
    const int states = std::min(3, static_cast<int>(limits.goal.size()));
    limits.goal = limits.goal.head(states).eval();
    limits.state_low = limits.state_low.head(states).eval();
    limits.state_high = limits.state_high.head(states).eval();
    const SafeSet set = action_limits(limits);
    std::set<int> crossed;
    for (int sample = 0; sample < 60000 && static_cast<int>(crossed.size()) < set.rows();
         ++sample) {
      // Directions of very different scales find facets that are narrow.
      Eigen::VectorXd direction = draws.normals(set.parameters());
      for (double& x : direction) x *= std::exp(draws.uniform(-4, 4));
      const Eigen::VectorXd speed = set.coefficients() * direction;
      int first = -1;
      double earliest = kInfinity;
      for (int row = 0; row < set.rows(); ++row) {
        const double time = speed(row) > 0 ? set.limits()(row) / speed(row) : kInfinity;
        if (time < earliest) earliest = time, first = row;
      }
      if (first >= 0) crossed.insert(first);
    }
    EXPECT_EQ(static_cast<int>(crossed.size()), set.rows()) << "seed " << seed;
  }
}

TEST(ActionLimitsTest, SymmetryHalvesTheRows) {
  ActionLimits limits;
  limits.state_high = Eigen::Vector4d(2.4, 3, 0.2, 2);
  limits.state_low = -limits.state_high;
  limits.goal = Eigen::Vector4d::Zero();
  limits.action_high = Eigen::VectorXd::Constant(1, 10);
  limits.action_low = -limits.action_high;
  limits.action_names = {"force"};
  const SafeSet set = action_limits(limits);
  EXPECT_EQ(set.rows(), 16);
  EXPECT_EQ(set.name(5), "force upper limit at state corner +-+-");
  limits.features.bias = true;
  EXPECT_EQ(action_limits(limits).rows(), 32);
}

TEST(ActionLimitsTest, RefusesWhatItCannotDoExactly) {
  ActionLimits limits;
  limits.state_low = Eigen::VectorXd::Constant(12, -1);
  limits.state_high = Eigen::VectorXd::Constant(12, 1);
  limits.goal = Eigen::VectorXd::Zero(12);
  limits.action_low = Eigen::VectorXd::Constant(4, -1);
  limits.action_high = Eigen::VectorXd::Constant(4, 1);
  expect_invalid([&] { action_limits(limits); }, "max_rows = 4096: must be at least 32768");
  limits.state_high.tail(8) = limits.state_low.tail(8);
  EXPECT_EQ(action_limits(limits).rows(), 4 * 32);
  limits.features.second_order = true;
  expect_invalid([&] { action_limits(limits); }, "features.second_order");
  limits.features.second_order = false;
  limits.state_low(0) = 2;
  expect_invalid([&] { action_limits(limits); }, "state_low[0] = 2");
  // At the goal no gain has an effect, so an action limit above 0 cannot be met there.
  limits.state_low = limits.state_high = limits.goal;
  limits.action_low(0) = 0.5;
  expect_invalid([&] { action_limits(limits); }, "no gain has an effect");
}

Eigen::Matrix2d closed_loop(const MassStability& plant, const Eigen::VectorXd& gains) {
  const double m = plant.mass_kilograms;
  Eigen::Matrix2d a;
  a << 0, 1, (plant.actuator_gain * gains(0) - plant.spring_newtons_per_metre) / m,
      (plant.actuator_gain * gains(1) - plant.damping_newton_seconds_per_metre) / m;
  return a;
}

MassStability random_plant(Draws& draws) {
  MassStability plant;
  plant.spring_newtons_per_metre = draws.uniform(-1, 6);
  plant.damping_newton_seconds_per_metre = draws.uniform(-0.5, 1);
  plant.mass_kilograms = draws.uniform(0.3, 3);
  plant.actuator_gain = draws.uniform(-2, 2);
  plant.features.bias = draws.integer(0, 1) == 1;
  return plant;
}

TEST(MassStabilityTest, AgreesWithTheEigenvalues) {
  int stable = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draws draws(seed);
    MassStability plant = random_plant(draws);
    plant.decay_rate_per_second = seed % 2 == 0 ? 0 : draws.uniform(0, 1);
    const SafeSet set = mass_stability(plant);
    const Eigen::VectorXd gains = 4 * draws.normals(set.parameters());
    const double slowest = closed_loop(plant, gains).eigenvalues().real().maxCoeff();
    if (std::abs(slowest + plant.decay_rate_per_second) < 1e-9) continue;
    ASSERT_EQ(obeys(set, gains), slowest < -plant.decay_rate_per_second) << "seed " << seed;
    stable += obeys(set, gains);
  }
  EXPECT_GT(stable, 100);
}

TEST(MassStabilityTest, AgreesWithTheEigenvaluesOfTheStep) {
  int stable = 0;
  int only_continuous = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draws draws(seed);
    MassStability plant = random_plant(draws);
    const double h = draws.uniform(0.1, 1);
    plant.time_step_seconds = h;
    const SafeSet set = mass_stability(plant);
    const Eigen::VectorXd gains = 4 * draws.normals(set.parameters());
    const Eigen::Matrix2d a = closed_loop(plant, gains);
    Eigen::Matrix2d step;  // velocity first, then position with the new velocity
    step.row(1) << h * a(1, 0), 1 + h * a(1, 1);
    step.row(0) << 1 + h * step(1, 0), h * step(1, 1);
    const double radius = step.eigenvalues().cwiseAbs().maxCoeff();
    if (std::abs(radius - 1) < 1e-9) continue;
    ASSERT_EQ(obeys(set, gains), radius < 1) << "seed " << seed << " radius " << radius;
    stable += radius < 1;
    only_continuous += radius > 1 && a.eigenvalues().real().maxCoeff() < 0;
  }
  EXPECT_GT(stable, 100);
  EXPECT_GT(only_continuous, 10);
}

TEST(MassStabilityTest, ChecksThePlant) {
  expect_invalid([] { mass_stability({}); }, "mass_kilograms = 0");
  MassStability plant;
  plant.mass_kilograms = 1;
  plant.features.second_order = true;
  expect_invalid([&] { mass_stability(plant); }, "features.second_order");
  plant.features.second_order = false;
  plant.actuator_gain = 0;
  plant.damping_newton_seconds_per_metre = -1;
  expect_invalid([&] { mass_stability(plant); }, "damping of the closed loop");
}

TEST(BarrierRowsTest, AreTheConditionsOnTheAction) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed);
    const int states = draws.integer(1, 3);
    const int actions = draws.integer(1, 3);
    const Features features{.bias = seed % 2 == 0, .second_order = seed % 3 == 0};
    const Eigen::VectorXd goal = draws.normals(states);
    std::vector<BarrierCondition> conditions;
    for (int i = 0; i < 5; ++i) {
      conditions.push_back({.state = draws.normals(states),
                            .direction = draws.normals(actions),
                            .limit = draws.normal(),
                            .name = "barrier " + std::to_string(i)});
    }
    const SafeSet set = barrier_rows(conditions, features, goal);
    ASSERT_EQ(set.rows(), 5);
    const Eigen::VectorXd alpha = draws.normals(set.parameters());
    const Eigen::MatrixXd gains = gains_from_parameters(alpha, actions);
    for (int i = 0; i < 5; ++i) {
      const BarrierCondition& c = conditions[static_cast<std::size_t>(i)];
      const double value = c.direction.dot(gains * features.evaluate(c.state, goal));
      EXPECT_NEAR(set.coefficients().row(i).dot(alpha), value, 1e-12 * (1 + std::abs(value)));
      EXPECT_EQ(set.limits()(i), c.limit);
      EXPECT_EQ(set.name(i), c.name);
    }
  }
}

TEST(BarrierRowsTest, AConditionThatNoGainCanChangeIsDecidedAtOnce) {
  BarrierCondition at_goal{.state = Eigen::Vector2d(1, 2),
                           .direction = Eigen::VectorXd::Ones(1),
                           .limit = 0,
                           .name = "wall"};
  EXPECT_EQ(barrier_rows({at_goal}, {}, at_goal.state), SafeSet(2));
  at_goal.limit = -1;
  expect_invalid([&] { barrier_rows({at_goal}, {}, at_goal.state); }, "limit of \"wall\" = -1");
}

TEST(GainBoxTowards, HoldsExactlyTheMultiplesBetweenItsEnds) {
  const Eigen::Vector3d best(-10, 4, 0.1);
  const SafeSet set = gain_box_towards(best, 0.9, 0.3, default_gain_names(1, 3));
  for (int i = -20; i <= 40; ++i) {
    const double share = 0.05 * i + 0.01;
    const Eigen::Vector3d alpha(share * best(0), share * best(1), 0);
    EXPECT_EQ(strictly_safe(set, alpha), share > 0.3 && share < 0.9) << share;
  }
  // A gain near zero has a twentieth of the largest on both sides.
  EXPECT_TRUE(strictly_safe(set, Eigen::Vector3d(-5, 2, 0.49)));
  EXPECT_TRUE(strictly_safe(set, Eigen::Vector3d(-5, 2, -0.49)));
  EXPECT_FALSE(strictly_safe(set, Eigen::Vector3d(-5, 2, 0.51)));
  EXPECT_THROW(gain_box_towards(best, 0.3, 0.9, default_gain_names(1, 3)), InvalidInput);
}

}  // namespace lifeguard::safe_set_builders_test
