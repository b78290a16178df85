#include "lifeguard/runs/projection_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/json_input.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/solve/projection.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::json;
// Keeps the order of keys, which is the order of the output.
using OrderedJson = nlohmann::ordered_json;

constexpr double kSmallest = 1e-30;
constexpr double kLargest = 1e30;
constexpr long kMostNumbers = 40'000;   // in L
constexpr long kMostPaperColumns = 48;  // the program has some 2300 equations then

/// A part of the input and where it is: "tasks[2].A[0]".
struct Value {
  const Json& json;
  std::string path;

  void rule(bool holds, std::string_view text) const {
    if (!holds) throw InvalidInput(path.empty() ? "input" : path, shown(json), text);
  }
  Value at(std::string_view key) const {
    const std::string where = path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
    require(json.contains(key), where, "nothing", "must be given");
    return {json.at(std::string(key)), where};
  }
  Value at(long index) const {
    return {json[static_cast<std::size_t>(index)], indexed(path, index)};
  }
  bool has(std::string_view key) const { return json.contains(key); }
  long size() const { return static_cast<long>(json.size()); }

  void only(std::initializer_list<std::string_view> keys) const {
    rule(json.is_object(), "must be an object");
    for (const auto& [key, ignored] : json.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw InvalidInput(path.empty() ? "key" : path + " key", shown(std::string_view(key)),
                         fmt::format("is not known; known are {}", fmt::join(keys, ", ")));
    }
  }
  double number() const {
    rule(json.is_number(), "must be a number");
    const auto value = json.get<double>();
    const double magnitude = std::fabs(value);
    rule(value == 0 || (magnitude >= kSmallest && magnitude <= kLargest),
         "must be 0 or have a magnitude from 1e-30 to 1e30");
    return value;
  }
  double positive_number() const {
    const double value = number();
    rule(value > 0, "must be greater than 0");
    return value;
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
    throw InvalidInput(path, fmt::format("{} {}", size(), size() == 1 ? "entry" : "entries"),
                       fmt::format("must have {} {}, as many as {}", count,
                                   count == 1 ? "entry" : "entries", as_many_as));
  }
  Eigen::VectorXd vector(long count, std::string_view as_many_as) const {
    list_of(count, as_many_as);
    Eigen::VectorXd result(count);
    for (long i = 0; i < count; ++i) result[i] = at(i).number();
    return result;
  }
  Eigen::MatrixXd matrix(long columns, std::string_view as_many_as) const {
    list();
    Eigen::MatrixXd result(size(), columns);
    for (long i = 0; i < size(); ++i) {
      result.row(i) = at(i).vector(columns, as_many_as).transpose();
    }
    return result;
  }
  /// Strings that differ from each other.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    std::set<std::string> seen;
    for (long i = 0; i < size(); ++i) {
      result.push_back(at(i).text());
      at(i).rule(seen.insert(result.back()).second, "must differ from the names before it");
    }
    return result;
  }
};

Eigen::MatrixXd read_basis(const Value& basis) {
  basis.list();
  basis.rule(basis.size() > 0, "must have at least one row");
  basis.at(0).list();
  const long columns = basis.at(0).size();
  basis.rule(columns >= 1 && columns <= basis.size(), "must have at least as many rows as columns");
  if (basis.size() > kMostNumbers / columns) {
    throw InvalidInput(basis.path, fmt::format("{} x {}", basis.size(), columns),
                       fmt::format("must have at most {} numbers", kMostNumbers));
  }
  return basis.matrix(columns, "L[0]");
}

/// [I; K]ᵀ theta [I; K] ⪯ limit, as the path of the inequality says what is wrong with it.
SafeSet with_inequalities(const SafeSet& set, const Value& list) {
  list.list();
  std::vector<GainInequality> inequalities;
  for (long i = 0; i < list.size(); ++i) {
    const Value given = list.at(i);
    given.only({"name", "theta", "limit"});
    given.at("theta").list();
    given.at("limit").list();
    try {
      inequalities.emplace_back(
          given.at("name").text(),
          given.at("theta").matrix(given.at("theta").size(), "theta has rows"),
          given.at("limit").matrix(given.at("limit").size(), "limit has rows"));
      if (i == 0) static_cast<void>(set.with_inequalities(inequalities));
    } catch (const InvalidInput& error) {
      if (error.field().starts_with(list.path)) throw;
      throw InvalidInput(fmt::format("{}: {}", given.path, error.field()), error.value(),
                         error.rule());
    }
  }
  return set.with_inequalities(inequalities);
}

