#include "cli/command_text.hpp"

#include <fmt/format.h>

namespace lifeguard {
namespace {

/// The words of the first {a,b,…} or {a->0,b->1,…} in the type that CLI11 prints.
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin == std::string::npos ? 0 : begin);
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  for (const std::string& entry :
       CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',')) {
    choices.push_back(entry.substr(0, entry.find("->")));
  }
  return choices;
}

ArgumentText describe(const CLI::Option& option) {
  ArgumentText text;
  text.positional = option.get_positional();
  if (text.positional) {
    text.name = option.get_name(true);
  } else if (option.get_lnames().empty()) {
    text.name = "-" + option.get_snames().front();
  } else {
    text.name = "--" + option.get_lnames().front();
    if (!option.get_snames().empty()) text.short_name = "-" + option.get_snames().front();
  }
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    text.value = type.substr(0, type.find(':'));
    text.choices = choices_in(type);
  }
  text.default_value = option.get_default_str();
  text.environment = option.get_envname();
  text.description = option.get_description();
  text.required = option.get_required();
  text.repeated = option.get_items_expected_max() > 1;
  return text;
}

CommandText describe(const CLI::App& app, std::string name, const std::string& parent_footer) {
  CommandText text;
  text.name = std::move(name);
  text.description = app.get_description();
  if (app.get_footer() != parent_footer) text.footer = app.get_footer();
  const auto shown = [](const auto* part) { return !part->get_group().empty(); };
  for (const CLI::Option* option :
       app.get_options([&](const CLI::Option* each) { return shown(each); })) {
    ArgumentText argument = describe(*option);
    (argument.positional ? text.positionals : text.options).push_back(std::move(argument));
  }
  for (const CLI::App* command :
       app.get_subcommands([&](const CLI::App* each) { return shown(each); })) {
    text.commands.push_back(describe(*command, command->get_name(), app.get_footer()));
  }
  return text;
}

}  // namespace

CommandText describe_program(const CLI::App& app) { return describe(app, "lifeguard", ""); }

std::string usage_of(const CommandText& command) {
  std::string usage = "[OPTIONS]";
  for (const ArgumentText& positional : command.positionals) {
    const std::string name = positional.name + (positional.repeated ? "..." : "");
    usage += positional.required ? " " + name : fmt::format(" [{}]", name);
  }
  return usage;
}

}  // namespace lifeguard
