// Ten drones learn to fly one after the other, and no gain ever leaves the limits it was given.

#include <cstdio>

#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

using namespace lifeguard;

/// What is known before the first flight: a controller that is safe, and not much more.
static Eigen::VectorXd weak_controller(const Task& drone) {
  return parameters_from_gains(0.15 * lqr_gains(drone));
}

static void report(int round, const RoundRecord& record) {
  if (round % 10 != 0) return;
  std::printf("round %2d: cost %.4f, smallest margin of any gain of any drone %.3f\n", round,
              record.mean_cost, record.safeguard.worst_margin);
}

int main() {
  const std::vector<Task> drones = quadrotor_family().draw_many(/*seed=*/1, /*count=*/10);
  const Eigen::VectorXd limit = Eigen::VectorXd::Constant(24, 3.0);
  const SafeSet gain_limits = gain_box(-limit, limit, default_gain_names(4, 6));
  RolloutSettings flights;  // 50 of 150 steps

  Learner learner(/*features=*/6, /*actions=*/4);
  for (const Task& drone : drones) {
    learner.add_task(drone.name, gain_limits, drone.settings.sigma, weak_controller(drone));
  }
  for (int round = 0; round < 60; ++round) {
    const Task& drone = drones[static_cast<std::size_t>(round) % drones.size()];
    flights.seed = derive_seed(/*seed=*/1, static_cast<std::uint64_t>(round));
    const Trajectories batch = rollout(drone, learner.policy(drone.name), flights);  // or a robot
    report(round, learner.observe(drone.name, batch));
  }

  const bool proven = learner.certificate().valid();
  std::printf("every policy proven safe: %s\n", proven ? "yes" : "no");
  return proven ? 0 : 1;
}
