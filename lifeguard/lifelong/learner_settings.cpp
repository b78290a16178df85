#include "lifeguard/lifelong/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/settings.hpp"

namespace lifeguard {

void LinearisedSettings::visit(SettingVisitor& v) {
  v.number("initial_share", initial_share, Range::between(0, 1), "",
           "linearised: share of the first steps that reaches all tasks");
  v.number("share_decay", share_decay, Range::above(0), "visits",
           "linearised: to every task until that share has halved");
  v.number("minimum_share", minimum_share, Range::between(0, 1), "",
           "linearised: share that always stays common");
  v.number("own_memory", own_memory, Range{.low = 0, .high = 1, .high_open = true}, "",
           "linearised: ρ of a task's own gradient");
  v.number(
      "retreat_factor", retreat_factor, Range::above(1), "",
      "linearised, empirical Bayes: a task costing more than this times its lowest cost goes back");
}

void LinearisedSettings::validate() const { check_settings(*this); }

double LinearisedSettings::share(long rounds_before, int tasks) const {
  const double visits = static_cast<double>(rounds_before) / tasks;
  return std::max(minimum_share, initial_share / (1 + visits / share_decay));
}

void EmpiricalBayesSettings::visit(SettingVisitor& v) {
  v.number("posterior_memory", posterior_memory, Range{.low = 0, .high = 1, .high_open = true}, "",
           "empirical Bayes: the most that a task keeps of its rounds before");
  v.number("agreement_rate", agreement_rate, Range::above_to(0, 1), "",
           "empirical Bayes: how fast the common share follows the steps' agreement");
  v.integer("prior_interval", prior_interval, Range::at_least(1), "rounds",
            "empirical Bayes: after which L is learnt anew");
  v.number("common_damping", common_damping, Range::at_least(0), "",
           "empirical Bayes: how much of all rounds' mean curvature is added to a round's own");
}

void EmpiricalBayesSettings::validate() const { check_settings(*this); }

void LeaderSettings::visit(SettingVisitor& v) {
  v.number("prior_variance", prior_variance, Range::above(0), "",
           "leader: of each policy parameter, before any task was played");
  v.flag("prior_from_tasks", share,
         "leader: learn the prior of a new task from the tasks before it");
  v.number("leader_memory", memory, Range::between(0, 1), "",
           "leader: what is kept of the rounds before; 1 is the theorem's");
}

void LeaderSettings::validate() const { check_settings(*this); }

namespace {

constexpr std::array<std::string_view, 3> kBlockSteps = {"closed form", "gradient",
                                                         "natural gradient"};
constexpr std::array<std::string_view, 2> kBlockRates = {"c / j", "line search"};

}  // namespace

void AlternationSettings::visit(SettingVisitor& v) {
  visit_choice(v, "block_step", step, kBlockSteps, "alternating: how one half moves its block");
  visit_choice(v, "block_rate", rate, kBlockRates, "alternating: rate of the gradient forms");
  v.number("block_rate_scale", rate_scale, Range::above(0), "", "alternating: c of c / j");
  v.integer("alternations", alternations, Range::between(1, 1000), "",
            "alternating: updates of L and S in each round");
  v.flag("all_coefficients", all_coefficients,
         "alternating: update the coefficients of all tasks, or of the visited one");
}

void AlternationSettings::validate() const { check_settings(*this); }

void RegularisationSettings::visit(SettingVisitor& v) {
  v.number("eta", eta, Range::above(0), "",
           "alternating: weight η of a loss; the theorem has 1/√R");
  v.number("mu1", mu1, Range::above(0), "", "alternating: weight μ₁ of the coefficients");
  v.number("mu2", mu2, Range::above(0), "", "alternating: weight μ₂ of the basis");
  v.number("mean_weight", mean_weight, Range::above_to(0, 1), "",
           "alternating: weight of the common mean; 1 is the paper's zero mean");
}

void RegularisationSettings::validate() const { check_settings(*this); }

namespace {

constexpr std::array<std::string_view, 4> kUpdateRules = {"linearised", "alternating",
                                                          "empirical Bayes", "leader"};

}  // namespace

void LearnerSettings::visit(SettingVisitor& v) {
  v.section("learner", "The lifelong learner, Algorithm 1.");
  visit_choice(v, "update", update, kUpdateRules, "how a loss becomes the unconstrained solution");
  v.integer("k", k, Range::at_least(0), "columns",
            "of L; 0 means d. Empirical Bayes: directions with variances of their own");
  v.flag("cross_validate_k", cross_validate_k,
         "choose k of d, d/2, d/4, … 1 by cross-validation over three other tasks of the family");
  v.number("zeta", zeta, Range::above(0), "", "ζ, the diagonal of the first L");
  round.visit_steps(v);
  linearised.visit(v);
  empirical_bayes.visit(v);
  leader.visit(v);
  alternation.visit(v);
  v.number("memory", memory, Range::between(0, 1), "",
           "alternating: ρ of the summed losses; 1 is follow-the-regularised-leader");
  regularisation.visit(v);
  v.section("projection", "What keeps the learner's policies safe.");
  projection.visit(v);
  v.flag("require_bounded_sets", require_bounded_sets,
         "refuse a safe set that is unbounded in some direction, as the theorem asks");
}

void LearnerSettings::validate(int parameters) const {
  round.validate();
  check_settings(*this);
  require(k <= parameters, "learner.k", k,
          fmt::format("must be at most {}, the number of policy parameters", parameters));
  require(projection.p < projection.q, "projection.p", projection.p, "must be less than q");
}

std::unique_ptr<PolicyLearner> LearnerSettings::make(int features, int actions) const {
  return std::make_unique<Learner>(features, actions, *this);
}

}  // namespace lifeguard
