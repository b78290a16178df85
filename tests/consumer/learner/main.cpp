// One task whose only gain may lie between -2 and 2, learnt from trajectories that this program
// makes up itself: x⁺ = 0.9 x + 0.1 u costs x² + 0.01 u².

#include <cstdio>
#include <lifeguard/lifeguard.hpp>
#include <random>

int main() {
  lifeguard::Learner learner(/*features=*/1, /*actions=*/1);
  const lifeguard::SafeSet limits =
      lifeguard::gain_box(Eigen::VectorXd::Constant(1, -2.0), Eigen::VectorXd::Constant(1, 2.0),
                          lifeguard::default_gain_names(1, 1));
  learner.add_task("pendulum", limits, /*sigma=*/0.5);
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  double first = 0;
  double last = 0;
  for (int round = 0; round < 30; ++round) {
    const lifeguard::GaussianPolicy policy = learner.policy("pendulum");
    lifeguard::Trajectories batch(/*count=*/40, /*steps=*/30, /*features=*/1, /*actions=*/1);
    for (int i = 0; i < batch.count(); ++i) {
      double x = normal(generator);
      for (int m = 0; m < batch.steps(); ++m) {
        const double u = policy.gains()(0, 0) * x + policy.sigma() * normal(generator);
        batch.feature(i, m, 0) = x;
        batch.action(i, m, 0) = u;
        batch.cost(i, m) = x * x + 0.01 * u * u;
        x = 0.9 * x + 0.1 * u;
      }
    }
    const lifeguard::RoundRecord record = learner.observe("pendulum", batch);
    if (round == 0) first = record.mean_cost;
    last = record.mean_cost;
    const double gain = learner.policy("pendulum").gains()(0, 0);
    if (!(gain >= -2 && gain <= 2)) return 1;
  }
  std::printf("lifeguard %s: cost %.4f, then %.4f with gain %.3f\n", lifeguard::kVersion, first,
              last, learner.policy("pendulum").gains()(0, 0));
  return last < first ? 0 : 1;
}
