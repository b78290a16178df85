#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// Several actions may do nearly the same, as the rotors of a quadrotor do. What a batch says of
/// their common effect is then sure, and what it says of their difference is not. H is the second
/// derivative of the cost in the actions, in units of their noises and with a mean eigenvalue of 1.
/// Instead of G_a for each action alone (action_blocks.hpp), what is known of the gains of actions
/// a and b is in proportion to
///   K_ab = H_ab G_b s_a/s_b,
/// s_a² being how much the block of a has of every other, which is 1/σ_a². An empty H is the
/// identity: K is then G.

/// system += K.
void add_coupled_blocks(const Eigen::MatrixXd& coupling, const Eigen::MatrixXd& blocks,
                        Eigen::MatrixXd& system);

/// coupled_a ← Σ_b H_ab (s_a/s_b) x_b, so that x = Gδ becomes Kδ; of every column.
void couple(const Eigen::MatrixXd& coupling, const Eigen::MatrixXd& blocks,
            const Eigen::Ref<const Eigen::MatrixXd>& x, Eigen::Ref<Eigen::MatrixXd> coupled);

}  // namespace lifeguard
