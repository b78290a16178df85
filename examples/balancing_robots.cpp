// Robots that balance on two wheels, a system of one's own (balancing_robot.hpp), each with another
// payload, learn one after the other, and none falls.
//
// What is proven: the linearisations of each robot at its goal, at all corners of what is known of
// it, come back to the goal from every start in the start box under every policy that is handed
// out, noise included, and no limit is passed. What is not: that the robot itself does so, which is
// nonlinear and has parameters between the corners. For the built-in systems inclusion() covers
// both; for one's own, write down corners that do, or see how often it falls, as here.

#include <cstdio>
#include <stdexcept>

#include "examples/balancing_robot.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/trajectories/rollout.hpp"

using namespace lifeguard;

/// What a robot may turn out to be.
static std::vector<ParameterRange> known(const Task& robot) {
  const std::vector<std::string> uncertain = {"body_height_metres", "wheel_radius_metres"};
  std::vector<ParameterRange> ranges = tolerance(robot, uncertain, 0.05);
  const double payload = parameter(robot.system, "payload_kilograms");
  ranges.push_back({"payload_kilograms", payload, payload + 0.5});
  return ranges;
}

/// All policies under which the linearised robot stays within 0.3 rad and 1 m of its goal.
static SafeSet balances(const Task& robot) {
  InclusionSettings asked;
  asked.statement = PlantStatement::linear;
  asked.ranges = known(robot);
  asked.state_limits = Eigen::Vector4d(0.3, 3, 1, 3);
  ClosedLoopSettings settings;
  settings.decay = 0.995;
  settings.start_low = robot.settings.start_low;
  settings.start_high = robot.settings.start_high;
  settings.noise_limits = robot.settings.noise_limit.values(1);
  settings.required_gains = {{"LQR", lqr_gains(robot)}};
  const ClosedLoopResult result = make_closed_loop(linearised_plant(robot, asked), settings);
  if (!result.closed_loop) throw std::runtime_error(result.message);
  return closed_loop_set(*result.closed_loop);
}

/// The robot as it turns out to be.
static Task built(Task robot, std::uint64_t seed) {
  std::uint32_t place = 0;
  for (const ParameterRange& range : known(robot)) {
    const CounterRandom random(seed, RandomStream::parameters, place++);
    set_parameter(robot.system, range.parameter, random.uniform(0, range.low, range.high));
  }
  return robot;
}

int main() {
  constexpr int kRounds = 60;
  std::vector<Task> robots;
  for (const double payload : {0.0, 1.0, 2.0, 3.0, 4.0}) {
    BalancingRobot robot;
    robot.payload = payload;
    robots.push_back(make_task("with " + std::to_string(static_cast<int>(payload)) + " kg",
                               make_custom_system(robot)));
  }
  RolloutSettings trials;
  trials.steps = 200;  // 2 s

  Learner learner(/*features=*/4, /*actions=*/1);
  std::vector<Task> real;
  for (const Task& robot : robots) {
    learner.add_task(robot.name, balances(robot), robot.settings.sigma);
    learner.set_action_range(robot.name, {robot.settings.action_low, robot.settings.action_high});
    real.push_back(built(robot, derive_seed(/*seed=*/2, real.size())));
  }
  // What the policies cost from the same starts, without noise.
  const auto mean_cost = [&] {
    double sum = 0;
    for (const Task& robot : real) {
      sum += evaluate(robot, learner.policy(robot.name).without_noise(), trials).mean_cost;
    }
    return sum / static_cast<double>(real.size());
  };
  const double before = mean_cost();
  int fallen = 0;
  bool proven = learner.certificate().valid();
  for (int round = 0; round < kRounds; ++round) {
    const Task& robot = real[static_cast<std::size_t>(round) % real.size()];
    RolloutSettings flown = trials;
    flown.seed = derive_seed(/*seed=*/1, static_cast<std::uint64_t>(round));
    const Trajectories batch = rollout(robot, learner.policy(robot.name), flown);
    const RoundRecord record = learner.observe(robot.name, batch);
    fallen += batch.failed();
    proven = proven && learner.certificate().valid();
    if (round % 10 == 0) {
      std::printf("round %2d, %s: cost %.6f\n", round, robot.name.c_str(), record.mean_cost);
    }
  }

  const double after = mean_cost();
  std::printf("cost without noise: %.6f before, %.6f after\n", before, after);
  std::printf("%d of %d robots fell; every policy proven: %s\n", fallen,
              kRounds * trials.trajectories, proven ? "yes" : "no");
  return proven && fallen == 0 && after < before ? 0 : 1;
}