SafeSet read_safe_set(const Value& task, long parameters, double slack_limit) {
  const Value given_rows = task.at("A");
  const Eigen::MatrixXd rows = given_rows.matrix(parameters, "L has rows");
  for (long i = 0; i < rows.rows(); ++i) {
    given_rows.at(i).rule((rows.row(i).array() != 0).any(), "must have an entry that is not 0");
  }
  const Eigen::VectorXd limits = task.at("b").vector(rows.rows(), "A has rows");
  std::vector<std::string> names;
  if (task.has("rows")) {
    const Value given = task.at("rows");
    given.list_of(rows.rows(), "A has rows");
    names = given.names();
  } else {
    for (long i = 0; i < rows.rows(); ++i) names.push_back(fmt::format("row {}", i));
  }
  const SafeSet set = rows.rows() == 0 ? SafeSet(static_cast<int>(parameters))
                                       : SafeSet(rows, limits, names, slack_limit);
  return task.has("inequalities") ? with_inequalities(set, task.at("inequalities")) : set;
}

Eigen::VectorXd read_anchor(const Value& task, const SafeSet& set, const Deadline& deadline) {
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
  const Anchor found = choose_anchor(set, {}, deadline);
  if (found.feasibility.status == FeasibilityStatus::out_of_time) {
    throw std::runtime_error(fmt::format(
        "{}: no strictly safe anchor was found before the time was over; give an anchor, or more "
        "time",
        task.path));
  }
  if (found.source == AnchorSource::none) {
    throw InvalidInput(task.path, shown(task.at("name").json), found.feasibility.message());
  }
  return found.parameters;
}

/// The projection's own checks speak of rows and limits; whoever wrote the input knows A and b.
ProjectionTask projection_task(const ProjectionProblem& problem, long t) {
  const SafeSet& set = problem.safe_sets[static_cast<std::size_t>(t)];
  try {
    return {set, problem.target.anchors.col(t)};
  } catch (const InvalidInput& error) {
    std::string field = error.field();
    if (field.rfind("limits", 0) == 0) field.replace(0, 6, "b");
    if (field == "slack_limit") throw InvalidInput("c_max", error.value(), error.rule());
    throw InvalidInput(fmt::format("{}.{}", indexed("tasks", t), field), error.value(),
                       error.rule());
  }
}

OrderedJson to_json(const Eigen::Ref<const Eigen::VectorXd>& vector) {
  OrderedJson list = OrderedJson::array();
  for (const double value : vector) list.push_back(value);
  return list;
}

std::vector<Eigen::VectorXd> columns_of(const Eigen::MatrixXd& matrix) {
  std::vector<Eigen::VectorXd> columns;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) columns.emplace_back(matrix.col(j));
  return columns;
}

}  // namespace

ProjectionProblem read_projection_problem(std::string_view json, const Deadline& deadline) {
  const Json parsed = parse_json(json);
  const Value input{parsed, ""};
  input.only({"p", "q", "mu1", "mu2", "c_max", "L", "tasks"});
  ProjectionProblem problem;
  problem.p = input.at("p").positive_number();
  problem.q = input.at("q").positive_number();
  problem.mu1 = input.at("mu1").positive_number();
  problem.mu2 = input.at("mu2").positive_number();
  input.at("q").rule(problem.q > problem.p, "must be greater than p");
  double slack_limit = kInfinity;
  if (input.has("c_max")) slack_limit = input.at("c_max").positive_number();
  problem.target.basis = read_basis(input.at("L"));
  const long d = problem.target.basis.rows();
  const long k = problem.target.basis.cols();

  const Value tasks = input.at("tasks");
  tasks.list();
  problem.target.coefficients.resize(k, tasks.size());
  problem.target.anchors.resize(d, tasks.size());
  std::set<std::string> names;
  for (long t = 0; t < tasks.size(); ++t) {
    const Value task = tasks.at(t);
    task.only({"name", "A", "b", "rows", "inequalities", "anchor", "s"});
    problem.names.push_back(task.at("name").text());
    task.at("name").rule(names.insert(problem.names.back()).second,
                         "must differ from the names of the tasks before it");
    problem.target.coefficients.col(t) = task.at("s").vector(k, "L has columns");
    problem.has_row_names.push_back(task.has("rows"));
    problem.safe_sets.push_back(read_safe_set(task, d, slack_limit));
    problem.target.anchors.col(t) = read_anchor(task, problem.safe_sets.back(), deadline);
  }
  return problem;
}

