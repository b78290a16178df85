// The lifeguard command. Each subcommand is a file of its own that adds itself to the application.

#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <sstream>

#include "cli/compare.hpp"
#include "cli/completion.hpp"
#include "cli/exit_codes.hpp"
#include "cli/failure.hpp"
#include "cli/figures.hpp"
#include "cli/fleet.hpp"
#include "cli/inspect.hpp"
#include "cli/manual.hpp"
#include "cli/output.hpp"
#include "cli/project.hpp"
#include "cli/report.hpp"
#include "cli/reproduce.hpp"
#include "cli/run.hpp"
#include "cli/serve.hpp"
#include "cli/simulate.hpp"
#include "cli/stop.hpp"
#include "cli/suggestion.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

int parse_and_run(int argc, char** argv) try {
  watch_for_stop();
  CLI::App app("Safe lifelong policy search");
  app.name("lifeguard");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(kExitCodesText);
  add_run_commands(app);
  add_compare_command(app);
  add_reproduce_command(app);
  add_inspect_commands(app);
  add_fleet_commands(app);
  add_project_command(app);
  add_report_command(app);
  add_serve_command(app);
  add_figures_command(app);
  add_simulate_command(app);
  add_completion_command(app);
  add_manual_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // for help or the version
    std::ostringstream text;
    app.exit(asked, text, text);
    write_output(text.str());
  } catch (const CLI::ParseError& error) {
    say("lifeguard: {}", explain(app, error));
    return kInvalidInput;
  }
  return kDone;
} catch (...) {
  return report_failure();
}

}  // namespace

int run_command(int argc, char** argv) {
  reserve_standard_streams();
  // A reader that has gone away and a file that may not grow are errors of the write, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return finish_output(parse_and_run(argc, argv));
}

}  // namespace lifeguard
