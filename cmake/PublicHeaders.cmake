# What is installed: these, and version.hpp. The test public_headers fails if one of them includes
# what is not here, or if one is here that lifeguard.hpp does not lead to.
set(lifeguard_public_headers
    lifeguard.hpp
    base_learners/round_loss.hpp
    base_learners/round_settings.hpp
    core/check.hpp
    core/numbers.hpp
    core/per_action.hpp
    core/random.hpp
    core/stop.hpp
    core/uncertain_plant.hpp
    lifelong/learner.hpp
    lifelong/method.hpp
    lifelong/policy_learner.hpp
    policy/action_range.hpp
    policy/policy.hpp
    policy/policy_prior.hpp
    runs/experiment.hpp
    runs/recording_file.hpp
    safety/prove/certificate.hpp
    safety/sets/closed_loop.hpp
    safety/sets/feasibility.hpp
    safety/sets/safe_set.hpp
    safety/sets/safe_set_builders.hpp
    safety/solve/projection_settings.hpp
    systems/custom_system.hpp
    systems/lqr.hpp
    systems/plant_inclusion.hpp
    systems/system.hpp
    systems/task.hpp
    trajectories/recording.hpp
    trajectories/rollout.hpp
    trajectories/trajectories.hpp)
# These too, for programs that compile equations of their own: trajectories/compile_system.hpp leads
# to them, and they need Highway.
set(lifeguard_equation_headers
    core/lane_math.hpp
    core/philox.hpp
    core/simd_targets.hpp
    trajectories/chunk_simulator.hpp
    trajectories/compile_system.hpp
    trajectories/equations.hpp
    trajectories/rollout_job.hpp)
