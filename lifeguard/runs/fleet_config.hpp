#pragma once

#include <toml++/toml.h>

#include <string_view>
#include <vector>

#include "lifeguard/runs/experiment.hpp"

/// Internal, not installed: for the reader of configurations.
namespace lifeguard {

/// The machines of a configuration with [[machine]] tables: what [fleet] says holds for all of
/// them, [safe_set] too, and each may say otherwise. docs/fleets.md lists the keys. Throws
/// InvalidInput naming file, line, key, value and rule; unknown keys are errors. `absent` as in
/// parse_config().
std::vector<Machine> machines_from_table(const toml::table& root, std::string_view source,
                                         const std::vector<Task>& absent);

}  // namespace lifeguard
