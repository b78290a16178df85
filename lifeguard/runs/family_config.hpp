#pragma once

#include <filesystem>
#include <string_view>

#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// A family from the [family] table of a TOML file (configs/families/ has examples, docs/systems.md
/// every key). `base` names a built-in family; what the file says replaces what the base has.
/// Throws InvalidInput naming file, line, key, value and rule; unknown keys are errors.
Family load_family(const std::filesystem::path& path);
Family parse_family(std::string_view toml, std::string_view source);

}  // namespace lifeguard
