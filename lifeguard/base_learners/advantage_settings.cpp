#include "lifeguard/base_learners/advantage_settings.hpp"

#include "lifeguard/core/settings.hpp"

namespace lifeguard {

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

}  // namespace lifeguard
