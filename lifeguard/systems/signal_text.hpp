#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/per_action.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/system.hpp"

namespace lifeguard {

/// "speed [m/s]"; a pure number has no unit to show.
std::string signal_text(const Signal& signal);
/// "position [m], speed [m/s]".
std::string signals_text(const std::vector<Signal>& signals);
/// A value with its unit: "0.25 N".
std::string value_text(double value, const Signal& signal);
/// Of each action: "force 0.25 N; torque 0.1 N m".
std::string values_text(const PerAction& values, const std::vector<Signal>& actions);

/// The unit of a gain: "N/(m/s)"; empty for a pure number.
std::string gain_unit(const Signal& action, const Signal& input);
/// The gains of a policy in the order of its parameters: "force per speed [N/(m/s)]".
std::vector<std::string> gain_meanings(const SystemDescription& system,
                                       const Features& features = {});

/// Rows of safe sets have the names that they were stored with: gains and actions are numbered,
/// "gain(0, 1) upper limit", unless somebody named them. What such a name speaks of is "force per
/// speed [N/(m/s)]"; empty if it has no such number.
std::string row_meaning(std::string_view row, const SystemDescription& system,
                        const Features& features = {});
/// A text for people that may have such names in it, followed by what they mean:
/// "… breaks \"gain(0, 1) upper limit\"; gain(0, 1): force per speed [N/(m/s)]".
std::string with_row_meanings(const std::string& text, const SystemDescription& system,
                              const Features& features = {});

}  // namespace lifeguard
