#pragma once

#include <toml++/toml.h>

#include <string_view>
#include <vector>

#include "lifeguard/runs/family_config.hpp"
#include "lifeguard/runs/toml_place.hpp"

/// Internal, not installed: for readers of larger configurations.
namespace lifeguard {

/// As parse_family, for the [family] table of a configuration that is read from `source`. `absent`
/// as in parse_config().
Family family_from_table(const toml::table& table, std::string_view source,
                         const std::vector<Task>& absent = {});

/// The [settings] of a family or a machine: what the table says replaces what is there.
void read_task_settings(const toml::table& table, const TomlPlace& where, const System& system,
                        TaskSettings& settings);
/// The [parameters] of one machine: a number for each.
void read_parameter_values(const toml::table& table, const TomlPlace& where, System& system);

}  // namespace lifeguard
