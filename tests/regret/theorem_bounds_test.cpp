#include "lifeguard/regret/theorem_bounds.hpp"
#include "lifeguard/base_learners/base_learner.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::theorem_bounds_test {

/// A box around zero that reaches half of the LQR gains, with a slack limit that never binds.
SafeSet half_way(const Task& task) {
  const Eigen::VectorXd best = parameters_from_gains(lqr_gains(task)).cwiseAbs();
  const Eigen::VectorXd side = (0.5 * best).cwiseMax(0.05 * best.maxCoeff());
  const SafeSet box = gain_box(-side, side, default_gain_names(task.actions(), task.states()));
  return box.with_slack_limit(2.5 * std::sqrt(2.0) * side.norm());
}

struct RunReport {
  TheoremReport bounds;
  SurrogateRegret regret;
  double steps = 0;  // Σ step_kl
};

RunReport run(const Family& family, UpdateRule update, int rounds) {
  const std::vector<Task> tasks = family.draw_many(3, 3);
  const int features = tasks[0].states();
  const int actions = tasks[0].actions();
  LearnerSettings settings;
  settings.update = update;
  const double eta = 1 / std::sqrt(static_cast<double>(rounds));
  if (update == UpdateRule::alternating) {
    settings.memory = 1;
    settings.regularisation.eta = eta;
  }
  Learner learner(features, actions, settings);
  RegretLedger ledger(features, actions);
  TheoremBounds bounds({settings.projection.p, settings.projection.q, settings.regularisation.mu1,
                        settings.regularisation.mu2, settings.zeta});
  for (const Task& task : tasks) {
    const SafeSet set = half_way(task);
    learner.add_task(task.name, set, task.settings.sigma);
    ledger.add_task(set);
    bounds.add_task(set, learner.knowledge().anchors.col(learner.tasks() - 1));
  }
  RunReport result;
  for (int j = 0; j < rounds; ++j) {
    const int t = j % 3;
    const Task& task = tasks[static_cast<std::size_t>(t)];
    RolloutSettings rollouts;
    rollouts.trajectories = 20;
    rollouts.seed = static_cast<std::uint64_t>(j);
    const Trajectories batch = rollout(task, learner.policy(task.name), rollouts);
    const Knowledge played = learner.knowledge();
    result.steps += learner.observe(task.name, batch).step_kl;
    const RoundLoss& loss = learner.last_loss();
    ledger.record(t, loss, loss.played);
    const LemmaValues v = bounds.evaluate(t, loss, batch, task.settings.sigma, played);
    bounds.add(v, played.basis_size());
    EXPECT_TRUE(v.hold());
    for (const BoundedQuantity& lemma :
         {v.policy_gradient, v.knowledge_gradient, v.knowledge, v.linearised}) {
      EXPECT_TRUE(std::isfinite(lemma.bound));
      EXPECT_GT(lemma.measured, 0);
      EXPECT_LE(lemma.measured, lemma.bound) << family.name << " round " << j;
    }
  }
  result.bounds = bounds.report(eta);
  result.regret = ledger.surrogate_regret();
  return result;
}

TEST(TheoremBounds, HoldOnRunsOfAllSystems) {
  for (const Family& family : {mass_spring_family(), cart_pole_family(), quadrotor_family()}) {
    for (const UpdateRule update : {UpdateRule::linearised, UpdateRule::alternating}) {
      const RunReport r = run(family, update, 30);
      EXPECT_LE(r.regret.most, r.bounds.excess) << family.name;
      EXPECT_LE(r.regret.most, r.bounds.regret_bound) << family.name;
      EXPECT_NEAR(r.bounds.excess, r.steps, 1e-9 * r.steps) << family.name;
      for (const double ratio : r.bounds.worst_ratios) {
        EXPECT_GT(ratio, 0);
        EXPECT_LE(ratio, 1);
      }
      RecordProperty(family.name + (update == UpdateRule::linearised ? " linearised" : " FTRL"),
                     "L1 " + std::to_string(r.bounds.worst_ratios[0]) + " L2 " +
                         std::to_string(r.bounds.worst_ratios[1]) + " L3 " +
                         std::to_string(r.bounds.worst_ratios[2]) + " L4 " +
                         std::to_string(r.bounds.worst_ratios[3]) + " regret " +
                         std::to_string(r.regret.most) + " excess " +
                         std::to_string(r.bounds.excess) + " theorem " +
                         std::to_string(r.bounds.regret_bound));
    }
  }
}

