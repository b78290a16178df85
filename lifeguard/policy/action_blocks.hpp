#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// The curvature of a policy's loss has one features × features block for each action, since
/// actions share their features but not their noise. Where all noises are equal the blocks are as
/// well, and there is one for all (features × features); else they stand below each other (actions
/// · features × features).

/// Whether there is one block for all actions.
inline bool has_common_block(const Eigen::MatrixXd& blocks) {
  return blocks.rows() == blocks.cols();
}

/// The block of an action.
inline Eigen::Block<const Eigen::MatrixXd> action_block(const Eigen::MatrixXd& blocks,
                                                        Eigen::Index action) {
  const Eigen::Index width = blocks.cols();
  return blocks.block(has_common_block(blocks) ? 0 : action * width, 0, width, width);
}

/// Whether these are blocks for policies of this shape.
inline bool are_blocks(const Eigen::MatrixXd& blocks, Eigen::Index features, Eigen::Index actions) {
  return blocks.cols() == features &&
         (blocks.rows() == features || blocks.rows() == actions * features);
}

/// How many blocks must be walked for all that differ.
inline Eigen::Index different_blocks(const Eigen::MatrixXd& blocks) {
  return has_common_block(blocks) ? 1 : blocks.rows() / blocks.cols();
}

/// sum ← memory · sum + added, where one may have a block for all actions and the other one for
/// each: the noise of a task's policies may change from round to round.
void add_blocks(double memory, Eigen::MatrixXd& sum, const Eigen::MatrixXd& added);

}  // namespace lifeguard
