#include "lifeguard/runs/closed_loop_json.hpp"

#include <nlohmann/json.hpp>

#include "lifeguard/runs/number_list.hpp"

namespace lifeguard {
namespace {

nlohmann::ordered_json matrix_json(const Eigen::MatrixXd& matrix) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    // A matrix without columns has no memory that a row could begin in.
    rows.push_back(
        number_list(matrix.cols() == 0 ? Eigen::VectorXd() : Eigen::VectorXd(matrix.row(i))));
  }
  return rows;
}

}  // namespace

const char* statement_text(const ClosedLoop& closed_loop) {
  return closed_loop.plant.statement == PlantStatement::nonlinear ? "nonlinear" : "linear";
}

nlohmann::ordered_json closed_loop_json(const ClosedLoop& closed_loop) {
  nlohmann::ordered_json json;
  json["statement"] = statement_text(closed_loop);
  json["decay"] = closed_loop.decay;
  json["p"] = matrix_json(closed_loop.p);
  json["start_low"] = number_list(closed_loop.start_low);
  json["start_high"] = number_list(closed_loop.start_high);
  json["start_share"] = closed_loop.start_share;
  json["noise_limits"] = number_list(closed_loop.noise_limits);
  json["state_limits"] = number_list(closed_loop.plant.state_limits);
  json["action_limits"] = nlohmann::ordered_json::array();
  for (Eigen::Index i = 0; i < closed_loop.plant.action_limits.size(); ++i) {
    json["action_limits"].push_back(
        {{"name", closed_loop.plant.action_limit_names[static_cast<std::size_t>(i)]},
         {"direction", number_list(Eigen::VectorXd(closed_loop.plant.action_directions.row(i)))},
         {"limit", closed_loop.plant.action_limits(i)}});
  }
  json["corners"] = nlohmann::ordered_json::array();
  for (const UncertainPlant::Corner& corner : closed_loop.plant.corners) {
    json["corners"].push_back(
        {{"name", corner.name}, {"a", matrix_json(corner.a)}, {"b", matrix_json(corner.b)}});
  }
  json["spreads"] = matrix_json(closed_loop.plant.spreads);
  json["state_factors"] = matrix_json(closed_loop.plant.state_factors);
  json["action_factors"] = matrix_json(closed_loop.plant.action_factors);
  // As `lifeguard project` reads them: what other gains have to obey for the same statement.
  json["inequalities"] = nlohmann::ordered_json::array();
  for (const GainInequality& inequality : closed_loop.inequalities()) {
    json["inequalities"].push_back({{"name", inequality.name()},
                                    {"theta", matrix_json(inequality.theta())},
                                    {"limit", matrix_json(inequality.limit())}});
  }
  return json;
}

}  // namespace lifeguard
