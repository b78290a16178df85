#include "lifeguard/runs/projection_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/prove/checker.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"

namespace lifeguard {
namespace {

// Keeps the order of keys, which is the order of the output.
using Json = nlohmann::ordered_json;

Json parse(std::string_view text) {
  // The library keeps the last of two equal keys without a word.
  std::vector<std::vector<std::string>> open;
  const auto reject_repeated = [&open](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(std::find(open.back().begin(), open.back().end(), key) == open.back().end(), "input",
              key, "must be given once only");
      open.back().push_back(key);
    }
    return true;
  };
  try {
    return Json::parse(text, reject_repeated);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …": from the bracket on.
    const std::string_view what = error.what();
    const std::size_t bracket = what.find("] ");
    throw InvalidInput("input", bracket == std::string_view::npos ? what : what.substr(bracket + 2),
                       "must be JSON");
  }
}

/// A part of the input and where it is: "tasks[2].A[0]".
struct Value {
  const Json& json;
  std::string path;

  std::string shown() const {
    std::string text = json.dump();
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
  }
  void rule(bool holds, std::string_view text) const {
    require(holds, path.empty() ? "input" : path, shown(), text);
  }
  Value at(std::string_view key) const {
    const std::string where = path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
    require(json.contains(key), where, "nothing", "must be given");
    return {json.at(std::string(key)), where};
  }
  Value at(std::size_t index) const {
    return {json[index], indexed(path, static_cast<long>(index))};
  }
  bool has(std::string_view key) const { return json.contains(key); }
  long size() const { return static_cast<long>(json.size()); }

  void only(std::initializer_list<std::string_view> keys) const {
    rule(json.is_object(), "must be an object");
    for (const auto& [key, ignored] : json.items()) {
      require(std::find(keys.begin(), keys.end(), key) != keys.end(),
              path.empty() ? "key" : path + " key", key,
              fmt::format("is not known; known are {}", fmt::join(keys, ", ")));
    }
  }
  double number() const {
    rule(json.is_number(), "must be a number");
    return json.get<double>();
  }
  std::string text() const {
    rule(json.is_string() && !json.get_ref<const std::string&>().empty(),
         "must be a string that is not empty");
    return json.get<std::string>();
  }
  void list() const { rule(json.is_array(), "must be a list"); }
  void list_of(long count, std::string_view as_many_as) const {
    list();
    if (size() == count) return;
    throw InvalidInput(path, fmt::format("{} entries", size()),
                       fmt::format("must have {} {}, as many as {}", count,
                                   count == 1 ? "entry" : "entries", as_many_as));
  }
  Eigen::VectorXd vector(long count, std::string_view as_many_as) const {
    list_of(count, as_many_as);
    Eigen::VectorXd result(count);
    for (long i = 0; i < count; ++i) result[i] = at(static_cast<std::size_t>(i)).number();
    return result;
  }
  Eigen::MatrixXd matrix(long columns, std::string_view as_many_as) const {
    list();
    Eigen::MatrixXd result(size(), columns);
    for (long i = 0; i < size(); ++i) {
      result.row(i) = at(static_cast<std::size_t>(i)).vector(columns, as_many_as).transpose();
    }
    return result;
  }
};

SafeSet read_safe_set(const Value& task, long parameters, double slack_limit) {
  const Eigen::MatrixXd rows = task.at("A").matrix(parameters, "L has rows");
  const Eigen::VectorXd limits = task.at("b").vector(rows.rows(), "A has rows");
  std::vector<std::string> names;
  for (long i = 0; i < rows.rows(); ++i) names.push_back(fmt::format("row {}", i));
  if (task.has("rows")) {
    const Value given = task.at("rows");
    given.list_of(rows.rows(), "A has rows");
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = given.at(i).text();
  }
  if (rows.rows() == 0) return SafeSet(static_cast<int>(parameters));
  return {rows, limits, names, slack_limit};
}

Eigen::VectorXd read_anchor(const Value& task, const SafeSet& set) {
  if (task.has("anchor")) {
    const Value given = task.at("anchor");
    Eigen::VectorXd anchor = given.vector(set.parameters(), "L has rows");
    const Margins room = margins(set, anchor);
    if (room.worst() > 0) return anchor;
    const int row = room.worst_row();
    const bool row_is_worst = row >= 0 && !(room.rows[row] > 0);
    given.rule(false, row_is_worst ? fmt::format("must be strictly safe, but {} is not obeyed with "
                                                 "a margin: {}",
                                                 set.name(row), room.rows[row])
                                   : fmt::format("must have a slack shorter than c_max = {}",
                                                 set.slack_limit()));
  }
  const Anchor found = choose_anchor(set);
  if (found.source == AnchorSource::none) {
    throw InvalidInput(task.path, task.at("name").text(), found.feasibility.message());
  }
  return found.parameters;
}

// So that an error of a part says which task it is about.
template <class Function>
auto for_task(const std::string& path, Function function) {
  try {
    return function();
  } catch (const InvalidInput& error) {
    const bool has_path = error.field().rfind(path, 0) == 0;
    throw InvalidInput(has_path ? error.field() : fmt::format("{}.{}", path, error.field()),
                       error.value(), error.rule());
  }
}

Json to_json(const Eigen::Ref<const Eigen::VectorXd>& vector) {
  Json list = Json::array();
  for (const double value : vector) list.push_back(value);
  return list;
}

}  // namespace

