#include "cli/completion.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/text_output.hpp"

namespace lifeguard {
namespace {

/// As one word of a shell, in single quotes.
std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char sign : text) word += sign == '\'' ? std::string("'\\''") : std::string(1, sign);
  return word + "'";
}

std::vector<std::string> names_of(const ArgumentText& option) {
  if (option.short_name.empty()) return {option.name};
  return {option.short_name, option.name};
}

/// Every name by which a command's options may be called.
std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const ArgumentText& option : command.options) {
    for (const std::string& name : names_of(option)) names.push_back(name);
  }
  return names;
}

/// Values that are neither file names nor a choice of words: numbers.
bool is_number(const ArgumentText& argument) {
  return argument.value == "INT" || argument.value == "UINT" || argument.value == "FLOAT";
}

/// One branch of bash's `case`: what follows the options of a command that take a value.
void append_bash_values(std::string& text, const CommandText& command) {
  for (const ArgumentText& option : command.options) {
    if (option.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : names_of(option)) patterns.push_back(command.name + ":" + name);
    std::string action = "return";  // file names
    if (!option.choices.empty()) {
      action = fmt::format("words='{}'", fmt::join(option.choices, " "));
    } else if (is_number(option)) {
      action = "compopt +o default +o bashdefault; return";
    }
    text += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), action);
  }
}

/// The words that a command's positionals take, if they take only some.
std::vector<std::string> positional_choices(const CommandText& command) {
  std::vector<std::string> words;
  for (const ArgumentText& positional : command.positionals) {
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  }
  return words;
}

/// Text between the brackets or behind the colon of one of zsh's specifications.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char sign : text) {
    if (sign == '[' || sign == ']' || sign == ':' || sign == '\\') escaped += '\\';
    escaped += sign;
  }
  return escaped;
}

/// ":NAME:ACTION" of a value.
std::string zsh_value(const ArgumentText& argument) {
  if (argument.value.empty()) return "";
  std::string action = "_files";
  if (!argument.choices.empty()) {
    action = fmt::format("({})", fmt::join(argument.choices, " "));
  } else if (is_number(argument)) {
    action = " ";
  }
  return fmt::format(":{}:{}", zsh_text(argument.positional ? argument.name : argument.value),
                     action);
}

/// All of a command's arguments as words of _arguments, one on a line.
std::string zsh_arguments(const CommandText& command, const std::string& indent) {
  std::string text;
  for (const ArgumentText& option : command.options) {
    for (const std::string& name : names_of(option)) {
      const std::string others =
          option.repeated ? "*" : fmt::format("({})", fmt::join(names_of(option), " "));
      text += " \\\n" + indent +
              shell_word(fmt::format("{}{}[{}]{}", others, name, zsh_text(option.description),
                                     zsh_value(option)));
    }
  }
  for (const ArgumentText& positional : command.positionals) {
    text += " \\\n" + indent + shell_word((positional.repeated ? "*" : "") + zsh_value(positional));
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandText& program) {
  std::vector<std::string> commands;
  for (const CommandText& command : program.commands) commands.push_back(command.name);

  std::string text = fmt::format(
      "# bash completion of lifeguard; made by `lifeguard completion bash`.\n"
      "_lifeguard() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local command='' words='' i\n"
      "  COMPREPLY=()\n"
      "  # bash splits --option=value at the sign.\n"
      "  if [[ $before == '=' ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n"
      "  if [[ $word == '=' ]]; then word=''; fi\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${{COMP_WORDS[i]}} in\n"
      "      {}) command=${{COMP_WORDS[i]}}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $command:$before in\n",
      fmt::join(commands, "|"));
  for (const CommandText& command : program.commands) append_bash_values(text, command);
  std::vector<std::string> first_words = commands;
  for (const std::string& name : option_names(program)) first_words.push_back(name);
  text += fmt::format(
      "    :*) words='{}' ;;\n"
      "    *)\n"
      "      case $command:$word in\n",
      fmt::join(first_words, " "));
  for (const CommandText& command : program.commands) {
    text += fmt::format("        {}:-*) words='{}' ;;\n", command.name,
                        fmt::join(option_names(command), " "));
    const std::vector<std::string> words = positional_choices(command);
    if (!words.empty()) {
      text += fmt::format("        {}:*) words='{}' ;;\n", command.name, fmt::join(words, " "));
    }
  }
  text +=
      "      esac ;;\n"
      "  esac\n"
      "  # Without words it is a file name, which bash completes by itself.\n"
      "  if [[ -n $words ]]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"); "
      "fi\n"
      "}\n"
      "complete -o bashdefault -o default -F _lifeguard lifeguard\n";
  return text;
}

