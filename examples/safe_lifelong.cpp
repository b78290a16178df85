// Ten drones learn to fly one after the other, and no gain ever leaves the limits it was given.

#include <cstdio>

#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/rollout/rollout.hpp"
#include "lifeguard/safety/safe_set_builders.hpp"
#include "lifeguard/tasks/family.hpp"
#include "lifeguard/tasks/lqr.hpp"

int main() {
  using namespace lifeguard;
  const std::vector<Task> drones = quadrotor_family().draw_many(/*seed=*/1, /*count=*/10);
  Learner learner(/*features=*/6, /*actions=*/4);
  for (const Task& drone : drones) {
    // Known before the first flight: a weak controller, and what every gain must obey.
    const Eigen::VectorXd weak = parameters_from_gains(0.15 * lqr_gains(drone));
    const Eigen::VectorXd limit = Eigen::VectorXd::Constant(weak.size(), 3.0);
    const SafeSet set = gain_box(-limit, limit, default_gain_names(4, 6));
    learner.add_task(drone.name, set, drone.settings.sigma, weak);
  }
  RolloutSettings flights;  // 50 of 150 steps
  Trajectories batch;
  for (int round = 0; round < 60; ++round) {
    const Task& drone = drones[static_cast<std::size_t>(round) % drones.size()];
    flights.seed = derive_seed(1, static_cast<std::uint64_t>(round));
    rollout(drone, learner.policy(drone.name), flights, batch);  // or your robot
    const RoundRecord record = learner.observe(drone.name, batch);
    if (round % 10 == 0) {
      std::printf("round %2d: cost %.4f, smallest safety margin of all ten %.3f\n", round,
                  record.mean_cost, record.safeguard.worst_margin);
    }
  }
  std::printf("everything proven: %s\n", learner.certificate().valid() ? "yes" : "no");
  return learner.certificate().valid() ? 0 : 1;
}
