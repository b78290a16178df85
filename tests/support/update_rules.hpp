#pragma once

#include <array>

#include "lifeguard/lifelong/learner.hpp"

namespace lifeguard {

/// Every rule, for tests of what holds for all of them. Tests that fill in a LearnerSettings and
/// leave the rule as it is speak of the default one alone.
inline constexpr std::array kAllUpdateRules = {UpdateRule::linearised, UpdateRule::alternating,
                                               UpdateRule::empirical_bayes, UpdateRule::leader};

}  // namespace lifeguard
