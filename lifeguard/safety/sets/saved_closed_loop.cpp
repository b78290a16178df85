#include "lifeguard/safety/sets/saved_closed_loop.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"

namespace lifeguard {
namespace {

int read_count(StateReader& reader, std::string_view name) {
  int count = 0;
  reader.field(name, count);
  require(count >= 0 && count <= 100000, name, count, "must lie in [0, 100000]");
  return count;
}

}  // namespace

void write_closed_loop(StateWriter& writer, const ClosedLoop& loop) {
  const UncertainPlant& plant = loop.plant;
  writer.field("corners", static_cast<int>(plant.corners.size()));
  for (const UncertainPlant::Corner& corner : plant.corners) {
    writer.field("corner", corner.name);
    writer.field("a", corner.a);
    writer.field("b", corner.b);
  }
  writer.field("channels", plant.channels());
  if (plant.channels() > 0) {
    writer.field("spreads", plant.spreads);
    writer.field("state_factors", plant.state_factors);
    writer.field("action_factors", plant.action_factors);
  }
  for (const double limit : plant.state_limits) writer.field("state_limit", limit);
  writer.field("action_limits", static_cast<int>(plant.action_limits.size()));
  for (Eigen::Index r = 0; r < plant.action_limits.size(); ++r) {
    writer.field("action_limit", plant.action_limit_names[static_cast<std::size_t>(r)]);
    writer.field("direction", Eigen::VectorXd(plant.action_directions.row(r).transpose()));
    writer.field("limit", plant.action_limits(r));
  }
  writer.field("nonlinear", plant.statement == PlantStatement::nonlinear);
  writer.field("decay", loop.decay);
  writer.field("p", loop.p);
  writer.field("start_low", loop.start_low);
  writer.field("start_high", loop.start_high);
  writer.field("start_share", loop.start_share);
  writer.field("noise_limits", loop.noise_limits);
  const bool noisy = !loop.noise_limits.isZero(0);
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    if (plant.channels() > 0) writer.field("multipliers", loop.multipliers[i]);
    if (noisy) writer.field("noise_multipliers", loop.noise_multipliers[i]);
    writer.field("inflated", loop.inflated[i]);
    write_inequality(writer, loop.contractions[i]);
  }
  for (const GainInequality& inequality : loop.action_bounds) {
    write_inequality(writer, inequality);
  }
  writer.field("anchor", loop.anchor);
}

ClosedLoop read_closed_loop(StateReader& reader) {
  ClosedLoop loop;
  UncertainPlant& plant = loop.plant;
  plant.corners.resize(static_cast<std::size_t>(read_count(reader, "corners")));
  for (UncertainPlant::Corner& corner : plant.corners) {
    reader.field("corner", corner.name);
    reader.field("a", corner.a);
    reader.field("b", corner.b);
  }
  require(!plant.corners.empty(), "corners", 0.0, "must be at least 1");
  const int n = plant.states();
  const int m = plant.actions();
  // Sizes without values must not ask for all memory.
  require(n > 0 && m > 0, "a, b", "no values", "must have states and actions");
  require_size("a (columns)", plant.corners.front().a.cols(), n);
  require_size("b (rows)", plant.corners.front().b.rows(), n);
  if (read_count(reader, "channels") > 0) {
    reader.field("spreads", plant.spreads);
    reader.field("state_factors", plant.state_factors);
    reader.field("action_factors", plant.action_factors);
  } else {
    plant.spreads.resize(n, 0);
    plant.state_factors.resize(0, n);
    plant.action_factors.resize(0, m);
  }
  plant.state_limits.resize(n);
  for (double& limit : plant.state_limits) reader.field("state_limit", limit);
  const int rows = read_count(reader, "action_limits");
  std::vector<Eigen::VectorXd> directions;
  std::vector<double> limits;
  for (int r = 0; r < rows; ++r) {
    reader.field("action_limit", plant.action_limit_names.emplace_back());
    reader.field("direction", directions.emplace_back());
    require_size("direction", directions.back().size(), m);
    reader.field("limit", limits.emplace_back());
  }
  plant.action_limits = Eigen::Map<const Eigen::VectorXd>(limits.data(), rows);
  plant.action_directions.resize(rows, m);
  for (int r = 0; r < rows; ++r) {
    plant.action_directions.row(r) = directions[static_cast<std::size_t>(r)].transpose();
  }
  bool nonlinear = false;
  reader.field("nonlinear", nonlinear);
  plant.statement = nonlinear ? PlantStatement::nonlinear : PlantStatement::linear;
  plant.validate();
  reader.field("decay", loop.decay);
  reader.field("p", loop.p);
  reader.field("start_low", loop.start_low);
  reader.field("start_high", loop.start_high);
  reader.field("start_share", loop.start_share);
  reader.field("noise_limits", loop.noise_limits);
  const bool noisy = !loop.noise_limits.isZero(0);
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    loop.multipliers.emplace_back();
    if (plant.channels() > 0) reader.field("multipliers", loop.multipliers.back());
    loop.noise_multipliers.emplace_back();
    if (noisy) reader.field("noise_multipliers", loop.noise_multipliers.back());
    loop.inflated.emplace_back();
    reader.field("inflated", loop.inflated.back());
    loop.contractions.push_back(read_inequality(reader));
  }
  for (int r = 0; r < rows; ++r) {
    loop.action_bounds.push_back(read_inequality(reader));
  }
  reader.field("anchor", loop.anchor);
  const auto require_square = [&](const char* field, const Eigen::MatrixXd& matrix, int size) {
    require_size(std::string(field) + " (rows)", matrix.rows(), size);
    require_size(std::string(field) + " (columns)", matrix.cols(), size);
  };
  require_square("p", loop.p, n);
  for (const Eigen::MatrixXd& w : loop.inflated) require_square("inflated", w, n);
  for (const Eigen::VectorXd& d : loop.multipliers) {
    require_size("multipliers", d.size(), plant.channels());
  }
  for (const GainInequality& inequality : loop.inequalities()) {
    require_size("limit (rows)", inequality.features(), n);
    require_size("theta (rows)", inequality.theta().rows(), n + m);
  }
  require_size("start_low", loop.start_low.size(), n);
  require_size("start_high", loop.start_high.size(), n);
  require_size("noise_limits", loop.noise_limits.size(), m);
  require_size("anchor (rows)", loop.anchor.rows(), m);
  require_size("anchor (columns)", loop.anchor.cols(), n);
  return loop;
}

}  // namespace lifeguard
