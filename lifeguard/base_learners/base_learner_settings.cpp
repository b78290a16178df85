#include "lifeguard/base_learners/round_settings.hpp"

#include <array>
#include <string_view>

#include "lifeguard/base_learners/exponential.hpp"
#include "lifeguard/core/lane_math.hpp"
#include "lifeguard/core/settings.hpp"

namespace lifeguard {
namespace {

constexpr std::array<std::string_view, 5> kBaseLearnerMethods = {
    "eREINFORCE", "eNAC", "eNAC regression", "weighted likelihood", "fit demonstrations"};
constexpr std::array<std::string_view, 3> kCritics = {"none", "model", "auto"};
constexpr std::array<std::string_view, 2> kLossScales = {"metric", "cost"};
constexpr std::array<std::string_view, 4> kStepRules = {"fixed", "harmonic", "trust region",
                                                        "line search"};
constexpr std::array<std::string_view, 3> kShrinkages = {"none", "white", "measured"};

}  // namespace

void AdvantageSettings::visit(SettingVisitor& v) {
  v.flag("cost_to_go", cost_to_go, "judge a step by what follows it, not by the whole trajectory");
  v.number("discount", discount, Range::above_to(0, 1), "",
           "γ of the advantages, before failures shorten the horizon");
  v.number("trace", trace, Range::between(0, 1), "", "λ of the advantages");
  v.flag("step_mean", step_mean, "subtract each step's mean over the batch");
  v.flag("state_baseline", state_baseline,
         "subtract a quadratic function of the state fitted to the batch");
  v.integer("baseline_sweeps", baseline_sweeps, Range::between(1, 100), "fits",
            "of that function, each to the returns of the one before");
  v.integer("baseline_stride", baseline_stride, Range::between(1, 1000000), "steps",
            "from one step that the fits use to the next");
  v.flag("normalise", normalise, "scale advantages to variance 1");
}

void AdvantageSettings::validate() const { check_settings(*this); }

void StepSettings::visit(SettingVisitor& v) {
  visit_choice(v, "step_rule", rule, kStepRules,
               "how far along the direction; harmonic is the paper's c / j");
  v.number("step_size", size, Range::above(0), "", "the fixed step, or c of c / j");
  v.number("trust_region", trust_region, Range::above(0), "nats",
           "δ of a whole trajectory, where trust_region_per_step is 0");
  visit_choice(v, "noise_shrinkage", shrinkage, kShrinkages,
               "how the share of noise in a gradient is estimated; steps shrink by it");
  v.number("shrinkage_floor", shrinkage_floor, Range::between(0, 1), "",
           "steps never shrink to less than this share");
  v.integer("line_search_trajectories", line_search_trajectories, Range::between(1, 1000000),
            "trajectories", "the line search looks at the first so many");
  v.integer("line_search_candidates", line_search_candidates, Range::between(1, 1000), "radii",
            "that the line search tries, each half of the one before");
  v.number("line_search_effective_share", line_search_effective_share, Range::above_to(0, 1), "",
           "the line search rejects a radius whose importance weights are worth less than this "
           "share of the samples");
}

void StepSettings::visit_decay(SettingVisitor& v) {
  v.number("step_decay", decay, Range::at_least(0), "",
           "r in δ / (1 + visits)^r, how trust regions shrink");
}

void StepSettings::validate() const {
  check_settings(*this);
  SettingChecker checker;
  StepSettings copy = *this;
  copy.visit_decay(checker);
}

double StepSettings::radius(double visit) const {
  return trust_region * exponential(-decay * HWY_NAMESPACE::natural_log(1.0 + visit));
}

void BaseLearnerSettings::visit(SettingVisitor& v) {
  visit_choice(v, "method", method, kBaseLearnerMethods, "direction and curvature of the loss");
  visit_choice(v, "critic", critic, kCritics,
               "whether eNAC steps are those of a model that is fitted to the batch and knows the "
               "action limits; auto: where these were told and the gradient is not much surer");
  advantages.visit(v);
  step.visit(v);
  visit_choice(v, "loss_scale", loss_scale, kLossScales,
               "units of the round losses: nats, or units of cost");
  v.flag("discount_scores", discount_scores,
         "eNAC regression: weigh the score of step m by γ^m, as Peters and Schaal print it");
  v.number("temperature", temperature, Range::above(0), "", "τ of weighted likelihood");
  v.number("relative_damping", relative_damping, Range::above(0), "",
           "share of its mean diagonal that a singular curvature gets added");
}

void BaseLearnerSettings::validate() const {
  check_settings(*this);
  step.validate();
}

}  // namespace lifeguard
