// The equations of examples/fast_pendulum.hpp, compiled for the tests.

#define LIFEGUARD_SYSTEM FastPendulum
#define LIFEGUARD_SYSTEM_FILE "examples/fast_pendulum.hpp"
#include "lifeguard/trajectories/compile_system.hpp"
