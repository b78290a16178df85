// What turning a round's trajectories into a loss costs, beside simulating them: rollout and
// learner are timed in turns in one run, and the ratio is the number to look at (below 1: learning
// is cheaper than the data it learns from).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_base_learners {

struct Part {
  std::string name;
  std::function<void()> body;
  std::vector<double> seconds = {};
};

int run(int argc, char** argv) {
  CLI::App app("Time of the base learners beside the rollouts");
  int trajectories = 50, steps = 150, repeats = 301;
  app.add_option("--trajectories", trajectories, "trajectories a round");
  app.add_option("--steps", steps, "steps a trajectory");
  app.add_option("--repeats", repeats, "rounds timed; the median counts");
  CLI11_PARSE(app, argc, argv);

  for (const Task& task : {make_task("mass", MassSpring{}), make_task("cart-pole", CartPole{}),
                           make_task("quadrotor", Quadrotor{})}) {
    const GaussianPolicy policy(lqr_gains(task) * 0.9, task.settings.sigma);
    RolloutSettings batch;
    batch.trajectories = trajectories;
    batch.steps = steps;
    Trajectories data = rollout(task, policy, batch);
    Trajectories out;
    BaseLearnerWorkspace workspace;
    RoundLoss loss;
    std::vector<Part> parts;
    parts.push_back({"rollout", [&] {
                       ++batch.seed;
                       rollout(task, policy, batch, out);
                     }});
    const auto add = [&](const std::string& name, const BaseLearnerSettings& settings) {
      parts.push_back(
          {name, [&, settings] { make_round_loss(data, policy, 0, settings, workspace, loss); }});
    };
    BaseLearnerSettings settings;
    add("eNAC, default", settings);
    settings.advantages.baseline_stride = 1;
    add("  baseline from every step", settings);
    settings = {};
    settings.advantages.baseline_sweeps = 3;
    add("  3 baseline sweeps", settings);
    settings = {};
    settings.advantages.state_baseline = false;
    add("  without state baseline", settings);
    settings = {};
    settings.step.rule = StepRule::line_search;
    add("  with line search", settings);
    settings = {};
    settings.method = BaseLearnerMethod::natural_actor_critic_regression;
    add("eNAC, regression", settings);
    settings.method = BaseLearnerMethod::reinforce;
    add("eREINFORCE", settings);
    settings.method = BaseLearnerMethod::weighted_likelihood;
    add("weighted likelihood", settings);
    parts.push_back({"of which advantages",
                     [&] { compute_advantages(data, AdvantageSettings{}, workspace.advantages); }});
    parts.push_back({"of which baseline fit", [&] {
                       AdvantageWorkspace& w = workspace.advantages;
                       w.baseline.fit(data, w.lengths.data(), AdvantageSettings{}.baseline_stride,
                                      true, w.returns.data(), w.means.data());
                     }});
    parts.push_back({"of which policy gradient", [&] {
                       compute_policy_gradient(data, policy, workspace.advantages.advantages.data(),
                                               workspace.policy_gradient);
                     }});
    const ActionRange range{task.settings.action_low, task.settings.action_high};
    parts.push_back({"model critic", [&] { workspace.critic.fit(data, policy, range); }});
    for (int r = 0; r < repeats; ++r) {
      for (Part& part : parts) {
        part.seconds.push_back(seconds_of(part.body));
      }
    }
    fmt::print("{}: {} trajectories x {} steps\n", task.name, trajectories, steps);
    const double reference = median(parts[0].seconds);
    for (Part& part : parts) {
      const double seconds = median(part.seconds);
      fmt::print("  {:<30}{:>9.1f} us{:>8.2f} rollouts\n", part.name, 1e6 * seconds,
                 seconds / reference);
    }
  }
  return 0;
}

}  // namespace lifeguard::bench_base_learners

int main(int argc, char** argv) { return lifeguard::bench_base_learners::run(argc, argv); }
