#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

void add_blocks(double memory, Eigen::MatrixXd& sum, const Eigen::MatrixXd& added) {
  if (sum.rows() < added.rows()) sum = sum.replicate(added.rows() / sum.rows(), 1).eval();
  if (sum.rows() > added.rows()) {
    sum = memory * sum + added.replicate(sum.rows() / added.rows(), 1);
  } else {
    sum = memory * sum + added;
  }
}

}  // namespace lifeguard
