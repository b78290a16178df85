#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard run` and `lifeguard resume`.
void add_run_commands(CLI::App& app);

}  // namespace lifeguard
