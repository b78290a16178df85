#pragma once

#include <toml++/toml.h>

#include <string>

#include "lifeguard/runs/safe_set_config.hpp"

/// Internal, not installed: for readers of larger configurations.
namespace lifeguard {

/// As safe_set_from_toml, for a table within a configuration; `path` is put before every key in
/// messages, e.g. "tasks.safe_set".
SafeSet safe_set_from_table(const toml::table& table, const std::string& path,
                            const SafeSetContext& context);

}  // namespace lifeguard
