// The equations of own_cart_pole.hpp, compiled for the tests.

#define LIFEGUARD_SYSTEM lifeguard::test_support::OwnCartPole
#define LIFEGUARD_SYSTEM_FILE "tests/support/own_cart_pole.hpp"
#include "lifeguard/trajectories/compile_system.hpp"
