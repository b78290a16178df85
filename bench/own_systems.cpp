// Simulation speed of a user's own system: Gymnasium's pendulum in the form for doubles
// (examples/pendulum.hpp) and in the form that is compiled for vectors
// (examples/fast_pendulum.hpp), against the loop that both took the place of and against built-in
// systems, all in one run. A step includes policy, exploration noise, cost and writing the
// trajectory.

#define LIFEGUARD_SYSTEM FastPendulum
#define LIFEGUARD_SYSTEM_FILE "examples/fast_pendulum.hpp"
#include "lifeguard/trajectories/compile_system.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/plain_custom_loop.hpp"
#include "bench/timing.hpp"
#include "examples/pendulum.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_own_systems {

struct Row {
  std::string name;
  std::function<void(const RolloutSettings&, Trajectories&)> roll;
  std::vector<double> steps_per_second;  // of each batch size
};

int run(int argc, char** argv) {
  CLI::App app("Steps per second of a system of one's own");
  int steps = 150, repeats = 301;
  std::vector<int> batches = {50, 1000};
  app.add_option("--batches", batches, "trajectories a batch");
  app.add_option("--steps", steps, "steps a trajectory");
  app.add_option("--repeats", repeats,
                 "batches of 50 timed, fewer of larger ones; the fastest counts");
  std::string target;
  app.add_option("--target", target, "SIMD target, instead of the best")
      ->check(CLI::IsMember(simd_targets()));
  CLI11_PARSE(app, argc, argv);
  select_simd_target(target);

  const CustomSystemPointer simple = make_custom_system(Pendulum{});
  const Task own = make_task("pendulum", simple);
  const Task compiled = make_task("pendulum", make_custom_system(FastPendulum{}));
  Eigen::MatrixXd gains(1, 3);
  gains << 0.0, -10.0, -2.0;
  const GaussianPolicy swing(gains, 0.3);
  const auto rolled = [](const Task& task, const GaussianPolicy& policy) {
    return [task, policy](const RolloutSettings& settings, Trajectories& out) {
      rollout(task, policy, settings, out);
    };
  };
  std::vector<Row> rows = {{"pendulum, plain loop",
                            [&](const RolloutSettings& settings, Trajectories& out) {
                              PlainCustomLoop(*simple, own, swing, settings).run(out);
                            },
                            {}},
                           {"pendulum, for doubles", rolled(own, swing), {}},
                           {"pendulum, for vectors", rolled(compiled, swing), {}}};
  for (const Task& task :
       {make_task("mass, built in", MassSpring{}), make_task("cart-pole, built in", CartPole{}),
        make_task("quadrotor, built in", Quadrotor{})}) {
    rows.push_back({task.name, rolled(task, {lqr_gains(task), task.settings.sigma}), {}});
  }

  for (const int batch : batches) {
    RolloutSettings settings;
    settings.trajectories = batch;
    settings.steps = steps;
    std::vector<Trajectories> out(rows.size());
    std::vector<std::function<void()>> bodies;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      // Each time another seed: a processor learns the branches of a small batch by heart.
      bodies.emplace_back([&, r, own = settings]() mutable {
        ++own.seed;
        rows[r].roll(own, out[r]);
      });
    }
    const std::vector<double> times = best_in_turns(bodies, std::max(repeats * 50 / batch, 21));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].steps_per_second.push_back(static_cast<double>(batch) * steps / times[r]);
    }
  }

  fmt::print("{} steps a trajectory, one batch after the other; SIMD target {}\n\n{:<24}", steps,
             current_simd_target(), "million steps a second");
  for (const int batch : batches) fmt::print("{:>14}", fmt::format("{} together", batch));
  fmt::print("{:>14}\n", "last / first");
  for (const Row& row : rows) {
    fmt::print("{:<24}", row.name);
    for (const double speed : row.steps_per_second) fmt::print("{:>14.1f}", 1e-6 * speed);
    fmt::print("{:>14.2f}\n", row.steps_per_second.back() / row.steps_per_second.front());
  }
  const auto ratios = [&](const std::string& name, std::size_t above, std::size_t below) {
    fmt::print("{:<24}", name);
    for (std::size_t b = 0; b < batches.size(); ++b) {
      fmt::print("{:>14.2f}", rows[above].steps_per_second[b] / rows[below].steps_per_second[b]);
    }
    fmt::print("\n");
  };
  fmt::print("\n");
  ratios("doubles / plain loop", 1, 0);
  ratios("vectors / plain loop", 2, 0);
  ratios("vectors / doubles", 2, 1);
  return 0;
}

}  // namespace lifeguard::bench_own_systems

int main(int argc, char** argv) { return lifeguard::bench_own_systems::run(argc, argv); }
