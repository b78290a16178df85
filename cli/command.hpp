#pragma once

namespace lifeguard {

/// The lifeguard command as a function. A program of one's own that registers its systems first
/// (register_system, systems/task.hpp) and ends with this is the whole command for them:
///
///   int main(int argc, char** argv) {
///     lifeguard::register_system(Pendulum{});
///     return lifeguard::run_command(argc, argv);
///   }
///
/// Link lifeguard_command_library. Returns the exit code.
int run_command(int argc, char** argv);

}  // namespace lifeguard
