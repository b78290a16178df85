#include "lifeguard/base_learners/product_features.hpp"

#include <gmock/gmock.h>

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

}  // namespace lifeguard::product_features_test
