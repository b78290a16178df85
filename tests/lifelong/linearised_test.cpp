#include "lifeguard/lifelong/linearised.hpp"

#include <gtest/gtest.h>

#include "lifeguard/lifelong/learner.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::linearised_test {

Knowledge random_knowledge(Draws& draws, int parameters, int basis_size, int tasks) {
  Knowledge knowledge(parameters, basis_size, 1.0);
  for (int t = 0; t < tasks; ++t) knowledge.add_task(draws.normals(parameters, 1));
  knowledge.basis = draws.normals(parameters, basis_size);
  knowledge.coefficients = draws.normals(basis_size, tasks);
  return knowledge;
}

TEST(Linearised, FullBasisTakesTheTaskToItsTargetAndTheOthersByTheShare) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Draws draws(seed);
    const int features = draws.integer(1, 5);
    const int parameters = features * draws.integer(1, 3);
    const Knowledge before = random_knowledge(draws, parameters, parameters, 3);
    const RoundLoss loss = synthetic_loss(draws, features, draws.normals(parameters, 1));
    Knowledge after = before;
    LinearisedUpdate update(parameters, parameters);
    const Eigen::VectorXd step = loss.target - before.policy_parameters(1);
    ASSERT_EQ(update.update(loss.curvature, step * Eigen::RowVector3d(0.25, 1, 0.25), 1, after),
              LinearisedStatus::ok);
    EXPECT_LT((after.policy_parameters(1) - loss.target).norm(), 1e-8);
    for (const int other : {0, 2}) {
      const Eigen::VectorXd moved =
          after.policy_parameters(other) - before.policy_parameters(other);
      EXPECT_LT((moved - 0.25 * step).norm(), 1e-8);
    }
    EXPECT_EQ(after.basis, before.basis);
  }
}

TEST(Linearised, SmallBasisReachesTheTargetByTurningTheBasis) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Draws draws(seed);
    const int features = 4;
    Knowledge knowledge = random_knowledge(draws, 8, 3, 2);
    // Longer than average, so that it takes all of the rest.
    knowledge.coefficients.col(1) = 0.3 * knowledge.coefficients.col(0);
    const RoundLoss loss = synthetic_loss(
        draws, features, 1e-3 * draws.normals(8, 1) + knowledge.policy_parameters(0));
    LinearisedUpdate update(8, 3);
    const Eigen::VectorXd step = loss.target - knowledge.policy_parameters(0);
    ASSERT_EQ(update.update(loss.curvature, step * Eigen::RowVector2d(1, 1), 0, knowledge),
              LinearisedStatus::ok);
    EXPECT_LT((knowledge.policy_parameters(0) - loss.target).norm(), 1e-10);
  }
}

TEST(Linearised, ASmallCoefficientCannotTurnTheBasisFar) {
  Draws draws(7);
  Knowledge knowledge = random_knowledge(draws, 8, 3, 2);
  knowledge.coefficients.col(0).setConstant(1e-9);
  const Knowledge before = knowledge;
  const RoundLoss loss =
      synthetic_loss(draws, 4, knowledge.policy_parameters(0) + 1e-9 * draws.normals(8, 1));
  LinearisedUpdate update(8, 3);
  const Eigen::VectorXd step = loss.target - knowledge.policy_parameters(0);
  ASSERT_EQ(update.update(loss.curvature, step * Eigen::RowVector2d(1, 0), 0, knowledge),
            LinearisedStatus::ok);
  EXPECT_LT((knowledge.basis - before.basis).norm(), 1e-7);
}

TEST(Linearised, SingularBasisIsAStatusAndChangesNothing) {
  Draws draws(8);
  Knowledge knowledge = random_knowledge(draws, 8, 3, 2);
  knowledge.basis.col(1).setZero();
  const Knowledge before = knowledge;
  const RoundLoss loss = synthetic_loss(draws, 4, draws.normals(8, 1));
  LinearisedUpdate update(8, 3);
  const Eigen::VectorXd step = loss.target - knowledge.policy_parameters(0);
  EXPECT_EQ(update.update(loss.curvature, step * Eigen::RowVector2d(1, 1), 0, knowledge),
            LinearisedStatus::singular);
  EXPECT_EQ(knowledge, before);
}

TEST(Linearised, ShareFallsFromTheInitialToTheMinimum) {
  LinearisedSettings settings;
  settings.initial_share = 0.8;
  settings.share_decay = 5;
  settings.minimum_share = 0.1;
  EXPECT_EQ(settings.share(0, 10), 0.8);
  EXPECT_NEAR(settings.share(50, 10), 0.4, 1e-15);  // 5 visits to each of 10 tasks
  EXPECT_EQ(settings.share(100000, 10), 0.1);
}

}  // namespace lifeguard::linearised_test