ProjectionProblem read_projection_problem(std::string_view json) {
  const Json parsed = parse(json);
  const Value input{parsed, ""};
  input.only({"p", "q", "mu1", "mu2", "c_max", "L", "tasks"});
  ProjectionProblem problem;
  problem.p = input.at("p").number();
  problem.q = input.at("q").number();
  problem.mu1 = input.at("mu1").number();
  problem.mu2 = input.at("mu2").number();
  double slack_limit = kInfinity;
  if (input.has("c_max")) {
    slack_limit = input.at("c_max").number();
    require_positive("c_max", slack_limit);
  }
  const Value basis = input.at("L");
  basis.list();
  basis.rule(basis.size() > 0, "must have at least one row");
  basis.at(0).list();
  problem.basis = basis.matrix(basis.at(0).size(), "L[0]");
  const long k = problem.basis.cols();
  basis.rule(k >= 1 && k <= problem.basis.rows(), "must have at least as many rows as columns");

  const Value tasks = input.at("tasks");
  tasks.list();
  problem.coefficients.resize(k, tasks.size());
  for (long t = 0; t < tasks.size(); ++t) {
    const Value task = tasks.at(static_cast<std::size_t>(t));
    task.only({"name", "A", "b", "rows", "anchor", "s"});
    problem.names.push_back(task.at("name").text());
    problem.coefficients.col(t) = task.at("s").vector(k, "L has columns");
    problem.has_row_names.push_back(task.has("rows"));
    for_task(task.path, [&] {
      problem.safe_sets.push_back(read_safe_set(task, problem.basis.rows(), slack_limit));
      problem.anchors.push_back(read_anchor(task, problem.safe_sets.back()));
    });
  }
  return problem;
}

bool ProjectionSolution::ok() const {
  return verified &&
         (status == ProjectionStatus::converged || status == ProjectionStatus::alternation_limit);
}

ProjectionSolution solve_projection_problem(const ProjectionProblem& problem,
                                            const ProjectionProblemSettings& settings) {
  require(settings.mode != ProjectionMode::none, "mode", "none", "must be exact or paper");
  ProjectionSettings projection_settings;
  projection_settings.mode = settings.mode;
  projection_settings.p = problem.p;
  projection_settings.q = problem.q;
  projection_settings.mu1 = problem.mu1;
  projection_settings.mu2 = problem.mu2;
  projection_settings.max_alternations = settings.max_alternations;
  projection_settings.objective_tolerance = settings.objective_tolerance;
  projection_settings.descend = true;
  Projection projection(projection_settings);
  std::vector<ProjectionTask> tasks;
  for (std::size_t t = 0; t < problem.safe_sets.size(); ++t) {
    const SafeSet& set = problem.safe_sets[t];
    for_task(indexed("tasks", static_cast<long>(t)), [&] {
      tasks.emplace_back(set.coefficients(), set.limits(), problem.anchors[t], set.slack_limit());
    });
  }
  // An unsafe last point is repaired: that is the nearest S for L̃ with its spectrum limited.
  const ProjectionResult& result = projection.project(tasks, problem.basis, problem.coefficients,
                                                      problem.basis, problem.coefficients);

  ProjectionSolution solution;
  solution.status = result.status;
  solution.objective = result.objective;
  solution.alternations = result.alternations;
  solution.basis = result.basis;
  solution.coefficients = result.coefficients;
  solution.seconds = result.seconds;
  const auto start = std::chrono::steady_clock::now();
  const SafetyView view{solution.basis,  solution.coefficients,
                        problem.anchors, problem.safe_sets,
                        problem.p,       problem.q};
  solution.certificate = certify(view);
  solution.verified =
      solution.certificate.valid() && check_certificate(view, solution.certificate).empty();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  solution.check_seconds = elapsed.count();
  return solution;
}

std::string write_projection_solution(const ProjectionProblem& problem,
                                      const ProjectionSolution& solution) {
  Json out;
  out["status"] = solution.verified ? to_string(solution.status) : "not_verified";
  out["objective"] = solution.objective;
  out["alternations"] = solution.alternations;
  out["L"] = Json::array();
  for (Eigen::Index i = 0; i < solution.basis.rows(); ++i) {
    out["L"].push_back(to_json(solution.basis.row(i).transpose()));
  }
  out["tasks"] = Json::array();
  for (std::size_t t = 0; t < problem.safe_sets.size(); ++t) {
    const TaskCertificate& proven = solution.certificate.tasks[t];
    const auto column = solution.coefficients.col(static_cast<Eigen::Index>(t));
    Json task;
    task["name"] = problem.names[t];
    task["s"] = to_json(column);
    task["alpha"] = to_json(policy_parameters(solution.basis, problem.anchors[t], column).value);
    task["anchor"] = to_json(problem.anchors[t]);
    if (proven.worst_row < 0) {
      task["worst_row"] = nullptr;
    } else if (problem.has_row_names[t]) {
      task["worst_row"] = proven.worst_row_name;
    } else {
      task["worst_row"] = proven.worst_row;
    }
    task["margin"] = proven.row_margin;
    if (problem.safe_sets[t].has_slack_limit()) task["slack_margin"] = proven.slack_margin;
    out["tasks"].push_back(task);
  }
  out["seconds"] = solution.seconds;
  out["check_seconds"] = solution.check_seconds;
  return out.dump(2);
}

}  // namespace lifeguard
