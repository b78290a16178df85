#include "lifeguard/safety/paper_projection.hpp"
namespace lifeguard {
PaperBasisStatus paper_basis(const Eigen::MatrixXd&, const Eigen::MatrixXd&, const Eigen::MatrixXd&,
                             double, double, Eigen::MatrixXd&) {
  return PaperBasisStatus::solver_failed;
}
}  // namespace lifeguard
