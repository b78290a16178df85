# What is installed. The test public_headers finds what is missing here.
#
# The front door: what a program includes, by itself or through lifeguard.hpp.
set(lifeguard_front_headers
    lifeguard.hpp
    base_learners/round_settings.hpp
    base_learners/trajectory_check.hpp
    core/check.hpp
    core/random.hpp
    lifelong/learner.hpp
    lifelong/learner_settings.hpp
    lifelong/method.hpp
    lifelong/policy_learner.hpp
    lifelong/round_record.hpp
    policy/features.hpp
    policy/gaussian_policy.hpp
    policy/knowledge.hpp
    runs/config.hpp
    runs/play.hpp
    safety/prove/certificate.hpp
    safety/prove/checker.hpp
    safety/prove/closed_loop_checker.hpp
    safety/sets/closed_loop.hpp
    safety/sets/feasibility.hpp
    safety/sets/gain_inequality.hpp
    safety/sets/safe_set.hpp
    safety/sets/safe_set_builders.hpp
    systems/custom_system.hpp
    systems/family.hpp
    systems/lqr.hpp
    systems/plant_inclusion.hpp
    systems/system_registry.hpp
    systems/task.hpp
    trajectories/rollout.hpp
    trajectories/trajectories.hpp)

# What these are made of. It comes with them and may be cut differently in the next version.
set(lifeguard_inner_headers
    base_learners/base_learner_settings.hpp
    base_learners/round_loss.hpp
    core/aligned.hpp
    core/deadline.hpp
    core/numbers.hpp
    core/stop.hpp
    core/uncertain_plant.hpp
    lifelong/independent.hpp
    lifelong/pg_ella.hpp
    lifelong/shared.hpp
    safety/sets/gain_inequality.hpp
    safety/solve/projection_settings.hpp
    safety/solve/projection_status.hpp
    systems/built_in_system.hpp
    systems/built_in_systems.hpp
    systems/cart_pole.hpp
    systems/linear_model.hpp
    systems/mass_spring.hpp
    systems/parameter.hpp
    systems/quadrotor.hpp
    systems/system.hpp
    systems/system_description.hpp
    systems/task_settings.hpp)

set(lifeguard_public_headers ${lifeguard_front_headers} ${lifeguard_inner_headers})
