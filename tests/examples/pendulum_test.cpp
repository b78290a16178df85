#include "examples/pendulum.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::pendulum_test {

// tests/data/make_pendulum.py recorded these steps from Gymnasium itself.
TEST(Pendulum, IsGymnasiumsStepByStep) {
  std::ifstream file(LIFEGUARD_SOURCE_DIR "/tests/data/pendulum_gymnasium.csv");
  std::string line;
  std::getline(file, line);
  const Pendulum pendulum;
  int steps = 0;
  while (std::getline(file, line)) {
    std::istringstream row(line);
    double v[6];
    char comma = ',';
    for (int i = 0; i < 6; ++i) {
      if (i > 0) row >> comma;
      row >> v[i];
    }
    const Pendulum::State next = pendulum.step({v[0], v[1]}, {v[2]});
    ASSERT_NEAR(next[0], v[3], 1e-14 * (1 + std::fabs(v[3])));
    ASSERT_NEAR(next[1], v[4], 1e-14 * (1 + std::fabs(v[4])));
    ASSERT_NEAR(pendulum.cost({v[0], v[1]}, {v[2]}), v[5], 1e-13 * (1 + v[5]));
    ++steps;
  }
  EXPECT_EQ(steps, 500);
}

TEST(Pendulum, RollsOutAsATask) {
  const Task task = make_task("pendulum", make_custom_system(Pendulum{}));
  Eigen::MatrixXd gains(1, 3);
  gains << 0.0, -10.0, -2.0;
  RolloutSettings settings;
  settings.trajectories = 20;
  settings.steps = 100;
  const Trajectories batch = rollout(task, GaussianPolicy(gains, 0.3), settings);
  EXPECT_EQ(batch.failed(), 0);
  // Every step of every trajectory is the pendulum's own, and what was seen is what was acted on.
  const Pendulum pendulum;
  for (int i = 0; i < batch.count(); ++i) {
    for (int m = 0; m + 1 < batch.steps(); ++m) {
      const double angle = std::atan2(batch.feature(i, m, 1), batch.feature(i, m, 0));
      const Pendulum::State x = {angle, batch.feature(i, m, 2)};
      const Pendulum::Action u = {batch.action(i, m, 0)};
      ASSERT_NEAR(batch.cost(i, m), pendulum.cost(x, u), 1e-12);
      const auto seen = pendulum.features(pendulum.step(x, u));
      for (int f = 0; f < 3; ++f) ASSERT_NEAR(batch.feature(i, m + 1, f), seen[f], 1e-12);
    }
  }
}

}  // namespace lifeguard::pendulum_test
