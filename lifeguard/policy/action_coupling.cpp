#include "lifeguard/policy/action_coupling.hpp"

#include <cmath>

#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// s_a/s_b; 1 where nothing is known of one.
double ratio(const Eigen::MatrixXd& blocks, Eigen::Index a, Eigen::Index b) {
  if (a == b || has_common_block(blocks)) return 1;
  const double of_a = action_block(blocks, a).trace();
  const double of_b = action_block(blocks, b).trace();
  return of_a > 0 && of_b > 0 ? std::sqrt(of_a / of_b) : 1;
}

}  // namespace

void add_coupled_blocks(const Eigen::MatrixXd& coupling, const Eigen::MatrixXd& blocks,
                        Eigen::MatrixXd& system) {
  const Eigen::Index width = blocks.cols();
  const Eigen::Index actions = system.rows() / width;
  for (Eigen::Index a = 0; a < actions; ++a) {
    if (coupling.size() == 0) {
      system.block(a * width, a * width, width, width) += action_block(blocks, a);
      continue;
    }
    for (Eigen::Index b = 0; b < actions; ++b) {
      auto to = system.block(a * width, b * width, width, width);
      if (has_common_block(blocks)) {
        to += coupling(a, b) * blocks;
      } else {
        // Sums over rounds of different noises are in proportion only nearly.
        to += 0.5 * coupling(a, b) *
              (ratio(blocks, a, b) * action_block(blocks, b) +
               ratio(blocks, b, a) * action_block(blocks, a));
      }
    }
  }
}

void couple(const Eigen::MatrixXd& coupling, const Eigen::MatrixXd& blocks,
            const Eigen::Ref<const Eigen::MatrixXd>& x, Eigen::Ref<Eigen::MatrixXd> coupled) {
  if (coupling.size() == 0) {
    coupled = x;
    return;
  }
  const Eigen::Index width = blocks.cols();
  for (Eigen::Index a = 0; a < coupling.rows(); ++a) {
    auto to = coupled.middleRows(a * width, width);
    to.setZero();
    for (Eigen::Index b = 0; b < coupling.cols(); ++b) {
      to += (coupling(a, b) * ratio(blocks, a, b)) * x.middleRows(b * width, width);
    }
  }
}

}  // namespace lifeguard
