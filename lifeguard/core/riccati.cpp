#include "lifeguard/core/riccati.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <utility>

namespace lifeguard {

RiccatiDoubling::RiccatiDoubling(Eigen::MatrixXd a, const Eigen::MatrixXd& b, Eigen::MatrixXd q,
                                 const Eigen::MatrixXd& r)
    : a_(std::move(a)), g_(b * r.llt().solve(b.transpose())), h_(std::move(q)) {}

double RiccatiDoubling::twice() {
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(a_.rows(), a_.rows());
  const Eigen::PartialPivLU<Eigen::MatrixXd> w(identity + g_ * h_);
  const Eigen::MatrixXd wa = w.solve(a_);
  const Eigen::MatrixXd wg = w.solve(g_);
  const Eigen::MatrixXd change = a_.transpose() * h_ * wa;
  g_ += a_ * wg * a_.transpose();
  g_ = 0.5 * (g_ + g_.transpose()).eval();
  h_ += change;
  h_ = 0.5 * (h_ + h_.transpose()).eval();
  a_ = (a_ * wa).eval();
  return change.cwiseAbs().maxCoeff();
}

}  // namespace lifeguard
