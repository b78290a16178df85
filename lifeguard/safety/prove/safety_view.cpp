#include "lifeguard/safety/prove/safety_view.hpp"

#include "lifeguard/core/check.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"

namespace lifeguard {

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
  for (const SafeSet& set : safe_sets) {
    hash.add(set.coefficients());
    hash.add(set.limits());
    hash.add(set.slack_limit());
    for (const std::string& name : set.names()) hash.add(std::string_view(name));
  }
  return hash.hex();
}

}  // namespace lifeguard
