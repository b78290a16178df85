#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard compare`.
void add_compare_command(CLI::App& app);

}  // namespace lifeguard
