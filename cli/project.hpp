#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard project`: applies the safety projection to a problem given as JSON.
void add_project_command(CLI::App& app);

}  // namespace lifeguard
