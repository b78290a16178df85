#pragma once

#include <string>

#include "cli/command_text.hpp"

namespace lifeguard {

/// `lifeguard man`, which help does not list: prints the manual page, made from the commands
/// themselves so that it cannot lag behind them. The build installs what it prints.
void add_manual_command(CLI::App& app);

/// The page as man(1) reads it.
std::string manual_page(const CommandText& program);

/// The same as docs/commands.md.
std::string manual_markdown(const CommandText& program);

}  // namespace lifeguard
