#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard reproduce`.
void add_reproduce_command(CLI::App& app);

}  // namespace lifeguard
