// The lifeguard command. Each subcommand is a file of its own that adds itself to the application.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/compare.hpp"
#include "cli/exit_codes.hpp"
#include "cli/figures.hpp"
#include "cli/inspect.hpp"
#include "cli/project.hpp"
#include "cli/report.hpp"
#include "cli/reproduce.hpp"
#include "cli/run.hpp"
#include "cli/serve.hpp"
#include "cli/simulate.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/version.hpp"

int main(int argc, char** argv) {
  CLI::App app("Safe lifelong policy search");
  app.set_version_flag("--version", lifeguard::kVersion);
  app.require_subcommand(1);
  app.footer(lifeguard::kExitCodesText);
  lifeguard::add_run_commands(app);
  lifeguard::add_compare_command(app);
  lifeguard::add_reproduce_command(app);
  lifeguard::add_inspect_commands(app);
  lifeguard::add_project_command(app);
  lifeguard::add_report_command(app);
  lifeguard::add_serve_command(app);
  lifeguard::add_figures_command(app);
  lifeguard::add_simulate_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? lifeguard::kDone : lifeguard::kInvalidInput;
  } catch (const lifeguard::Exit& exit) {
    return exit.code;
  } catch (const lifeguard::InvalidInput& error) {
    fmt::print(stderr, "lifeguard: {}\n", error.what());
    return lifeguard::kInvalidInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "lifeguard: {}\n", error.what());
    return lifeguard::kFailed;
  }
  return lifeguard::kDone;
}
