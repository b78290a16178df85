#include "lifeguard/core/uncertain_plant.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lifeguard/core/check.hpp"

namespace lifeguard {
namespace {

void require_matrix(const std::string& field, const Eigen::MatrixXd& matrix, Eigen::Index rows,
                    Eigen::Index columns) {
  require_size(field + " (rows)", matrix.rows(), rows);
  require_size(field + " (columns)", matrix.cols(), columns);
  for (Eigen::Index i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j < columns; ++j) {
      require_finite(fmt::format("{}({}, {})", field, i, j), matrix(i, j));
    }
  }
}

void require_limits(const std::string& field, const Eigen::VectorXd& limits) {
  for (Eigen::Index i = 0; i < limits.size(); ++i) {
    require(limits(i) > 0, indexed(field, i), limits(i),
            "must be greater than 0; infinity means no limit");
  }
}

bool same_matrix(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && a == b;
}

}  // namespace

void UncertainPlant::validate() const {
  require(!corners.empty(), "corners", "none", "must have at least 1");
  const Eigen::Index n = corners.front().a.rows();
  const Eigen::Index m = corners.front().b.cols();
  require(n > 0, "states", 0.0, "must be at least 1");
  require(m > 0, "actions", 0.0, "must be at least 1");
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const std::string field = indexed("corners", static_cast<long>(i));
    require(!corners[i].name.empty(), field + ".name", "\"\"", "must not be empty");
    require(corners[i].name.find('\n') == std::string::npos, field + ".name", corners[i].name,
            "must be one line");
    require_matrix(field + ".a", corners[i].a, n, n);
    require_matrix(field + ".b", corners[i].b, n, m);
  }
  // A plant without channels need not give them sizes.
  const Eigen::Index c = spreads.cols();
  if (c > 0 || state_factors.size() > 0 || action_factors.size() > 0) {
    require_matrix("spreads", spreads, n, c);
    require_matrix("state_factors", state_factors, c, n);
    require_matrix("action_factors", action_factors, c, m);
  }
  require_size("state_limits", state_limits.size(), n);
  require_limits("state_limits", state_limits);
  const Eigen::Index rows = action_limits.size();
  if (rows > 0 || action_directions.size() > 0) {
    require_matrix("action_directions", action_directions, rows, m);
  }
  require_limits("action_limits", action_limits);
  require_size("action_limit_names", static_cast<long>(action_limit_names.size()), rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const std::string& name = action_limit_names[static_cast<std::size_t>(r)];
    require(!name.empty() && name.find('\n') == std::string::npos, indexed("action_limit_names", r),
            name, "must be one line and not empty");
    require(!action_directions.row(r).isZero(0), indexed("action_directions", r), "0",
            "must not be 0");
  }
}

UncertainPlant UncertainPlant::with_sizes() const {
  UncertainPlant sized = *this;
  if (channels() == 0) {
    sized.spreads.resize(states(), 0);
    sized.state_factors.resize(0, states());
    sized.action_factors.resize(0, actions());
  }
  if (action_limits.size() == 0) sized.action_directions.resize(0, actions());
  return sized;
}

bool UncertainPlant::operator==(const UncertainPlant& other) const {
  const auto same_corner = [](const Corner& a, const Corner& b) {
    return a.name == b.name && same_matrix(a.a, b.a) && same_matrix(a.b, b.b);
  };
  return std::equal(corners.begin(), corners.end(), other.corners.begin(), other.corners.end(),
                    same_corner) &&
         same_matrix(spreads, other.spreads) && same_matrix(state_factors, other.state_factors) &&
         same_matrix(action_factors, other.action_factors) &&
         same_matrix(state_limits, other.state_limits) &&
         same_matrix(action_directions, other.action_directions) &&
         same_matrix(action_limits, other.action_limits) &&
         action_limit_names == other.action_limit_names && statement == other.statement;
}

}  // namespace lifeguard
