#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard serve`.
void add_serve_command(CLI::App& app);

}  // namespace lifeguard
