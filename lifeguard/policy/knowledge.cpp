#include "lifeguard/policy/policy.hpp"

#include <fmt/format.h>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

Knowledge::Knowledge(int parameters, int basis_size, double zeta) {
  require(parameters > 0, "parameters", parameters, "must be at least 1");
  require(basis_size > 0 && basis_size <= parameters, "basis_size", basis_size,
          fmt::format("must lie in [1, {}], the number of policy parameters", parameters));
  require_positive("zeta", zeta);
  basis = Eigen::MatrixXd::Zero(parameters, basis_size);
  basis.diagonal().setConstant(zeta);
  coefficients.resize(basis_size, 0);
  anchors.resize(parameters, 0);
}

void Knowledge::add_task(const Eigen::VectorXd& anchor) {
  require_size("anchor", anchor.size(), parameters());
  for (Eigen::Index i = 0; i < anchor.size(); ++i) require_finite(indexed("anchor", i), anchor(i));
  const int known = tasks();
  Eigen::VectorXd start = Eigen::VectorXd::Zero(basis_size());
  if (known > 0) start = coefficients.rowwise().mean();
  coefficients.conservativeResize(Eigen::NoChange, known + 1);
  coefficients.col(known) = start;
  anchors.conservativeResize(Eigen::NoChange, known + 1);
  anchors.col(known) = anchor;
}

Eigen::VectorXd Knowledge::policy_parameters(int task) const {
  Eigen::VectorXd alpha(parameters());
  policy_parameters(task, alpha);
  return alpha;
}

void Knowledge::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  alpha = anchors.col(task);
  alpha.noalias() += basis * coefficients.col(task);
}

void Knowledge::validate() const {
  require(basis.rows() > 0 && basis.cols() > 0 && basis.cols() <= basis.rows(), "basis",
          fmt::format("{} x {}", basis.rows(), basis.cols()),
          "must have at least one column and no more columns than rows");
  require_size("coefficients (rows)", coefficients.rows(), basis.cols());
  require_size("anchors (rows)", anchors.rows(), basis.rows());
  require_size("anchors (columns)", anchors.cols(), coefficients.cols());
  const auto require_all_finite = [](std::string_view name, const Eigen::MatrixXd& matrix) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
        require_finite(fmt::format("{}({}, {})", name, i, j), matrix(i, j));
      }
    }
  };
  require_all_finite("basis", basis);
  require_all_finite("coefficients", coefficients);
  require_all_finite("anchors", anchors);
}

bool Knowledge::operator==(const Knowledge& other) const {
  const auto same = [](const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
    return a.rows() == b.rows() && a.cols() == b.cols() && a == b;
  };
  return same(basis, other.basis) && same(coefficients, other.coefficients) &&
         same(anchors, other.anchors);
}

}  // namespace lifeguard
