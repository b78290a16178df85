// A system of one's own: Gymnasium's pendulum, simulated under a linear policy in its own features.

#include "examples/pendulum.hpp"

#include <cstdio>

#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/rollout.hpp"

int main() {
  using namespace lifeguard;
  const Task task = make_task("pendulum", make_custom_system(Pendulum{}));
  RolloutSettings settings;
  settings.trajectories = 200;
  settings.steps = 200;
  settings.threads = 0;
  for (const double damping : {0.0, -0.5, -2.0}) {
    Eigen::MatrixXd gains(1, 3);
    gains << 0.0, -10.0, damping;  // torque against the angle and the speed
    const Evaluation result = evaluate(task, GaussianPolicy(gains, 0.0), settings);
    std::printf("gains (0, -10, %4.1f): mean cost of a step %.3f\n", damping, result.mean_cost);
  }
}
