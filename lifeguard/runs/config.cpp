#include "lifeguard/runs/config.hpp"

#include <algorithm>
#include <cstddef>

namespace lifeguard {
namespace {

void visit_steps(KeyVisitor& v, StepTuning& steps) {
  v.number("trust_region_per_step", steps.trust_region_per_step, Range::at_least(0), "nats",
           "trust region for each live step of a trajectory; 0 uses base_learner.trust_region");
  v.number("step_decay", steps.step_decay, Range::at_least(0), "",
           "r in δ / (1 + visits)^r, how trust regions shrink");
  v.number("sure_noise_share", steps.sure_noise_share, Range::at_least(0), "",
           "trust regions grow by this over the noise share where that is small; 0 means never");
  v.number("newton_limit", steps.newton_limit, Range::at_least(0), "Newton steps",
           "longest step as a multiple of the Newton step; 0 means no limit");
}

void visit_experiment(KeyVisitor& v, ExperimentConfig& c) {
  v.section("experiment", "What is run, and for how long.");
  v.text("name", c.name, "names the run in files and reports");
  v.integer("rounds", c.rounds, Range::between(1, 10000000), "rounds", "R, how many are played");
  v.integer("tasks", c.tasks, Range::between(1, 100000), "tasks", "T, drawn anew for each seed");
  v.integer("trajectories", c.trajectories, Range::between(2, 1000000), "trajectories",
            "gathered in each round");
  v.integer("steps", c.steps, Range::between(1, 1000000), "time steps", "of each trajectory");
  v.integer("seed", c.seed, Range::at_least(0), "",
            "of a run; same config and seed, same results to the bit");
  v.integer("seeds", c.seeds, Range::between(1, 10000), "runs",
            "of each method in a comparison: seed, seed + 1, …");
  visit_choice(v, "schedule", c.schedule, {"in turn", "random", "first only"},
               "which task a round visits");
  v.number(
      "start_lqr_share", c.start_lqr_share, Range::between(-1, 1), "",
      "first policy of every task, as a share of the family's mean LQR gains; below 0: as suits "
      "the system, 0.15 for a quadrotor and 0 for others");
  std::vector<std::string> known = method_names();
  for (const Variant& variant : c.variants) known.push_back(variant.name);
  int place = static_cast<int>(std::find(known.begin(), known.end(), c.method) - known.begin());
  v.choice("method", place, known, "what a single run learns with, a method or a variant");
  c.method = known[static_cast<std::size_t>(place)];
  v.choices("methods", c.methods, known, "what a comparison runs side by side");

  v.section("evaluation", "How policies are judged: without noise, from fixed start states.");
  v.integer("start_states", c.start_states, Range::between(1, 1000000), "start states",
            "for each task, the same in every round");
  v.number("spacing", c.evaluation_spacing, Range::at_least(0), "",
           "after round j the next evaluation is max(1, j · spacing) rounds later; the last round "
           "is always evaluated");
  v.flag("regret", c.regret, "keep the regret ledger of a run file");
}

void visit_base_learner(KeyVisitor& v, ExperimentConfig& c) {
  BaseLearnerSettings& base = c.round.base_learner;
  v.section("base_learner",
            "How a round's trajectories become one loss; the same for all methods.");
  visit_choice(
      v, "method", base.method,
      {"eREINFORCE", "eNAC", "eNAC regression", "weighted likelihood", "fit demonstrations"},
      "direction and curvature of the loss");
  v.number("discount", base.advantages.discount, Range{.low = 0, .high = 1, .low_open = true}, "",
           "γ of the advantages, before failures shorten the horizon");
  v.number("trace", base.advantages.trace, Range::between(0, 1), "", "λ of the advantages");
  v.flag("step_mean", base.advantages.step_mean, "subtract each step's mean over the batch");
  v.flag("state_baseline", base.advantages.state_baseline,
         "subtract a quadratic function of the state fitted to the batch");
  v.integer("baseline_sweeps", base.advantages.baseline_sweeps, Range::between(1, 100), "fits",
            "of that function, each to the returns of the one before");
  v.flag("normalise", base.advantages.normalise, "scale advantages to variance 1");
  visit_choice(v, "step_rule", base.step.rule, {"fixed", "harmonic", "trust region", "line search"},
               "how far along the direction; harmonic is the paper's c / j");
  v.number("step_size", base.step.size, Range::above(0), "", "the fixed step, or c of c / j");
  v.number("trust_region", base.step.trust_region, Range::above(0), "nats",
           "δ of a whole trajectory, where trust_region_per_step is 0");
  visit_choice(v, "noise_shrinkage", base.step.shrinkage, {"none", "white", "measured"},
               "how the share of noise in a gradient is estimated; steps shrink by it");
  visit_choice(v, "loss_scale", base.loss_scale, {"metric", "cost"},
               "units of the round losses: nats, or units of cost");
  v.number("temperature", base.temperature, Range::above(0), "", "τ of weighted likelihood");
  v.number("failure_horizon", c.round.adaptation.failure_horizon, Range::at_least(0), "steps",
           "horizon of the advantages if every trajectory fails; 0 leaves the discount alone");
}

void visit_learner(KeyVisitor& v, ExperimentConfig& c) {
  LearnerSettings& learner = c.learner;
  v.section("learner", "The lifelong learner, Algorithm 1.");
  visit_choice(v, "update", learner.update, {"linearised", "alternating"},
               "how a loss becomes the unconstrained solution");
  v.integer("k", learner.basis_size, Range::at_least(0), "columns", "of L; 0 means d");
  v.flag("cross_validate_k", c.cross_validate_k,
         "choose k of d, d/2, d/4, … 1 by cross-validation over three other tasks of the family");
  v.number("zeta", learner.zeta, Range::above(0), "", "ζ, the diagonal of the first L");
  visit_steps(v, c.learner_steps);
  v.number("initial_share", learner.linearised.initial_share, Range::between(0, 1), "",
           "linearised: share of the first steps that reaches all tasks");
  v.number("share_decay", learner.linearised.share_decay, Range::above(0), "visits",
           "linearised: to every task until that share has halved");
  v.number("minimum_share", learner.linearised.minimum_share, Range::between(0, 1), "",
           "linearised: share that stays common for ever");
  v.number("own_memory", learner.linearised.own_memory, Range{.low = 0, .high = 0.999999}, "",
           "linearised: ρ of a task's own gradient");
  v.number("retreat_factor", learner.linearised.retreat_factor, Range::above(1), "",
           "linearised: a task costing more than this times its lowest cost goes back");
  visit_choice(v, "block_step", learner.alternation.step,
               {"closed form", "gradient", "natural gradient"},
               "alternating: how one half moves its block");
  visit_choice(v, "block_rate", learner.alternation.rate, {"c / j", "line search"},
               "alternating: rate of the gradient forms");
  v.number("block_rate_scale", learner.alternation.rate_scale, Range::above(0), "",
           "alternating: c of c / j");
  v.integer("alternations", learner.alternation.alternations, Range::between(1, 1000), "",
            "alternating: updates of L and S in each round");
  v.flag("all_coefficients", learner.alternation.all_coefficients,
         "alternating: update the coefficients of all tasks, or of the visited one");
  v.number("memory", learner.memory, Range::between(0, 1), "",
           "alternating: ρ of the summed losses; 1 is follow-the-regularised-leader");
  v.number("eta", learner.regularisation.eta, Range::above(0), "",
           "alternating: weight η of a loss; the theorem has 1/√R");
  v.number("mu1", learner.regularisation.mu1, Range::above(0), "",
           "alternating: weight μ₁ of the coefficients");
  v.number("mu2", learner.regularisation.mu2, Range::above(0), "",
           "alternating: weight μ₂ of the basis");
  v.number("mean_weight", learner.regularisation.mean_weight,
           Range{.low = 0, .high = 1, .low_open = true}, "",
           "alternating: weight of the common mean; 1 is the paper's zero mean");

  ProjectionSettings& projection = learner.projection;
  v.section("projection", "What keeps the learner's policies safe.");
  visit_choice(v, "mode", projection.mode, {"exact", "paper", "none"},
               "none is the unconstrained learner");
  v.number("p", projection.p, Range::above(0), "", "smallest eigenvalue allowed of LᵀL");
  v.number("q", projection.q, Range::above(0), "", "largest eigenvalue allowed of LᵀL");
  v.number("mu1", projection.mu1, Range::above(0), "", "weight of the distance in S");
  v.number("mu2", projection.mu2, Range::above(0), "", "weight of the distance in L");
  v.integer("max_alternations", projection.max_alternations, Range::between(1, 100000), "",
            "of L- and S-steps in a round");
  v.number("objective_tolerance", projection.objective_tolerance, Range::at_least(0), "",
           "alternations end when the distance falls by a smaller part");
  v.flag("none_limits_spectrum", projection.none_limits_spectrum,
         "whether mode none keeps p and q all the same");
  v.flag("require_bounded_sets", learner.require_bounded_sets,
         "refuse a safe set without end in some direction, as the theorem asks");
}

void visit_baselines(KeyVisitor& v, ExperimentConfig& c) {
  v.section("pg", "Independent policy gradients, one learner for each task.");
  visit_steps(v, c.pg_steps);
  v.integer("extra_trajectories", c.pg_extra_trajectories, Range::between(0, 1000000),
            "trajectories", "gathered in each round beyond the others' number");
  v.section("pg_ella", "PG-ELLA (Bou Ammar et al., ICML 2014).");
  visit_steps(v, c.pg_ella_steps);
  v.integer("k", c.pg_ella.basis_size, Range::at_least(0), "columns", "of its L; 0 means d");
  v.number("sparsity", c.pg_ella.sparsity, Range::at_least(0), "", "weight of ‖s‖₁");
  v.number("lambda", c.pg_ella.lambda, Range::above(0), "", "weight of ‖L‖²");
  v.flag("warm_start", c.pg_ella.warm_start,
         "a task not yet observed plays the mean of the others");
  v.section("shared", "One policy for all tasks.");
  visit_steps(v, c.shared_steps);
}

}  // namespace

std::vector<std::string> method_names() { return {"learner", "pg", "pg-ella", "shared"}; }

void visit_keys(KeyVisitor& visitor, ExperimentConfig& config) {
  visit_experiment(visitor, config);
  visit_base_learner(visitor, config);
  visit_learner(visitor, config);
  visit_baselines(visitor, config);
}

}  // namespace lifeguard
