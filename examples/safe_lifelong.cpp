// Ten cart-poles learn one after the other, and none ever falls: proven for the nonlinear machine,
// although each is known to ± 10 % only and noise is added to explore.

#include <cstdio>
#include <stdexcept>

#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

using namespace lifeguard;

/// All policies under which the cart never leaves ± 3 m, nor its pole 0.6 rad and 5 rad/s, from
/// every start in a box that is proven with them; the cart starts there from now on.
static SafeSet never_falls(Task& cart) {
  const std::vector<std::string> uncertain = {"cart_mass_kilograms", "pole_mass_kilograms",
                                              "pole_length_metres",
                                              "damping_newton_seconds_per_metre"};
  InclusionSettings known;
  known.ranges = tolerance(cart, uncertain, 0.1);
  known.state_limits = Eigen::Vector4d(3, kInfinity, 0.6, 5);
  ClosedLoopSettings asked;
  asked.decay = 0.997;
  asked.start_low = cart.settings.start_low;
  asked.start_high = cart.settings.start_high;
  asked.least_start_share = 0.7;
  asked.noise_limits = cart.settings.noise_limit.values(1);
  asked.required_gains = {{"LQR", lqr_gains(cart)}};
  const ClosedLoopResult result = make_closed_loop(inclusion(cart, known), asked);
  if (!result.closed_loop) throw std::runtime_error(result.message);
  cart.settings.start_low = result.closed_loop->start_low;
  cart.settings.start_high = result.closed_loop->start_high;
  return closed_loop_set(*result.closed_loop);
}

/// The cart as it turns out to be.
static Task built(Task cart) {
  for (const auto& [name, share] : {std::pair{"pole_mass_kilograms", 1.1},
                                    {"pole_length_metres", 0.9},
                                    {"cart_mass_kilograms", 1.1}}) {
    set_parameter(cart.system, name, share * parameter(cart.system, name));
  }
  return cart;
}

static int falls(const Trajectories& batch) {
  int count = 0;
  for (int i = 0; i < batch.count(); ++i) count += batch.end(i) == EndReason::failed ? 1 : 0;
  return count;
}

int main() {
  Family family = cart_pole_family();
  family.settings.sigma = 0.1;        // N
  family.settings.noise_limit = 0.2;  // the noise is clipped there
  std::vector<Task> carts = family.draw_many(/*seed=*/1, /*count=*/10);
  RolloutSettings trials;  // 50 of 150 steps
  int fallen = 0;

  Learner learner(/*features=*/4, /*actions=*/1);
  for (Task& cart : carts) {
    learner.add_task(cart.name, never_falls(cart), cart.settings.sigma);
    learner.set_action_range(cart.name, {cart.settings.action_low, cart.settings.action_high});
  }
  for (int round = 0; round < 60; ++round) {
    const Task& cart = carts[static_cast<std::size_t>(round) % carts.size()];
    trials.seed = derive_seed(/*seed=*/1, static_cast<std::uint64_t>(round));
    const Trajectories batch =
        rollout(built(cart), learner.policy(cart.name), trials);  // or a robot
    const RoundRecord record = learner.observe(cart.name, batch);
    fallen += falls(batch);
    if (round % 10 == 0) std::printf("round %2d: cost %.6f\n", round, record.mean_cost);
  }

  const bool proven = learner.certificate().valid();
  std::printf("%d of 3000 poles fell; every policy proven: %s\n", fallen, proven ? "yes" : "no");
  return proven && fallen == 0 ? 0 : 1;
}
