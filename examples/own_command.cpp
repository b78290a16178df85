// The lifeguard command for systems of one's own: everything it can do with the built-in systems it
// can do with the pendulum, by the name "pendulum" (examples/pendulum.toml), and as fast; and with
// the balancing robot, whose fleet is examples/balancing_robots.toml.
//   example_own_command run examples/pendulum.toml -o pendulum.run
//   example_own_command validate examples/balancing_robots.toml

#define LIFEGUARD_SYSTEM FastPendulum
#define LIFEGUARD_SYSTEM_FILE "examples/fast_pendulum.hpp"
#include "lifeguard/trajectories/compile_system.hpp"

#include "cli/command.hpp"
#include "examples/balancing_robot.hpp"

int main(int argc, char** argv) {
  // Each task is a pendulum of its own: these parameters vary from one to the next.
  lifeguard::register_system(FastPendulum{}, {{"mass", 0.8, 1.2}, {"length", 0.9, 1.1}});
  lifeguard::register_system(BalancingRobot{}, {{"payload_kilograms", 0, 5}});
  return lifeguard::run_command(argc, argv);
}
