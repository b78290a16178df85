#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "lifeguard/runs/safe_set_config.hpp"
#include "lifeguard/systems/system.hpp"

/// Internal, not installed: for readers of larger configurations.
namespace lifeguard {

/// As safe_set_from_toml, for a table within a configuration; `path` is put before every key in
/// messages, e.g. "tasks.safe_set".
SafeSet safe_set_from_table(const toml::table& table, const std::string& path,
                            const SafeSetContext& context);

/// What the parameters of the context's machine may be in truth, by its [closed_loop] table; empty
/// without one.
std::vector<ParameterRange> tolerances_from_table(const toml::table& table,
                                                  const SafeSetContext& context);

}  // namespace lifeguard
