#include "lifeguard/report/report_run.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPathPoints = 100;  // of each task: a path has d numbers a point
constexpr int kStarts = 3;                // start states that are animated
constexpr int kFrameSteps = 2;            // steps between two frames

/// Six digits: enough for paths and pictures, and a third of the size.
double rounded(double value) {
  if (!std::isfinite(value)) return value;
  const std::string text = fmt::format("{:.6g}", value);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

Json numbers(const Eigen::VectorXd& values) {
  return std::vector<double>(values.begin(), values.end());
}

Json rounded_numbers(const Eigen::VectorXd& values) {
  return numbers(values.unaryExpr([](double v) { return rounded(v); }));
}

/// How a system is drawn: its name and the places of its positions in the state.
struct SystemView {
  std::string name;
  std::vector<std::string> states;
  std::vector<int> positions;
};

SystemView view_of(const Task& task) {
  if (std::holds_alternative<MassSpring>(task.system)) {
    return {"mass-spring", {"position", "speed"}, {0}};
  }
  if (std::holds_alternative<CartPole>(task.system)) {
    return {"cart-pole", {"cart position", "cart speed", "pole angle", "pole rate"}, {0, 2}};
  }
  if (std::holds_alternative<Quadrotor>(task.system)) {
    return {
        "quadrotor", {"roll", "pitch", "yaw", "roll rate", "pitch rate", "yaw rate"}, {0, 1, 2}};
  }
  SystemView view{"custom", {}, {}};
  for (int i = 0; i < task.states(); ++i) view.states.push_back(fmt::format("state {}", i + 1));
  return view;
}

Json parameter_names(const Task& task, const SystemView& view) {
  Json names = Json::array();
  for (int a = 0; a < task.actions(); ++a) {
    for (const std::string& state : view.states) {
      names.push_back(task.actions() == 1 ? "gain on " + state
                                          : fmt::format("rotor {} on {}", a + 1, state));
    }
  }
  return names;
}

Json safe_set_json(const SafeSet& set) {
  Json json;
  json["names"] = set.names();
  json["coefficients"] = Json::array();
  for (int i = 0; i < set.rows(); ++i)
    json["coefficients"].push_back(numbers(set.coefficients().row(i)));
  json["limits"] = numbers(set.limits());
  json["slack_limit"] = set.slack_limit();
  return json;
}

/// The positions of the system, relative to the goal, for each start state and frame, without
/// noise. A trajectory that failed has fewer frames.
Json animation(const ExperimentConfig& config, const Task& task, const SystemView& view,
               const Eigen::VectorXd& alpha) {
  RolloutSettings settings;
  settings.trajectories = kStarts;
  settings.steps = config.steps;
  settings.seed = run_seed(config, SeedOf::evaluation);
  const Trajectories flights =
      rollout(task, GaussianPolicy::from_parameters(alpha, task.actions(), 0.0), settings);
  Json starts = Json::array();
  for (int i = 0; i < kStarts; ++i) {
    Json frames = Json::array();
    for (int m = 0; m < flights.length(i); m += kFrameSteps) {
      Eigen::VectorXd frame(static_cast<long>(view.positions.size()));
      for (std::size_t p = 0; p < view.positions.size(); ++p) {
        frame(static_cast<long>(p)) = flights.feature(i, m, view.positions[p]);
      }
      frames.push_back(rounded_numbers(frame));
    }
    starts.push_back(std::move(frames));
  }
  return starts;
}

/// The columns of `values` in the plane of their two largest principal components.
Json principal_components(const Eigen::MatrixXd& values) {
  const Eigen::MatrixXd centred = values.colwise() - values.rowwise().mean();
  // Of the smaller Gram matrix: few tasks or few parameters make it cheap.
  const bool by_rows = centred.rows() <= centred.cols();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      by_rows ? Eigen::MatrixXd(centred * centred.transpose())
              : Eigen::MatrixXd(centred.transpose() * centred));
  const long count = std::min<long>(2, solver.eigenvalues().size());
  const double total = centred.squaredNorm();
  Json json;
  json["shares"] = Json::array();
  Eigen::MatrixXd places = Eigen::MatrixXd::Zero(2, values.cols());
  for (long c = 0; c < count; ++c) {
    const long place = solver.eigenvalues().size() - 1 - c;
    const double variance = std::max(0.0, solver.eigenvalues()(place));
    Eigen::VectorXd direction = solver.eigenvectors().col(place);
    if (!by_rows) direction = (centred * direction).eval();
    if (direction.norm() > 0) direction.normalize();
    // A direction has no sign of its own: its largest entry is positive.
    Eigen::Index largest = 0;
    direction.cwiseAbs().maxCoeff(&largest);
    if (direction(largest) < 0) direction = -direction;
    places.row(c) = direction.transpose() * centred;
    json["shares"].push_back(total > 0 ? variance / total : 0.0);
  }
  json["places"] = Json::array();
  for (long t = 0; t < places.cols(); ++t) json["places"].push_back(numbers(places.col(t)));
  return json;
}

