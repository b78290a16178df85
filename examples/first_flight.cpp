// The example of the README: draw a task, fly it with LQR, look at the cost.

#include <cstdio>

#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

int main() {
  using namespace lifeguard;
  const Task drone = quadrotor_family().draw(/*seed=*/1, /*index=*/0);
  const GaussianPolicy policy(lqr_gains(drone), drone.settings.sigma);
  RolloutSettings settings;
  settings.trajectories = 50;
  settings.steps = 150;
  const Trajectories flights = rollout(drone, policy, settings);
  std::printf("mean cost %.4f, failed %d\n", flights.mean_cost(), flights.failed());
}
