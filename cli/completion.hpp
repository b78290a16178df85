#pragma once

#include <string>

#include "cli/command_text.hpp"

namespace lifeguard {

/// `lifeguard completion SHELL`: prints what makes a shell complete commands, options and their
/// words. The build installs it where each shell looks.
void add_completion_command(CLI::App& app);

/// For bash, without the package bash-completion.
std::string bash_completion(const CommandText& program);

/// For zsh: the function _lifeguard of a folder in its fpath.
std::string zsh_completion(const CommandText& program);

/// For fish.
std::string fish_completion(const CommandText& program);

}  // namespace lifeguard
