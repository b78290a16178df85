#include "lifeguard/lifelong/empirical_bayes_state.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

void require_finite_numbers(std::string_view field, const Eigen::MatrixXd& matrix) {
  require(matrix.allFinite(), field, "(a number that is not finite)", "must be finite");
}

void require_count(std::string_view field, long count) {
  constexpr long kMost = 1L << 60;
  require(count >= 0 && count < kMost, field, static_cast<double>(count), "must be a count");
}

void read_vector(StateReader& reader, std::string_view field, Eigen::Index size,
                 Eigen::VectorXd& vector) {
  reader.field(field, vector);
  require_size(field, vector.size(), size);
  require_finite_numbers(field, vector);
}

void read_square(StateReader& reader, std::string_view field, Eigen::Index size,
                 Eigen::MatrixXd& matrix) {
  reader.field(field, matrix);
  require_size(field, matrix.rows(), size);
  require_size(field, matrix.cols(), size);
  require_finite_numbers(field, matrix);
}

void read_blocks(StateReader& reader, std::string_view field, Eigen::Index features,
                 Eigen::Index actions, Eigen::MatrixXd& blocks) {
  reader.field(field, blocks);
  require(are_blocks(blocks, features, actions), field, static_cast<double>(blocks.rows()),
          "must have one row for each feature, or for each parameter");
  require_finite_numbers(field, blocks);
}

}  // namespace

void TaskBelief::save_anchor(StateWriter& writer) const {
  writer.field("anchor", anchor);
  writer.field("visited", visited());
}

void TaskBelief::save_rounds(StateWriter& writer) const {
  writer.field("has_began", began.size() > 0);
  if (began.size() > 0) writer.field("began", began);
  writer.field("information", information);
  writer.field("evidence", evidence);
  writer.field("place", place);
  writer.field("first_cost", first_cost);
  writer.field("attempts", attempts);
  writer.field("settled", settled);
  if (settled) writer.field("settled_at", settled_at);
}

bool TaskBelief::load_anchor(StateReader& reader, int parameters) {
  bool had_rounds = false;
  read_vector(reader, "anchor", parameters, anchor);
  reader.field("visited", had_rounds);
  return had_rounds;
}

void TaskBelief::load_rounds(StateReader& reader, int features, int parameters) {
  bool has_began = false;
  reader.field("has_began", has_began);
  if (has_began) read_vector(reader, "began", parameters, began);
  read_blocks(reader, "information", features, parameters / features, information);
  read_vector(reader, "evidence", parameters, evidence);
  read_vector(reader, "place", parameters, place);
  reader.field("first_cost", first_cost);
  reader.field("attempts", attempts);
  reader.field("settled", settled);
  settled_at.setZero(parameters);
  if (settled) read_vector(reader, "settled_at", parameters, settled_at);
  require_finite("first_cost", first_cost);
  require(attempts >= 0, "attempts", attempts, "must not be negative");
}

void SharedBelief::save(StateWriter& writer) const {
  writer.field("begun", begun());
  if (!begun()) return;
  writer.field("common", common);
  writer.field("offset", offset);
  writer.field("mean_metric", metric);
  writer.field("first_spread", first_spread);
  writer.field("agreement", agreement);
  writer.field("last_task", last_task);
  writer.field("stay_task", stay_task);
  writer.field("stay_rounds", stay_rounds);
  writer.field("has_direction", direction.size() > 0);
  if (direction.size() > 0) writer.field("common_direction", direction);
  writer.field("way_along", way_along);
  writer.field("way_length", way_length);
  writer.field("way_spread", way_spread);
  writer.field("places", places);
  writer.field("squares", squares);
  writer.field("uncertainty", uncertainty);
  writer.field("mean_rounds", mean_rounds);
  if (mean_rounds > 0) {
    writer.field("mean_weight", mean_weight);
    writer.field("mean_pull", mean_pull);
  }
  writer.field("coupling_rounds", coupling_rounds);
  if (coupling_rounds > 0) writer.field("coupling", coupling);
  writer.field("log_noise", log_noise);
  writer.field("noise_rounds", noise_rounds);
  Eigen::MatrixXd visits(3, static_cast<Eigen::Index>(recent.size()));
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const Visit& visit = recent[i];
    visits.col(static_cast<Eigen::Index>(i)) << visit.task, visit.cost, visit.first_cost;
  }
  writer.field("recent", visits);
}

