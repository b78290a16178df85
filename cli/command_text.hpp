#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lifeguard {

/// What `--help` says about one option or positional argument, taken apart for those who say it
/// differently: the manual page and the shells' completion.
struct ArgumentText {
  std::string name;                  ///< "--out", or "config" for a positional
  std::string short_name;            ///< "-o", or nothing
  std::string value;                 ///< what its value is: TEXT, INT, …; nothing for a flag
  std::vector<std::string> choices;  ///< the words it takes, if only some
  std::string default_value;
  std::string environment;  ///< the variable that is read if it is not given, or nothing
  std::string description;
  bool positional = false;
  bool required = false;
  bool repeated = false;  ///< takes, or may be given for, any number of values
};

/// A command with its arguments, as CLI11 knows it.
struct CommandText {
  std::string name;
  std::string description;
  std::string footer;  ///< nothing if it only repeats the program's own
  std::vector<ArgumentText> positionals;
  std::vector<ArgumentText> options;
  std::vector<CommandText> commands;
};

/// The program with all commands that its help lists.
CommandText describe_program(const CLI::App& app);

/// "[OPTIONS] runs..." behind a command's name.
std::string usage_of(const CommandText& command);

}  // namespace lifeguard
