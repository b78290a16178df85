#pragma once

#include <filesystem>
#include <string>

#include "lifeguard/runs/run.hpp"
#include "tests/support/folder.hpp"

namespace lifeguard {

/// A small experiment: three masses with limits on their gains, twelve rounds.
inline ExperimentConfig small_experiment(const std::string& method, int seed) {
  constexpr const char* kConfig = R"(
[experiment]
name = "small"
rounds = 12
tasks = 3
trajectories = 10
steps = 20
[evaluation]
start_states = 4
[family]
base = "mass-spring"
[safe_set.lqr_box]
reach = 0.5
)";
  return configuration_of(parse_config(kConfig, "test"), method, seed);
}

/// Masses with limits on their gains, of a learner that believes something of them.
inline ExperimentConfig small_believing_experiment(int rounds = 12, int tasks = 3) {
  return parse_config("[experiment]\nname = \"believing\"\nrounds = " + std::to_string(rounds) +
                          "\ntasks = " + std::to_string(tasks) +
                          "\ntrajectories = 10\nsteps = 20\n[evaluation]\nstart_states = 4\n"
                          "[learner]\nupdate = \"empirical Bayes\"\n[projection]\np = 1e-6\n"
                          "[family]\nbase = \"mass-spring\"\n[safe_set.lqr_box]\nreach = 0.5\n",
                      "test");
}

/// The same without constraints, four rounds.
inline ExperimentConfig small_free_experiment(const std::string& method) {
  constexpr const char* kConfig =
      "[experiment]\nname='free'\nrounds=4\ntasks=2\nsteps=10\n[family]\nbase='mass-spring'\n";
  return configuration_of(parse_config(kConfig, "test"), method, 0);
}

/// Three cart-poles that are guaranteed not to fall.
inline constexpr const char* kClosedLoopPoles = R"(
[experiment]
name = "poles"
rounds = 9
tasks = 3
trajectories = 20
[evaluation]
start_states = 4
[family]
base = "cart-pole"
[family.settings]
start_low = [-0.14, -0.14, -0.098, -0.14]
start_high = [0.14, 0.14, 0.098, 0.14]
sigma = 0.06
noise_limit = 0.1
[safe_set.closed_loop]
tolerance = 0.1
decay = 0.99
state_limits = [3.0, inf, 0.6, 4.0]
room = "nominal"
)";

/// Nine rounds with them.
inline ExperimentConfig small_closed_loop_experiment(const std::string& method) {
  return configuration_of(parse_config(kClosedLoopPoles, "test"), method, 0);
}

/// Tests on run files, in a folder of their own.
class PlayedRuns : public test_support::Folder {
 protected:
  /// Plays until `rounds` rounds are done, or all.
  std::filesystem::path play(const ExperimentConfig& config, long rounds = 1000) {
    auto path = folder_ / (config.method + "-" + std::to_string(config.seed) + ".run");
    RunOptions options;
    options.after_round = [&](const lifeguard::Run& run, const RoundOutcome&) {
      return run.rounds_done() < rounds;
    };
    if (std::filesystem::exists(path)) {
      resume_run(path, options);
    } else {
      start_run(config, path, options);
    }
    return path;
  }
};

}  // namespace lifeguard
