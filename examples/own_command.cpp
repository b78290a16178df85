// The lifeguard command for a system of one's own: everything it can do with the built-in systems
// it can do with the pendulum, by the name "pendulum" (examples/pendulum.toml).
//   example_own_command run examples/pendulum.toml -o pendulum.run

#include "cli/command.hpp"
#include "examples/pendulum.hpp"
#include "lifeguard/systems/custom_system.hpp"

int main(int argc, char** argv) {
  // Each task is a pendulum of its own: these parameters vary from one to the next.
  lifeguard::register_system(Pendulum{}, {{"mass", 0.8, 1.2}, {"length", 0.9, 1.1}});
  return lifeguard::run_command(argc, argv);
}
