#include "lifeguard/core/uncertain_plant.hpp"

#include <gtest/gtest.h>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard::uncertain_plant_test {

UncertainPlant two_states() {
  UncertainPlant plant;
  plant.corners = {{"slow", Eigen::MatrixXd::Identity(2, 2), Eigen::MatrixXd::Ones(2, 1)},
                   {"fast", 2 * Eigen::MatrixXd::Identity(2, 2), Eigen::MatrixXd::Ones(2, 1)}};
  plant.spreads = Eigen::MatrixXd::Ones(2, 1);
  plant.state_factors = Eigen::MatrixXd::Ones(1, 2);
  plant.action_factors = Eigen::MatrixXd::Zero(1, 1);
  plant.state_limits = Eigen::Vector2d(1, kInfinity);
  plant.action_directions = Eigen::MatrixXd::Ones(1, 1);
  plant.action_limits = Eigen::VectorXd::Ones(1);
  plant.action_limit_names = {"force"};
  return plant;
}

TEST(UncertainPlant, RefusesWhatDoesNotFit) {
  EXPECT_NO_THROW(two_states().validate());
  const auto refused = [](const auto& spoil) {
    UncertainPlant plant = two_states();
    spoil(plant);
    EXPECT_THROW(plant.validate(), InvalidInput);
    EXPECT_FALSE(plant == two_states());
  };
  refused([](UncertainPlant& p) { p.corners.clear(); });
  refused([](UncertainPlant& p) { p.corners[1].a.resize(2, 3); });
  refused([](UncertainPlant& p) { p.corners[1].b(0, 0) = kNaN; });
  refused([](UncertainPlant& p) { p.corners[0].name.clear(); });
  refused([](UncertainPlant& p) { p.spreads.resize(2, 2); });
  refused([](UncertainPlant& p) { p.state_factors(0, 0) = kInfinity; });
  refused([](UncertainPlant& p) { p.action_factors.resize(1, 2); });
  refused([](UncertainPlant& p) { p.state_limits(0) = 0; });
  refused([](UncertainPlant& p) { p.state_limits.resize(3); });
  refused([](UncertainPlant& p) { p.action_limits(0) = -1; });
  refused([](UncertainPlant& p) { p.action_limit_names.clear(); });
  refused([](UncertainPlant& p) { p.action_directions(0, 0) = 0; });
}

TEST(UncertainPlant, EqualsOnlyItself) {
  EXPECT_TRUE(two_states() == two_states());
  UncertainPlant other = two_states();
  other.statement = PlantStatement::nonlinear;
  EXPECT_FALSE(other == two_states());
  other = two_states();
  other.corners[1].a(1, 0) = 1e-300;
  EXPECT_FALSE(other == two_states());
}

}  // namespace lifeguard::uncertain_plant_test
