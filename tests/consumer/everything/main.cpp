#include <cstdio>

#include <lifeguard/lifeguard.hpp>

int main() {
  // A configuration as text (runs), its first task (simulation) and a learner for it (learner).
  const lifeguard::ExperimentConfig config =
      lifeguard::parse_config("[family]\nbase = \"mass-spring\"", "consumer");
  const lifeguard::Task task = config.family.draw(1, 0);
  lifeguard::Learner learner(task.states(), task.actions());
  learner.add_task(task.name, Eigen::VectorXd::Zero(2), task.settings.sigma);
  lifeguard::RolloutSettings flights;
  for (flights.seed = 0; flights.seed < 10; ++flights.seed) {
    learner.observe(task.name, lifeguard::rollout(task, learner.policy(task.name), flights));
  }
  const lifeguard::Trajectories batch =
      lifeguard::rollout(task, learner.policy(task.name), flights);
  std::printf("lifeguard %s: mean cost %.4f\n", lifeguard::kVersion, batch.mean_cost());
  return batch.mean_cost() > 0 && batch.failed() == 0 ? 0 : 1;
}
