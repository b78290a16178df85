#include "lifeguard/base_learners/product_features.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::product_features_test {

using testing::ElementsAre;

std::vector<int> kept_of(const Task& task, const Features& features, int trajectories) {
  RolloutSettings rollouts;
  rollouts.trajectories = trajectories;
  rollouts.features = features;
  const int count = features.count(task.states());
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(task.actions(), count), task.settings.sigma);
  return features_without_products(rollout(task, policy, rollouts));
}

TEST(ProductFeatures, AreWhatPoliciesSeeOfSecondOrder) {
  const Task cart = make_task("cart-pole", CartPole{});
  for (const int trajectories : {1, 2, 10}) {
    EXPECT_THAT(kept_of(cart, {}, trajectories), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(kept_of(cart, {.bias = true}, trajectories), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(kept_of(cart, {.second_order = true}, trajectories), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(kept_of(cart, {.bias = true, .second_order = true}, trajectories),
                ElementsAre(0, 1, 2, 3, 4));
  }
  const Task quadrotor = make_task("quadrotor", Quadrotor{});
  EXPECT_THAT(kept_of(quadrotor, {.second_order = true}, 8), ElementsAre(0, 1, 2, 3, 4, 5));
}

/// Features of 8 trajectories of 9 steps, made of a state (x, y) that moves.
std::vector<int> kept_of(int features, const std::function<Eigen::VectorXd(double, double)>& see) {
  Trajectories t(8, 9, features, 1);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) {
      const Eigen::VectorXd seen = see(0.3 + 0.7 * i - 0.1 * m, 1.1 - 0.2 * i * m);
      for (int f = 0; f < features; ++f) t.feature(i, m, f) = seen(f);
    }
  }
  return features_without_products(t);
}

TEST(ProductFeatures, NeedTheirFactors) {
  using Eigen::Vector3d;
  EXPECT_THAT(kept_of(3, [](double x, double y) { return Vector3d(x * y, y, x); }),
              ElementsAre(1, 2));
  EXPECT_THAT(kept_of(3, [](double x, double) { return Vector3d(x, x * x, 2); }),
              ElementsAre(0, 2));
  // Each of the first two is the other times one.
  EXPECT_THAT(kept_of(3, [](double x, double) { return Vector3d(x, x, 1); }), ElementsAre(0, 1, 2));
  // Zeros and ones are products of each other.
  EXPECT_THAT(kept_of(3, [](double x, double) { return Vector3d(0, x, 0); }), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept_of(3, [](double, double) { return Vector3d(1, 1, 1); }), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept_of(3, [](double x, double) { return Vector3d(1e200 * x, 1e200, kInfinity); }),
              ElementsAre(0, 1, 2));
}

TEST(ProductFeatures, AreNotLookedForWhereThereIsNothing) {
  Trajectories t(3, 5, 2, 1);
  for (int i = 0; i < 3; ++i) t.fail(i, 0, 1.0);
  EXPECT_THAT(features_without_products(t), ElementsAre(0, 1));
}

}  // namespace lifeguard::product_features_test
