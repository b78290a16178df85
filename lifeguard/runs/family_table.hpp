#pragma once

#include <toml++/toml.h>

#include <string_view>

#include "lifeguard/runs/family_config.hpp"

/// Internal, not installed: for readers of larger configurations.
namespace lifeguard {

/// As parse_family, for the [family] table of a configuration that is read from `source`.
Family family_from_table(const toml::table& table, std::string_view source);

}  // namespace lifeguard
