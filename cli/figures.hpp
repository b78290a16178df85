#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard figures`.
void add_figures_command(CLI::App& app);

}  // namespace lifeguard
