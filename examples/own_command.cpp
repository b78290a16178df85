// The lifeguard command for a system of one's own: everything it can do with the built-in systems
// it can do with the pendulum, by the name "pendulum" (examples/pendulum.toml), and as fast.
//   example_own_command run examples/pendulum.toml -o pendulum.run

#define LIFEGUARD_SYSTEM FastPendulum
#define LIFEGUARD_SYSTEM_FILE "examples/fast_pendulum.hpp"
#include "lifeguard/trajectories/compile_system.hpp"

#include "cli/command.hpp"

int main(int argc, char** argv) {
  // Each task is a pendulum of its own: these parameters vary from one to the next.
  lifeguard::register_system(FastPendulum{}, {{"mass", 0.8, 1.2}, {"length", 0.9, 1.1}});
  return lifeguard::run_command(argc, argv);
}
