#pragma once

#include <CLI/CLI.hpp>

namespace lifeguard {

/// `lifeguard report`.
void add_report_command(CLI::App& app);

}  // namespace lifeguard