void SharedBelief::load(StateReader& reader, int features, int parameters, int tasks) {
  bool has_begun = false;
  reader.field("begun", has_begun);
  if (!has_begun) return;
  bool has_direction = false;
  read_vector(reader, "common", parameters, common);
  read_vector(reader, "offset", parameters, offset);
  read_blocks(reader, "mean_metric", features, parameters / features, metric);
  reader.field("first_spread", first_spread);
  reader.field("agreement", agreement);
  reader.field("last_task", last_task);
  reader.field("stay_task", stay_task);
  reader.field("stay_rounds", stay_rounds);
  reader.field("has_direction", has_direction);
  if (has_direction) read_vector(reader, "common_direction", parameters, direction);
  reader.field("way_along", way_along);
  reader.field("way_length", way_length);
  reader.field("way_spread", way_spread);
  read_vector(reader, "places", parameters, places);
  read_square(reader, "squares", parameters, squares);
  read_square(reader, "uncertainty", parameters, uncertainty);
  reader.field("mean_rounds", mean_rounds);
  require_count("mean_rounds", mean_rounds);
  if (mean_rounds > 0) {
    read_square(reader, "mean_weight", parameters, mean_weight);
    read_vector(reader, "mean_pull", parameters, mean_pull);
    const Eigen::LLT<Eigen::MatrixXd> factor(mean_weight + prior.precision());
    require(factor.info() == Eigen::Success, "mean_weight", "not positive",
            "must be what rounds say");
  }
  reader.field("coupling_rounds", coupling_rounds);
  require_count("coupling_rounds", coupling_rounds);
  if (coupling_rounds > 0) {
    read_square(reader, "coupling", parameters / features, coupling);
    const Eigen::LLT<Eigen::MatrixXd> factor(coupling);
    require(factor.info() == Eigen::Success && coupling == coupling.transpose(), "coupling",
            "not positive", "must be a mean of curvatures");
  }
  reader.field("log_noise", log_noise);
  reader.field("noise_rounds", noise_rounds);
  require(std::abs(log_noise) < 700, "log_noise", log_noise, "must be the logarithm of a number");
  require_count("noise_rounds", noise_rounds);
  Eigen::MatrixXd visits;
  reader.field("recent", visits);
  require(visits.rows() == 3 && visits.cols() <= static_cast<Eigen::Index>(kRecentRounds), "recent",
          static_cast<double>(visits.cols()), "must be as many rounds as are kept");
  require_finite_numbers("recent", visits);
  for (Eigen::Index i = 0; i < visits.cols(); ++i) {
    require(visits(0, i) >= 0 && visits(0, i) < tasks, "recent", visits(0, i), "must be a task");
    recent.push_back({static_cast<int>(visits(0, i)), visits(1, i), visits(2, i)});
  }
  require_not_negative("first_spread", first_spread);
  require(std::abs(agreement) <= 1, "agreement", agreement, "must be a cosine");
  require_finite("way_along", way_along);
  require_not_negative("way_length", way_length);
  require_not_negative("way_spread", way_spread);
  require(last_task >= -1 && last_task < tasks, "last_task", last_task, "must be a task");
  require(stay_task >= 0 && stay_task < tasks, "stay_task", stay_task, "must be a task");
  require(stay_rounds >= 1, "stay_rounds", static_cast<double>(stay_rounds), "must be at least 1");
}

}  // namespace lifeguard
