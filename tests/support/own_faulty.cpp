// The equations of own_faulty.hpp, compiled for the tests.

#define LIFEGUARD_SYSTEM lifeguard::test_support::OwnFaulty
#define LIFEGUARD_SYSTEM_FILE "tests/support/own_faulty.hpp"
#include "lifeguard/trajectories/compile_system.hpp"