/// One dimension: n trajectories of M steps with feature 1 and action u at σ = 1, α = L s.
struct Scalar {
  SafeSet set{Eigen::MatrixXd::Ones(1, 1), Eigen::VectorXd::Ones(1), {"limit"}, 1.0};
  int trajectories = 10;
  int steps = 10;
  double action = -1;
  double basis = 1;
  double alpha = 1;
  double p = 1, q = 1;
  int tasks = 1;

  LemmaValues evaluate(TheoremReport* report = nullptr) const {
    Trajectories batch(trajectories, steps, 1, 1);
    for (int i = 0; i < trajectories; ++i) {
      for (int m = 0; m < steps; ++m) {
        batch.feature(i, m, 0) = 1;
        batch.action(i, m, 0) = action;
      }
    }
    BaseLearnerSettings settings;
    settings.method = BaseLearnerMethod::fit_demonstrations;
    BaseLearnerWorkspace workspace;
    const GaussianPolicy policy(Eigen::MatrixXd::Constant(1, 1, alpha), 1.0);
    const RoundLoss loss = make_round_loss(batch, policy, 0, settings, workspace);
    Knowledge knowledge(1, 1, basis);
    TheoremBounds bounds({p, q, 1, 1, std::sqrt(p)});
    for (int t = 0; t < tasks; ++t) {
      knowledge.add_task(Eigen::VectorXd::Zero(1));
      bounds.add_task(set, Eigen::VectorXd::Zero(1));
    }
    knowledge.coefficients.setConstant(alpha / basis);
    const LemmaValues values = bounds.evaluate(0, loss, batch, 1.0, knowledge);
    bounds.add(values, knowledge.basis_size());
    if (report != nullptr) *report = bounds.report(1.0);
    return values;
  }
};

