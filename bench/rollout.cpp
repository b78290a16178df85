// Simulation speed: the vectorised kernels against the plain scalar loop of
// tests/support/scalar_rollout.hpp, both compiled in this build, measured alternately in one run.
// A step includes policy, exploration noise, cost and writing the trajectory.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "tests/support/scalar_rollout.hpp"

namespace lifeguard::bench_rollout {
int run(int argc, char** argv) {
  CLI::App app("Steps per second of the simulators");
  int trajectories = 50, steps = 150, repeats = 301;
  app.add_option("--trajectories", trajectories, "trajectories a batch");
  app.add_option("--steps", steps, "steps a trajectory");
  app.add_option("--repeats", repeats, "batches timed; the fastest counts");
  CLI11_PARSE(app, argc, argv);

  fmt::print("{} trajectories x {} steps, one batch after the other; SIMD target {}\n\n",
             trajectories, steps, current_simd_target());
  fmt::print("{:<12}{:<21}{:>12}{:>12}{:>9}{:>12}{:>14}\n", "system", "integrator", "scalar M/s",
             "kernel M/s", "ratio", "eval M/s", "2 threads x");
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::runge_kutta_4}) {
    for (Task task : {make_task("mass", MassSpring{}), make_task("cart-pole", CartPole{}),
                      make_task("quadrotor", Quadrotor{})}) {
      const bool euler = integrator == Integrator::semi_implicit_euler;
      const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
      Task chosen = task;
      chosen.settings.integrator = integrator;
      RolloutSettings settings;
      settings.trajectories = trajectories;
      settings.steps = steps;
      // Threads pay off on batches that are long enough to share.
      RolloutSettings one = settings;
      one.trajectories = 64 * trajectories;
      RolloutSettings two = one;
      two.threads = 2;
      Trajectories scalar_out, kernel_out, large_out;
      const std::vector<double> times = best_in_turns(
          {[&] { test_support::scalar_rollout(task, policy, settings, scalar_out); },
           [&] { rollout(chosen, policy, settings, kernel_out); },
           [&] { benchmark::DoNotOptimize(evaluate(chosen, policy.without_noise(), settings)); }},
          repeats);
      const std::vector<double> threads =
          best_in_turns({[&] { rollout(chosen, policy, one, large_out); },
                         [&] { rollout(chosen, policy, two, large_out); }},
                        std::max(repeats / 10, 5));
      const double count = 1e-6 * trajectories * steps;
      const std::string scalar = euler ? fmt::format("{:.1f}", count / times[0]) : "-";
      const std::string ratio = euler ? fmt::format("{:.2f}", times[0] / times[1]) : "-";
      fmt::print("{:<12}{:<21}{:>12}{:>12.1f}{:>9}{:>12.1f}{:>14.2f}\n", task.name,
                 euler ? "semi-implicit Euler" : "Runge-Kutta 4", scalar, count / times[1], ratio,
                 count / times[2], threads[0] / threads[1]);
    }
  }
  return 0;
}

}  // namespace lifeguard::bench_rollout

int main(int argc, char** argv) { return lifeguard::bench_rollout::run(argc, argv); }
