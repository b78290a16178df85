// Every stored step of a batch, made with vectors, is the one that the task takes with doubles.

#define LIFEGUARD_SYSTEM Tank
#define LIFEGUARD_SYSTEM_FILE "tank.hpp"
#include <lifeguard/trajectories/compile_system.hpp>

#include <cstdio>

int main() {
  const lifeguard::Task task = lifeguard::make_task("tank", lifeguard::make_custom_system(Tank{}));
  const lifeguard::GaussianPolicy policy(Eigen::MatrixXd::Constant(1, 1, 0.9), 0.5);
  const lifeguard::Trajectories batch = lifeguard::rollout(task, policy, {.trajectories = 99});
  for (int i = 0; i < batch.count(); ++i) {
    for (int m = 0; m + 1 < batch.length(i); ++m) {
      const Eigen::VectorXd x = Eigen::VectorXd::Constant(1, batch.feature(i, m, 0));
      const Eigen::VectorXd u = Eigen::VectorXd::Constant(1, batch.action(i, m, 0));
      if (task.step(x, u)(0) != batch.feature(i, m + 1, 0)) return 1;
      if (task.cost(x, u) != batch.cost(i, m)) return 1;
    }
  }
  std::printf("lifeguard %s: %d of %d tanks ran over\n", lifeguard::kVersion, batch.failed(),
              batch.count());
  return batch.failed() > 0 && batch.failed() < batch.count() ? 0 : 1;
}