// Lemma 4: γ₁ has 1/(nσ²) where Lemma 1 has M/σ².
TEST(TheoremBounds, PrintedGamma1IsTooSmall) {
  const LemmaValues v = Scalar{}.evaluate();
  EXPECT_NEAR(v.policy_gradient.measured, 20, 1e-9);  // M |α - u|
  EXPECT_LE(v.policy_gradient.measured, v.policy_gradient.printed);
  EXPECT_NEAR(v.knowledge_gradient.measured, 20 * std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(v.printed_gamma1, 0.9, 1e-9);
  EXPECT_GT(v.knowledge_gradient.measured, v.printed_gamma1);
  EXPECT_LE(v.knowledge_gradient.measured, v.gamma1);
}

// Lemma 4: γ₂ drops the factor √(qd) that Lemma 3 has before the tasks' part.
TEST(TheoremBounds, PrintedGamma2IsTooSmall) {
  Scalar example;
  example.set =
      SafeSet(Eigen::MatrixXd::Ones(1, 1), Eigen::VectorXd::Constant(1, 10), {"limit"}, 1e-3);
  example.p = example.q = 4;
  example.basis = 2;
  example.alpha = 10;
  example.tasks = 100;
  const LemmaValues v = example.evaluate();
  EXPECT_NEAR(v.knowledge.measured, std::sqrt(4 + 100 * 25.0), 1e-9);  // 50.04
  EXPECT_LT(v.printed_gamma2, 29);
  EXPECT_LE(v.knowledge.measured, v.gamma2);
  EXPECT_LE(v.knowledge.measured, v.knowledge.printed);  // Lemma 3 itself holds
}

// Lemma 5: γ₅ keeps only the part that is proportional to ‖A⁺‖²(‖b‖ + c)². A safe set close to
// zero makes it vanish, while the gradient with respect to s does not.
TEST(TheoremBounds, PrintedGamma5IsTooSmall) {
  Scalar example;
  example.set =
      SafeSet(Eigen::MatrixXd::Ones(1, 1), Eigen::VectorXd::Constant(1, 1e-3), {"limit"}, 1e-2);
  example.alpha = 0;
  TheoremReport report;
  const LemmaValues v = example.evaluate(&report);
  EXPECT_NEAR(v.knowledge_gradient.measured, 10, 1e-9);  // M |α - u| L
  EXPECT_LT(report.printed_gamma5, 1e-3);
  EXPECT_GE(v.linearised.measured, v.knowledge_gradient.measured);
  EXPECT_LE(v.linearised.measured * v.linearised.measured, report.gamma5);
}

// Lemma 1: α = A⁺(b - c) needs A of full column rank. With A = (1 0) nothing limits α₂.
TEST(TheoremBounds, Lemma1NeedsFullColumnRank) {
  const SafeSet set((Eigen::MatrixXd(1, 2) << 1, 0).finished(), Eigen::VectorXd::Ones(1), {"first"},
                    2.0);
  const Eigen::VectorXd alpha = Eigen::Vector2d(0.5, 100);
  EXPECT_TRUE(strictly_safe(set, alpha));
  const double printed = 1.0 * (1.0 + 2.0);  // ‖A⁺‖(‖b‖ + c_max)
  EXPECT_GT(alpha.norm(), printed);
  EXPECT_TRUE(std::isinf(policy_norm_bound(set)));
  const SafeSet full(Eigen::MatrixXd::Identity(2, 2), Eigen::Vector2d(1, 1), {"first", "second"},
                     2.0);
  EXPECT_NEAR(policy_norm_bound(full), std::sqrt(2.0) + 2, 1e-12);
}

// The theorem's proof takes l(θ̂) - l(u) ≤ ∇l(θ̂)·(θ̂ - u), but l is not convex in θ = (L, s).
TEST(TheoremBounds, TheLossIsNotConvexInLAndS) {
  SummedLoss loss(1, 1);  // ½(α - 1)² - ½
  loss.curvature(0, 0) = 1;
  loss.linear(0) = 1;
  const RegularisationSettings nearly_none{1.0, 1e-12, 1e-12, 1.0};
  Knowledge here(1, 1, 1.0);
  here.add_task(Eigen::VectorXd::Zero(1));
  Knowledge other = here;
  other.basis(0, 0) = 4;
  other.coefficients(0, 0) = 0.25;
  const double ahead = objective(nearly_none, {loss}, here) - objective(nearly_none, {loss}, other);
  const double linear = basis_gradient(nearly_none, {loss}, here)(0, 0) * (1.0 - 4.0) +
                        coefficient_gradient(nearly_none, {loss}, here)(0, 0) * (0.0 - 0.25);
  EXPECT_NEAR(ahead, 0.5, 1e-9);
  EXPECT_NEAR(linear, 0.25, 1e-9);
}

// Nor is the safe set: α = L s ≤ 1 holds at (4, 0.2) and (0.2, 4), but not half-way.
TEST(TheoremBounds, TheSafeSetIsNotConvexInLAndS) {
  const SafeSet set(Eigen::MatrixXd::Ones(1, 1), Eigen::VectorXd::Ones(1), {"limit"});
  Knowledge one(1, 1, 4.0);
  one.add_task(Eigen::VectorXd::Zero(1));
  one.coefficients(0, 0) = 0.2;
  Knowledge two(1, 1, 0.2);
  two.add_task(Eigen::VectorXd::Zero(1));
  two.coefficients(0, 0) = 4;
  Knowledge middle = one;
  middle.basis = 0.5 * (one.basis + two.basis);
  middle.coefficients = 0.5 * (one.coefficients + two.coefficients);
  EXPECT_TRUE(strictly_safe(set, one.policy_parameters(0)));
  EXPECT_TRUE(strictly_safe(set, two.policy_parameters(0)));
  EXPECT_FALSE(strictly_safe(set, middle.policy_parameters(0)));
}

}  // namespace lifeguard::theorem_bounds_test
