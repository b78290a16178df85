#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard simulate`: draws a family, simulates every task under LQR, prints a table of costs.
void add_simulate_command(CLI::App& app);

}  // namespace lifeguard
