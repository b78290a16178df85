#include "lifeguard/base_learners/base_learner_settings.hpp"

#include <array>
#include <string_view>

#include "lifeguard/core/settings.hpp"

namespace lifeguard {
namespace {

constexpr std::array<std::string_view, 5> kBaseLearnerMethods = {
    "eREINFORCE", "eNAC", "eNAC regression", "weighted likelihood", "fit demonstrations"};
constexpr std::array<std::string_view, 2> kLossScales = {"metric", "cost"};

}  // namespace

void BaseLearnerSettings::visit(SettingVisitor& v) {
  visit_choice(v, "method", method, kBaseLearnerMethods, "direction and curvature of the loss");
  advantages.visit(v);
  step.visit(v);
  visit_choice(v, "loss_scale", loss_scale, kLossScales,
               "units of the round losses: nats, or units of cost");
  v.number("temperature", temperature, Range::above(0), "", "τ of weighted likelihood");
  v.number("relative_damping", relative_damping, Range::above(0), "",
           "share of its mean diagonal that a singular curvature gets added");
}

void BaseLearnerSettings::validate() const {
  check_settings(*this);
  step.validate();
}

}  // namespace lifeguard