Json coefficients_json(const Run& run, const Eigen::MatrixXd& policies) {
  const auto* learner = dynamic_cast<const Learner*>(&run.learner());
  const Eigen::MatrixXd& values = learner ? learner->knowledge().coefficients : policies;
  Json json;
  json["of"] = learner ? "coefficients" : "policies";
  json["tasks"] = Json::array();
  for (long t = 0; t < values.cols(); ++t) json["tasks"].push_back(numbers(values.col(t)));
  json["principal"] = principal_components(values);
  return json;
}

Json path_json(const RunSnapshot& run, int task, long since) {
  std::vector<const StoredRound*> visits;
  for (const StoredRound& round : run.rounds) {
    if (round.task == task && round.round > since) visits.push_back(&round);
  }
  Json path;
  path["rounds"] = Json::array();
  path["values"] = Json::array();
  for (const std::size_t i : thinned(0, visits.size(), kPathPoints)) {
    path["rounds"].push_back(visits[i]->round);
    path["values"].push_back(rounded_numbers(visits[i]->played));
  }
  return path;
}

template <typename Row>
Json vector_curve(const std::vector<Row>& rows, Eigen::VectorXd Row::*values, long since) {
  Json curve;
  curve["rounds"] = Json::array();
  curve["values"] = Json::array();
  for (const std::size_t i : thinned(first_after(rows, since), rows.size(), kReportPoints)) {
    curve["rounds"].push_back(rows[i].round);
    curve["values"].push_back(numbers(rows[i].*values));
  }
  return curve;
}

template <typename Row>
void append(std::vector<Row>& rows, std::vector<Row> more) {
  rows.insert(rows.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

template <typename Row>
void drop_later(std::vector<Row>& rows, long last) {
  while (!rows.empty() && rows.back().round > last) rows.pop_back();
}

}  // namespace

RunSnapshot::RunSnapshot(const RunReader& reader) : file(reader.path().filename().string()) {
  read_on(reader);
}

void RunSnapshot::read_on(const RunReader& reader) {
  header = reader.header();
  append(rounds, reader.rounds(rounds.empty() ? 1 : rounds.back().round + 1));
  append(evaluations, reader.evaluations(evaluations.empty() ? 0 : evaluations.back().round + 1));
  append(certificates,
         reader.certificates(certificates.empty() ? 1 : certificates.back().round + 1));
  regrets = reader.regrets();
  state = reader.state();
  // The run may have gone on between two of these.
  drop_later(rounds, header.rounds_done);
  drop_later(evaluations, header.rounds_done);
  drop_later(certificates, header.rounds_done);
  drop_later(regrets, header.rounds_done);
}

std::vector<std::size_t> thinned(std::size_t first, std::size_t count, std::size_t limit) {
  std::vector<std::size_t> kept;
  const std::size_t available = count - first;
  if (available <= limit) {
    for (std::size_t i = first; i < count; ++i) kept.push_back(i);
    return kept;
  }
  for (std::size_t i = 0; i < limit; ++i) {
    kept.push_back(first + i * (available - 1) / (limit - 1));
  }
  return kept;
}

void describe_run(const RunSnapshot& snapshot, long since, Json& entry) {
  const ExperimentConfig& config = snapshot.header.config;
  Run run(config);
  const Setting& setting = run.setting();
  const Eigen::MatrixXd first_policies = run.policies();
  if (!snapshot.state.empty()) run.restore(snapshot.state);
  const Eigen::MatrixXd policies = run.policies();
  const SystemView view = view_of(setting.tasks.front());
  const bool whole = since < 0;

  if (whole) {
    entry["system"] = view.name;
    entry["parameters"] = parameter_names(setting.tasks.front(), view);
    entry["frame_seconds"] = kFrameSteps * setting.tasks.front().settings.dt_seconds;
    Json settings;
    for (const auto& [key, value] : effective_values(config)) settings[key] = value;
    entry["settings"] = std::move(settings);
  }
  entry["tasks"] = Json::array();
  for (std::size_t t = 0; t < setting.tasks.size(); ++t) {
    const Task& task = setting.tasks[t];
    const auto column = static_cast<long>(t);
    Json json;
    json["name"] = task.name;
    if (whole) {
      if (setting.constrained()) json["safe_set"] = safe_set_json(setting.safe_sets[t]);
      if (view.name != "custom") {
        json["lqr"] = rounded_numbers(parameters_from_gains(lqr_gains(task)));
        json["first_flights"] = animation(config, task, view, first_policies.col(column));
      }
    }
    json["policy"] = numbers(policies.col(column));
    if (view.name != "custom") {
      json["last_flights"] = animation(config, task, view, policies.col(column));
    }
    json["path"] = path_json(snapshot, static_cast<int>(t), since);
    entry["tasks"].push_back(std::move(json));
  }
  if (setting.constrained()) {
    entry["margins"] = vector_curve(snapshot.evaluations, &StoredEvaluation::margins, since);
  }
  if (!snapshot.certificates.empty()) {
    entry["spectrum"] = vector_curve(snapshot.certificates, &StoredCertificate::spectrum, since);
    entry["spectrum"]["p"] = config.learner().projection.p;
    entry["spectrum"]["q"] = config.learner().projection.q;
  }
  entry["coefficients"] = coefficients_json(run, policies);
}

}  // namespace lifeguard
