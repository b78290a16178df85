#include "lifeguard/safety/sets/saved_safe_set.hpp"

#include <limits>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void write_safe_set(StateWriter& writer, const SafeSet& set) {
  writer.field("rows", set.rows());
  if (set.rows() == 0) return;
  writer.field("row_coefficients", set.coefficients());
  writer.field("row_limits", set.limits());
  for (const std::string& name : set.names()) writer.field("row", name);
  writer.field("has_slack_limit", set.has_slack_limit());
  if (set.has_slack_limit()) writer.field("slack_limit", set.slack_limit());
}

SafeSet read_safe_set(StateReader& reader, int parameters) {
  int rows = 0;
  reader.field("rows", rows);
  require(rows >= 0, "rows", rows, "must not be negative");
  if (rows == 0) return SafeSet(parameters);
  Eigen::MatrixXd coefficients;
  Eigen::VectorXd limits;
  reader.field("row_coefficients", coefficients);
  reader.field("row_limits", limits);
  require_size("row_coefficients (rows)", coefficients.rows(), rows);
  require_size("row_coefficients (columns)", coefficients.cols(), parameters);
  std::vector<std::string> names(rows);
  for (std::string& name : names) reader.field("row", name);
  bool has_slack_limit = false;
  reader.field("has_slack_limit", has_slack_limit);
  double slack_limit = std::numeric_limits<double>::infinity();
  if (has_slack_limit) reader.field("slack_limit", slack_limit);
  return {coefficients, limits, names, slack_limit};
}

}  // namespace lifeguard
