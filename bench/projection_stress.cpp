// Random projections, from easy to nasty, in chains of rounds; every result is checked in extended
// precision by code that shares nothing with the projection. Ends with the number of unsafe ones,
// which has to be 0.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "lifeguard/safety/solve/projection.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::bench_projection_stress {

int run(int argc, char** argv) {
  using lifeguard::test_support::Draws;

  CLI::App app("Stress of the projection");
  long least_rounds = 100000, least_steps = 1000000;
  std::uint64_t seed = 1;
  double faults = 0;
  app.add_option("--rounds", least_rounds, "at least so many rounds");
  app.add_option("--steps", least_steps, "and at least so many S-steps that had to be solved");
  app.add_option("--seed", seed, "of all problems");
  app.add_option("--faults", faults, "probability that a solver step is made to fail");
  CLI11_PARSE(app, argc, argv);

  long rounds = 0, steps = 0, inside = 0, balls = 0, scaled = 0, kept = 0, retracted = 0,
       increases = 0, unsafe = 0;
  long paths[8] = {};
  double slowest = 0, projecting = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t problem = 0; rounds < least_rounds || steps < least_steps; ++problem) {
    Draws draws(derive_seed(seed, problem));
    // Mostly of moderate size, one in fifty up to the largest.
    lifeguard::test_support::ProjectionSize size{14, 14, 48, 20};
    if (problem % 50 == 0) size = {};
    auto data = lifeguard::test_support::random_projection(draws, size);
    ProjectionSettings settings;
    settings.p = data.p;
    settings.q = data.q;
    settings.max_alternations = 3;
    Projection projection(settings);
    if (faults > 0) {
      projection.inject_faults([&](ProjectionStage) {
        return draws.chance(faults) ? static_cast<ProjectionFault>(draws.integer(1, 3))
                                    : ProjectionFault::none;
      });
    }
    for (int round = 0; round < 20; ++round, ++rounds) {
      lifeguard::test_support::draw_target(draws, data);
      const ProjectionResult& result = projection.project({data.tasks}, data.target, data.last);
      unsafe += lifeguard::test_support::unsafe_count(data, result.knowledge);
      for (std::size_t i = 1; i < result.objectives.size(); ++i) {
        increases += result.objectives[i] > result.objectives[i - 1];
      }
      const CoefficientPathCounts& counts = result.coefficient_paths;
      steps += counts.rows + counts.ball + counts.scaled;
      inside += counts.inside;
      balls += counts.ball;
      scaled += counts.scaled;
      kept += result.status == ProjectionStatus::kept_last;
      retracted += result.retraction < 1;
      ++paths[static_cast<int>(result.basis_path)];
      slowest = std::max(slowest, result.seconds);
      projecting += result.seconds;
      data.last = result.knowledge;
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} rounds, {} S-steps solved ({} with the ball; {} more were inside), {:.0f} s, {:.0f} s of "
      "them projecting, slowest round {:.2f} s\n",
      rounds, steps, balls, inside, elapsed.count(), projecting, slowest);
  fmt::print(
      "L-step: inside {}, rows {}, spectrum {}, short steps {}, kept {}, direct {}, none accepted "
      "{}\n",
      paths[1], paths[2], paths[3], paths[4], paths[5], paths[6], paths[0]);
  fmt::print(
      "S-steps that failed and were scaled {}, rounds with a retraction {}, rounds that kept the "
      "last point {}\n",
      scaled, retracted, kept);
  fmt::print("objective increases: {}\nunsafe results: {}\n", increases, unsafe);
  return unsafe == 0 && increases == 0 ? 0 : 1;
}

}  // namespace lifeguard::bench_projection_stress

int main(int argc, char** argv) { return lifeguard::bench_projection_stress::run(argc, argv); }
