#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard check`, `lifeguard policy` and `lifeguard info`.
void add_inspect_commands(CLI::App& app);

}  // namespace lifeguard
