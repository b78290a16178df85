#include <cstdio>

#include <lifeguard/runs/family_config.hpp>
#include <lifeguard/systems/lqr.hpp>
#include <lifeguard/trajectories/rollout.hpp>
#include <lifeguard/version.hpp>

int main() {
  const lifeguard::Family family =
      lifeguard::parse_family("[family]\nbase = \"mass-spring\"", "consumer");
  const lifeguard::Task task = family.draw(1, 0);
  const lifeguard::GaussianPolicy policy(lifeguard::lqr_gains(task), task.settings.sigma);
  const lifeguard::Trajectories batch = lifeguard::rollout(task, policy, {});
  std::printf("lifeguard %s: mean cost %.4f\n", lifeguard::kVersion, batch.mean_cost());
  return batch.mean_cost() > 0 && batch.failed() == 0 ? 0 : 1;
}
