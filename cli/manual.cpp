#include "cli/manual.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/text_output.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

/// Text as roff takes it: nothing in it is a request, and every sign stays the ASCII one.
std::string roff(const std::string& text) {
  std::string escaped;
  bool line_begins = true;
  for (const char sign : text) {
    if (line_begins && (sign == '.' || sign == '\'')) escaped += "\\&";
    line_begins = sign == '\n';
    switch (sign) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      default:
        escaped += sign;
    }
  }
  return escaped;
}

std::string sentence(const std::string& text) { return text.ends_with('.') ? text : text + "."; }

/// "TEXT", or "exact|paper" where only some words are taken.
std::string value_of(const ArgumentText& argument) {
  return argument.choices.empty() ? argument.value
                                  : fmt::format("{}", fmt::join(argument.choices, "|"));
}

/// What help says around a description: the words of a positional, default and environment.
std::string remarks(const ArgumentText& argument) {
  std::string remarks;
  if (argument.positional && !argument.choices.empty()) {
    remarks += fmt::format("; one of {}", fmt::join(argument.choices, ", "));
  }
  if (!argument.default_value.empty())
    remarks += fmt::format("; default {}", argument.default_value);
  if (!argument.environment.empty()) {
    remarks += fmt::format("; from the variable {} if left out", argument.environment);
  }
  return remarks;
}

void append_arguments(std::string& page, const std::vector<ArgumentText>& arguments) {
  for (const ArgumentText& argument : arguments) {
    page += ".TP\n";
    if (argument.positional) {
      page += fmt::format("\\fI{}\\fR{}\n", roff(argument.name), argument.repeated ? " ..." : "");
    } else {
      if (!argument.short_name.empty())
        page += fmt::format("\\fB{}\\fR, ", roff(argument.short_name));
      page += fmt::format("\\fB{}\\fR", roff(argument.name));
      if (!argument.value.empty()) page += fmt::format(" \\fI{}\\fR", roff(value_of(argument)));
      page += argument.repeated ? " ...\n" : "\n";
    }
    page += roff(argument.description + remarks(argument)) + "\n";
  }
}

/// A footer keeps its own lines.
void append_footer(std::string& page, const std::string& footer) {
  if (footer.empty()) return;
  page += ".PP\n.nf\n" + roff(footer) + "\n.fi\n";
}

/// "Exit codes: 0 done, …" without what the heading says already.
std::string without_label(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

std::string manual_page(const CommandText& program) {
  std::string page = fmt::format(
      ".TH LIFEGUARD 1 \"\" \"lifeguard {}\" \"User Commands\"\n"
      ".SH NAME\nlifeguard \\- {}\n"
      ".SH SYNOPSIS\n.B lifeguard\n.I command\n.RI [ option ...]\n.RI [ argument ...]\n"
      ".SH DESCRIPTION\n"
      "Learns control policies for a family of similar systems, one task after the other, and "
      "hands\n"
      "out no policy that breaks the constraints of its task.\n"
      "One configuration, one method and one seed make a run, and one run is one file.\n",
      kVersion, roff(CLI::detail::to_lower(program.description)));
  page += ".SH OPTIONS\n";
  append_arguments(page, program.options);
  page += ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    page += fmt::format(".SS lifeguard {} {}\n{}\n", roff(command.name), roff(usage_of(command)),
                        roff(sentence(command.description)));
    append_arguments(page, command.positionals);
    append_arguments(page, command.options);
    append_footer(page, command.footer);
  }
  page += ".SH EXIT STATUS\n" + roff(sentence(without_label(program.footer))) + "\n";
  return page;
}

std::string manual_markdown(const CommandText& program) {
  std::string page =
      "# Commands\n\n"
      "Every command of `lifeguard` with its options, as `lifeguard COMMAND --help` and `man "
      "lifeguard`\n"
      "have them. Printed by `lifeguard man --markdown`; a test compares this page with it.\n"
      "[Experiments and run files](runs.md) shows them at work.\n\n" +
      program.footer + "\n";
  for (const CommandText& command : program.commands) {
    page += fmt::format(
        "\n## lifeguard {}\n{}\n\n    lifeguard {} {}\n\n| argument | value | meaning "
        "|\n|---|---|---|\n",
        command.name, sentence(command.description), command.name, usage_of(command));
    for (const auto* arguments : {&command.positionals, &command.options}) {
      for (const ArgumentText& argument : *arguments) {
        const std::string names =
            argument.short_name.empty()
                ? fmt::format("`{}`", argument.name)
                : fmt::format("`{}`, `{}`", argument.short_name, argument.name);
        const std::string value = argument.choices.empty()
                                      ? argument.value
                                      : fmt::format("`{}`", fmt::join(argument.choices, "`, `"));
        page += fmt::format("| {} | {}{} | {}{} |\n", names, value, argument.repeated ? " …" : "",
                            argument.description, remarks(argument));
      }
    }
    if (!command.footer.empty()) page += fmt::format("\n```text\n{}\n```\n", command.footer);
  }
  return page;
}

void add_manual_command(CLI::App& app) {
  struct Arguments {
    std::string out;
    bool markdown = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of all commands");
  command->group("");
  command->add_option("-o,--out", arguments->out, "write it to this file");
  command->add_flag("--markdown", arguments->markdown, "as docs/commands.md");
  command->callback([&app, arguments] {
    const CommandText program = describe_program(app);
    write_text(arguments->markdown ? manual_markdown(program) : manual_page(program),
               arguments->out);
  });
}

}  // namespace lifeguard
