#include "lifeguard/safety/sets/saved_safe_set.hpp"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/safety/sets/saved_closed_loop.hpp"

namespace lifeguard {
namespace {

void write_rows(StateWriter& writer, const SafeSet& set) {
  writer.field("row_coefficients", set.coefficients());
  writer.field("row_limits", set.limits());
  for (int row = 0; row < set.rows(); ++row) writer.field("row", set.name(row));
  writer.field("has_slack_limit", set.has_slack_limit());
  if (set.has_slack_limit()) writer.field("slack_limit", set.slack_limit());
}

SafeSet read_rows(StateReader& reader, int rows, int parameters) {
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

}  // namespace

void write_safe_set(StateWriter& writer, const SafeSet& set) {
  writer.field("rows", set.rows());
  if (set.rows() > 0) write_rows(writer, set);
  write_inequalities(writer, set);
}

void write_inequality(StateWriter& writer, const GainInequality& inequality) {
  writer.field("inequality", inequality.name());
  writer.field("theta", inequality.theta());
  writer.field("limit", inequality.limit());
}

GainInequality read_inequality(StateReader& reader) {
  std::string name;
  Eigen::MatrixXd theta;
  Eigen::MatrixXd limit;
  reader.field("inequality", name);
  reader.field("theta", theta);
  reader.field("limit", limit);
  return {std::move(name), std::move(theta), std::move(limit)};
}

void write_inequalities(StateWriter& writer, const SafeSet& set) {
  writer.field("inequalities", static_cast<int>(set.inequalities().size()));
  for (const GainInequality& inequality : set.inequalities()) {
    write_inequality(writer, inequality);
  }
  writer.field("closed_loops", static_cast<int>(set.closed_loops().size()));
  for (const auto& closed_loop : set.closed_loops()) write_closed_loop(writer, *closed_loop);
}

SafeSet read_safe_set(StateReader& reader, int parameters) {
  int rows = 0;
  reader.field("rows", rows);
  require(rows >= 0, "rows", rows, "must not be negative");
  return read_inequalities(reader,
                           rows == 0 ? SafeSet(parameters) : read_rows(reader, rows, parameters));
}

SafeSet read_inequalities(StateReader& reader, const SafeSet& rows) {
  int count = 0;
  reader.field("inequalities", count);
  require(count >= 0, "inequalities", count, "must not be negative");
  std::vector<GainInequality> inequalities;
  for (int i = 0; i < count; ++i) inequalities.push_back(read_inequality(reader));
  SafeSet set = inequalities.empty() ? rows : rows.with_inequalities(inequalities);
  reader.field("closed_loops", count);
  require(count >= 0, "closed_loops", count, "must not be negative");
  for (int i = 0; i < count; ++i) {
    set = set.with_meaning(std::make_shared<const ClosedLoop>(read_closed_loop(reader)));
  }
  return set;
}

}  // namespace lifeguard
