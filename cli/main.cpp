// The lifeguard command. Each subcommand is a file of its own that adds itself to the application.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/project.hpp"
#include "cli/simulate.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/version.hpp"

int main(int argc, char** argv) {
  CLI::App app("Safe lifelong policy search");
  app.set_version_flag("--version", lifeguard::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 something went wrong while running, 2 the input was not valid.");
  lifeguard::add_project_command(app);
  lifeguard::add_simulate_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const lifeguard::InvalidInput& error) {
    fmt::print(stderr, "lifeguard: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "lifeguard: {}\n", error.what());
    return 1;
  }
  return 0;
}
