// The rounds of bench/python_round.py in C++: what they cost without Python. Prints the least
// seconds that each round took, and the last policy.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/cart_pole.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_python_round {

int run(std::size_t rounds, int repeats) {
  const System system = CartPole{};
  const Task task{"cart", system, CartPole::default_settings()};
  const Eigen::VectorXd lqr = parameters_from_gains(lqr_gains(task));
  std::vector<double> least(rounds, std::numeric_limits<double>::infinity());
  std::vector<double> last;
  Trajectories batch;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Learner learner(task.states(), task.actions());
    learner.add_task("cart", gain_box_towards(lqr, 1.5, 0.2, default_gain_names(1, 4)),
                     task.settings.sigma);
    RolloutSettings settings;
    for (std::size_t round = 0; round < rounds; ++round) {
      settings.seed = static_cast<std::uint64_t>(round);
      const double seconds = seconds_of([&] {
        rollout(task, learner.policy("cart"), settings, batch);
        learner.observe("cart", batch);
      });
      least[round] = std::min(least[round], seconds);
    }
    const Eigen::VectorXd policy = learner.policy("cart").parameters();
    last.assign(policy.begin(), policy.end());
  }
  fmt::print("{} {}\n", fmt::join(least, " "), fmt::join(last, " "));
  return 0;
}

}  // namespace lifeguard::bench_python_round

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  return lifeguard::bench_python_round::run(std::strtoul(argv[1], nullptr, 10), std::atoi(argv[2]));
}