bool ProjectionSolution::ok() const {
  return verified &&
         (status == ProjectionStatus::converged || status == ProjectionStatus::alternation_limit ||
          status == ProjectionStatus::time_limit || status == ProjectionStatus::too_large);
}

ProjectionSolution solve_projection_problem(const ProjectionProblem& problem,
                                            const ProjectionProblemSettings& settings) {
  require(settings.mode != ProjectionMode::none, "mode", "none", "must be exact or paper");
  require(
      settings.mode == ProjectionMode::exact || problem.target.basis.cols() <= kMostPaperColumns,
      "L", fmt::format("{} columns", problem.target.basis.cols()),
      fmt::format("must have at most {} in mode paper", kMostPaperColumns));
  require(settings.seconds >= 0, "seconds", settings.seconds, "must not be negative");
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
  for (long t = 0; t < problem.target.tasks(); ++t) tasks.push_back(projection_task(problem, t));
  // An unsafe last point is repaired: that is the nearest S for L̃ with its spectrum limited.
  const ProjectionResult& result = projection.project(
      {tasks, Deadline::after(settings.seconds, settings.stop)}, problem.target, problem.target);

  ProjectionSolution solution;
  solution.status = result.status;
  solution.objective = result.objective;
  solution.alternations = result.alternations;
  solution.knowledge = result.knowledge;
  solution.seconds = result.seconds;
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Eigen::VectorXd> anchors = columns_of(solution.knowledge.anchors);
  const SafetyView view{solution.knowledge.basis,
                        solution.knowledge.coefficients,
                        anchors,
                        problem.safe_sets,
                        problem.p,
                        problem.q};
  solution.certificate = certify(view);
  solution.verified =
      solution.certificate.valid() && check_certificate(view, solution.certificate).empty();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  solution.check_seconds = elapsed.count();
  return solution;
}

std::string write_projection_solution(const ProjectionProblem& problem,
                                      const ProjectionSolution& solution) {
  const Knowledge& knowledge = solution.knowledge;
  OrderedJson out;
  out["status"] = solution.verified ? to_string(solution.status) : "not_verified";
  out["objective"] = solution.objective;
  out["alternations"] = solution.alternations;
  OrderedJson& basis = out["L"] = OrderedJson::array();
  for (Eigen::Index i = 0; i < knowledge.basis.rows(); ++i) {
    basis.push_back(to_json(knowledge.basis.row(i).transpose()));
  }
  OrderedJson tasks = OrderedJson::array();
  for (std::size_t t = 0; t < problem.safe_sets.size(); ++t) {
    const TaskCertificate& proven = solution.certificate.tasks[t];
    const auto column = static_cast<Eigen::Index>(t);
    const PolicyParameters alpha = policy_parameters(knowledge.basis, knowledge.anchors.col(column),
                                                     knowledge.coefficients.col(column));
    OrderedJson task;
    task["name"] = problem.names[t];
    task["s"] = to_json(knowledge.coefficients.col(column));
    task["alpha"] = to_json(alpha.value);
    task["anchor"] = to_json(knowledge.anchors.col(column));
    if (proven.worst_row < 0) {
      task["worst_row"] = nullptr;
    } else if (problem.has_row_names[t] || proven.worst_row >= problem.safe_sets[t].rows()) {
      task["worst_row"] = proven.worst_row_name;
    } else {
      task["worst_row"] = proven.worst_row;
    }
    task["margin"] = proven.row_margin;
    if (problem.safe_sets[t].has_slack_limit()) task["slack_margin"] = proven.slack_margin;
    tasks.push_back(std::move(task));
  }
  out["tasks"] = std::move(tasks);
  out["seconds"] = solution.seconds;
  out["check_seconds"] = solution.check_seconds;
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lifeguard
