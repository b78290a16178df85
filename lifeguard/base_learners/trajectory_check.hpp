#pragma once

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

struct PolicyGradient;
class NoiseUnits;

/// The two parts of check_trajectories() that a learner runs in each round. Before learning: shape,
/// lengths, the states after cuts, and of what follows an end the first, the middle and the last
/// step ...
TrajectoryCheck check_ends(const Trajectories& trajectories, const GaussianPolicy& played);
/// ... and then, with the sums that learning needed anyway, the noise. Numbers that are not finite
/// have shown in those sums before. Where actions differ in their noise the sums are those in units
/// of it (NoiseUnits).
/// `units` then has each action's squares, which are tested by themselves too.
void check_noise(const Trajectories& trajectories, const GaussianPolicy& played,
                 const PolicyGradient& sums, const NoiseUnits& units, TrajectoryCheck& check);
/// Names the reason if learning found no signal.
void explain_no_signal(const Trajectories& trajectories, TrajectoryCheck& check);

}  // namespace lifeguard
