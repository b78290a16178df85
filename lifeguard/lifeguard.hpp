#pragma once

/// The library's front door: everything that a program needs to let a learner keep many related
/// machines within their limits. The component `learner` has the first block, `simulation` the
/// second and `runs` the third; a program that found only some of them gets what these offer.

// Trajectories in, proven policies out.
#include "lifeguard/core/check.hpp"                     // IWYU pragma: export
#include "lifeguard/core/random.hpp"                    // IWYU pragma: export
#include "lifeguard/lifelong/learner.hpp"               // IWYU pragma: export
#include "lifeguard/lifelong/method.hpp"                // IWYU pragma: export
#include "lifeguard/policy/policy.hpp"                  // IWYU pragma: export
#include "lifeguard/safety/prove/certificate.hpp"       // IWYU pragma: export
#include "lifeguard/safety/sets/closed_loop.hpp"        // IWYU pragma: export
#include "lifeguard/safety/sets/feasibility.hpp"        // IWYU pragma: export
#include "lifeguard/safety/sets/safe_set.hpp"           // IWYU pragma: export
#include "lifeguard/safety/sets/safe_set_builders.hpp"  // IWYU pragma: export
#include "lifeguard/trajectories/trajectories.hpp"      // IWYU pragma: export
#include "lifeguard/version.hpp"                        // IWYU pragma: export

#ifdef LIFEGUARD_HAS_SIMULATION
#include "lifeguard/systems/custom_system.hpp"    // IWYU pragma: export
#include "lifeguard/systems/lqr.hpp"              // IWYU pragma: export
#include "lifeguard/systems/plant_inclusion.hpp"  // IWYU pragma: export
#include "lifeguard/systems/task.hpp"             // IWYU pragma: export
#include "lifeguard/trajectories/recording.hpp"   // IWYU pragma: export
#include "lifeguard/trajectories/rollout.hpp"     // IWYU pragma: export
#endif

#ifdef LIFEGUARD_HAS_RUNS
#include "lifeguard/runs/experiment.hpp"      // IWYU pragma: export
#include "lifeguard/runs/recording_file.hpp"  // IWYU pragma: export
#endif