std::string zsh_completion(const CommandText& program) {
  std::string text =
      "#compdef lifeguard\n"
      "# zsh completion of lifeguard; made by `lifeguard completion zsh`.\n"
      "_lifeguard() {\n"
      "  local context state state_descr line\n"
      "  typeset -A opt_args\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CommandText& command : program.commands) {
    text += "    " + shell_word(command.name + ":" + zsh_text(command.description)) + "\n";
  }
  text += "  )\n  _arguments -C" + zsh_arguments(program, "    ") +
          " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n"
          "  case $state in\n"
          "    command) _describe -t commands command commands ;;\n"
          "    argument)\n"
          "      case $words[1] in\n";
  for (const CommandText& command : program.commands) {
    text += fmt::format("        {})\n          _arguments{}\n          ;;\n", command.name,
                        zsh_arguments(command, "            "));
  }
  // Sourced, the file only defines the function; from a folder in fpath its first call completes.
  text +=
      "      esac\n"
      "      ;;\n"
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _lifeguard ]]; then\n"
      "  _lifeguard \"$@\"\n"
      "else\n"
      "  compdef _lifeguard lifeguard\n"
      "fi\n";
  return text;
}

std::string fish_completion(const CommandText& program) {
  const auto option_words = [](const ArgumentText& option) {
    std::string words;
    for (const std::string& name : names_of(option)) {
      words += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.choices.empty()) {
      words +=
          fmt::format(" -x -a {}", shell_word(fmt::format("{}", fmt::join(option.choices, " "))));
    } else if (is_number(option)) {
      words += " -x";
    } else if (!option.value.empty()) {
      words += " -r -F";
    }
    return words + " -d " + shell_word(option.description);
  };
  std::string text =
      "# fish completion of lifeguard; made by `lifeguard completion fish`.\n"
      "complete -c lifeguard -n __fish_use_subcommand -f\n";
  for (const ArgumentText& option : program.options) {
    text += "complete -c lifeguard -n __fish_use_subcommand" + option_words(option) + "\n";
  }
  for (const CommandText& command : program.commands) {
    text += fmt::format("complete -c lifeguard -n __fish_use_subcommand -a {} -d {}\n",
                        command.name, shell_word(command.description));
    const std::string condition =
        " -n " + shell_word("__fish_seen_subcommand_from " + command.name);
    const std::vector<std::string> words = positional_choices(command);
    if (!words.empty()) {
      text += fmt::format("complete -c lifeguard{} -f -a {}\n", condition,
                          shell_word(fmt::format("{}", fmt::join(words, " "))));
    }
    for (const ArgumentText& option : command.options) {
      text += "complete -c lifeguard" + condition + option_words(option) + "\n";
    }
  }
  return text;
}

void add_completion_command(CLI::App& app) {
  struct Arguments {
    std::string shell;
    std::string out;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("completion", "Print what makes a shell complete commands and options");
  command->add_option("shell", arguments->shell, "which shell it is for")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->add_option("-o,--out", arguments->out, "write it to this file");
  command->footer(
      "An installed lifeguard brings these files along. To try it in bash without installing:\n"
      "    source <(lifeguard completion bash)");
  command->callback([&app, arguments] {
    const CommandText program = describe_program(app);
    const std::string text = arguments->shell == "bash"  ? bash_completion(program)
                             : arguments->shell == "zsh" ? zsh_completion(program)
                                                         : fish_completion(program);
    write_text(text, arguments->out);
  });
}

}  // namespace lifeguard
