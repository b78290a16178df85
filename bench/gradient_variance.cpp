// How noisy the policy gradient of one round is, with and without each part that is meant to reduce
// the noise. Lengths are measured in the natural norm, ‖g‖² = gᵀ F⁻¹ g. For each setting, over many
// rounds of one task and policy:
//   noise      E‖ĝ - E ĝ‖² / ‖E ĝ‖²: variance beside the squared length of the setting's own mean
//   ratio      that of the plain whole-return gradient divided by it: how many times fewer
//              trajectories give an equally certain direction
//   alignment  mean cosine of the angle between ĝ and the gradient of the expected cost
//   bias       cosine of the angle between E ĝ and the gradient of the expected cost
// The gradient of the expected cost is the mean over all rounds of the unbiased estimate of least
// variance.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Cholesky>
#include <cmath>
#include <string>
#include <vector>

#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_gradient_variance {

struct Variant {
  std::string name;
  AdvantageSettings settings;
};

AdvantageSettings parts(bool cost_to_go, bool step_mean, bool state_baseline, bool normalise,
                        double discount, double trace) {
  AdvantageSettings s;
  s.cost_to_go = cost_to_go;
  s.step_mean = step_mean;
  s.state_baseline = state_baseline;
  s.normalise = normalise;
  s.discount = discount;
  s.trace = trace;
  return s;
}

std::vector<Variant> variants() {
  std::vector<Variant> list = {
      {"whole return", parts(false, false, false, false, 1, 1)},
      {"whole return, both baselines", parts(false, true, true, false, 1, 1)},
      {"cost-to-go", parts(true, false, false, false, 1, 1)},
      {"  + step mean", parts(true, true, false, false, 1, 1)},
      {"  + state baseline, no step mean", parts(true, false, true, false, 1, 1)},
      {"  + step mean and state baseline", parts(true, true, true, false, 1, 1)},
      {"    + normalised", parts(true, true, true, true, 1, 1)},
      {"    + discount 0.99", parts(true, true, true, true, 0.99, 1)},
      {"    + trace 0.9 (default)", parts(true, true, true, true, 0.99, 0.9)},
      {"default without state baseline", parts(true, true, false, true, 0.99, 0.9)},
      {"default without step mean", parts(true, false, true, true, 0.99, 0.9)},
      {"discount 0.9, trace 0.7", parts(true, true, true, true, 0.9, 0.7)},
  };
  for (const int stride : {1, 3, 10}) {
    Variant other{fmt::format("default, baseline stride {}", stride), {}};
    other.settings.baseline_stride = stride;
    list.push_back(other);
  }
  Variant sweeps{"default, 3 baseline sweeps", {}};
  sweeps.settings.baseline_sweeps = 3;
  list.push_back(sweeps);
  return list;
}

int run(int argc, char** argv) {
  CLI::App app("Variance of the policy gradient");
  int trajectories = 50, steps = 150, rounds = 400;
  double share = 0.5;
  app.add_option("--trajectories", trajectories, "trajectories a round");
  app.add_option("--steps", steps, "steps a trajectory");
  app.add_option("--rounds", rounds, "rounds simulated");
  app.add_option("--share", share, "the policy: this share of the LQR gains");
  CLI11_PARSE(app, argc, argv);

  for (const Task& task : {make_task("mass", MassSpring{}), make_task("cart-pole", CartPole{}),
                           make_task("quadrotor", Quadrotor{})}) {
    const GaussianPolicy policy(share * lqr_gains(task), task.settings.sigma);
    const std::vector<Variant> list = variants();
    constexpr std::size_t kReference = 5;
    std::vector<Eigen::MatrixXd> gradients(list.size(),
                                           Eigen::MatrixXd(policy.gains().size(), rounds));
    Eigen::MatrixXd fisher = Eigen::MatrixXd::Zero(policy.features(), policy.features());
    Trajectories data;
    AdvantageWorkspace workspace;
    PolicyGradient gradient;
    double failed = 0;
    for (int b = 0; b < rounds; ++b) {
      RolloutSettings batch;
      batch.trajectories = trajectories;
      batch.steps = steps;
      batch.seed = static_cast<std::uint64_t>(b);
      rollout(task, policy, batch, data);
      failed += data.failed();
      for (std::size_t v = 0; v < list.size(); ++v) {
        const AdvantageSummary summary = compute_advantages(data, list[v].settings, workspace);
        compute_policy_gradient(data, policy, workspace.advantages.data(), gradient);
        gradients[v].col(b) = summary.scale / steps * gradient.gradient;
      }
      fisher += gradient.fisher / rounds;
    }
    // Into coordinates in which the natural norm is the plain one: g ← C⁻¹ g with F = C Cᵀ.
    const Eigen::LLT<Eigen::MatrixXd> factor(fisher);
    for (Eigen::MatrixXd& g : gradients) {
      for (int start = 0; start < g.rows(); start += policy.features()) {
        auto block = g.middleRows(start, policy.features());
        factor.matrixL().solveInPlace(block);
      }
    }
    const Eigen::VectorXd reference = gradients[kReference].rowwise().mean();
    fmt::print("{}, {} of LQR: {} rounds of {} trajectories x {} steps, {:.1f} % failed\n",
               task.name, share, rounds, trajectories, steps, 100 * failed / rounds / trajectories);
    fmt::print("  {:<36}{:>10}{:>9}{:>11}{:>8}\n", "", "noise", "ratio", "alignment", "bias");
    double plain = 0;
    for (std::size_t v = 0; v < list.size(); ++v) {
      const Eigen::VectorXd mean = gradients[v].rowwise().mean();
      const double variance = (gradients[v].colwise() - mean).squaredNorm() / (rounds - 1.0);
      // The squared length of a mean contains its own variance.
      const double length = mean.squaredNorm() - variance / rounds;
      const double noise = length > 0 ? variance / length : std::nan("");
      if (v == 0) plain = noise;
      double alignment = 0;
      for (int b = 0; b < rounds; ++b) {
        alignment += gradients[v].col(b).normalized().dot(reference.normalized()) / rounds;
      }
      fmt::print("  {:<36}{:>10.2f}{:>9.1f}{:>11.3f}{:>8.3f}\n", list[v].name, noise, plain / noise,
                 alignment, mean.normalized().dot(reference.normalized()));
    }
  }
  return 0;
}

}  // namespace lifeguard::bench_gradient_variance

int main(int argc, char** argv) { return lifeguard::bench_gradient_variance::run(argc, argv); }
