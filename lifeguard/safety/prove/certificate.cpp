#include "lifeguard/safety/prove/certificate.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/prove/set_fingerprint.hpp"
#include "lifeguard/safety/prove/verification.hpp"

namespace lifeguard {
namespace {

TaskCertificate certify_task(const SafeSet& set, const PolicyParameters& policy) {
  const Margins bound = margins(set, policy.value, policy.error);
  TaskCertificate result;
  result.worst_row = bound.worst_row();
  result.row_margin = kInfinity;
  if (result.worst_row >= 0) {
    result.worst_row_name = set.name(result.worst_row);
    result.row_margin = bound.rows(result.worst_row);
  }
  result.slack_margin = bound.slack;
  if (!policy.value.allFinite() || !policy.error.allFinite()) {
    result.row_margin = -kInfinity;
    result.slack_margin = result.row_margin;
  }
  return result;
}

bool spectrum_inside(const Eigen::MatrixXd& basis, double p, double q) {
  if (!basis.allFinite()) return false;
  // A side without a limit is given one that holds by itself: LᵀL ⪰ -I, and ⪯ ‖L‖_F² I.
  const double low = p > 0 ? p : -1.0;
  const double high = std::isfinite(q) ? q : 2 * basis.squaredNorm() + 1;
  return SpectrumVerifier().inside(basis, low, high);
}

}  // namespace

void SafetyView::validate() const {
  require(smallest_eigenvalue >= 0, "smallest_eigenvalue", smallest_eigenvalue,
          "must be at least 0");
  require(largest_eigenvalue >= smallest_eigenvalue, "largest_eigenvalue", largest_eigenvalue,
          "must be at least smallest_eigenvalue");
  require_size("anchors", static_cast<long>(anchors.size()), tasks());
  require_size("columns of coefficients", coefficients.cols(), tasks());
  require_size("rows of coefficients", coefficients.rows(), basis.cols());
  for (int t = 0; t < tasks(); ++t) {
    const auto i = static_cast<std::size_t>(t);
    require_size(indexed("anchors", t), anchors[i].size(), basis.rows());
    require_size(indexed("safe_sets", t), safe_sets[i].parameters(), basis.rows());
  }
}

std::string SafetyView::fingerprint() const {
  Fingerprint hash;
  hash.add(basis);
  hash.add(coefficients);
  hash.add(smallest_eigenvalue);
  hash.add(largest_eigenvalue);
  for (const Eigen::VectorXd& anchor : anchors) hash.add(anchor);
  for (const SafeSet& set : safe_sets) add_set(hash, set);
  return hash.hex();
}

bool Certificate::valid() const {
  return spectrum_holds &&
         std::all_of(tasks.begin(), tasks.end(), [](const TaskCertificate& t) { return t.safe(); });
}

int Certificate::worst_task() const {
  int worst = -1;
  double smallest = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const double margin = std::min(tasks[t].row_margin, tasks[t].slack_margin);
    if (worst < 0 || margin < smallest) {
      worst = static_cast<int>(t);
      smallest = margin;
    }
  }
  return worst;
}

Certificate certify(const SafetyView& view) {
  view.validate();
  Certificate result;
  for (int t = 0; t < view.tasks(); ++t) {
    const auto i = static_cast<std::size_t>(t);
    const PolicyParameters policy =
        policy_parameters(view.basis, view.anchors[i], view.coefficients.col(t));
    result.tasks.push_back(certify_task(view.safe_sets[i], policy));
    result.tasks.back().closed_loops = view.safe_sets[i].closed_loops();
  }
  const long k = view.basis.cols();
  if (view.basis.allFinite()) {
    const Eigen::MatrixXd gram = view.basis.transpose() * view.basis;
    result.spectrum =
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(gram, Eigen::EigenvaluesOnly).eigenvalues();
  } else {
    result.spectrum = Eigen::VectorXd::Constant(k, kNaN);
  }
  result.smallest_eigenvalue = view.smallest_eigenvalue;
  result.largest_eigenvalue = view.largest_eigenvalue;
  result.spectrum_holds =
      spectrum_inside(view.basis, view.smallest_eigenvalue, view.largest_eigenvalue);
  result.fingerprint = view.fingerprint();
  return result;
}

PolicyParameters policy_parameters(const Eigen::MatrixXd& basis, const Eigen::VectorXd& anchor,
                                   const Eigen::VectorXd& coefficients) {
  require_size("anchor", anchor.size(), basis.rows());
  require_size("coefficients", coefficients.size(), basis.cols());
  PolicyParameters result;
  result.value = anchor + basis * coefficients;
  // A sum of k products and ᾱ is off by at most γ_{k+1} (|ᾱ| + |L| |s|) in any order (Higham §3.1).
  // Twice that covers the distance between any two orders; γ_{k+8} covers the roundings of the
  // bound itself, and the last term products that underflow.
  const long k = basis.cols();
  const double gamma = rounding_gamma(k + 8);
  const Eigen::VectorXd magnitude = basis.cwiseAbs() * coefficients.cwiseAbs() + anchor.cwiseAbs();
  result.error = 2 * gamma * magnitude.array() +
                 4 * static_cast<double>(k + 2) * std::numeric_limits<double>::denorm_min();
  return result;
}

}  // namespace lifeguard
