#include "lifeguard/report/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_run.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;
using Snapshots = std::vector<const RunSnapshot*>;

/// Rows of several runs by round: a round counts if every run has it.
template <typename Row>
std::vector<std::vector<const Row*>> rows_in_all(const Snapshots& runs,
                                                 std::vector<Row> RunSnapshot::*rows) {
  std::map<long, std::vector<const Row*>> by_round;
  for (const RunSnapshot* run : runs) {
    for (const Row& row : run->*rows) by_round[row.round].push_back(&row);
  }
  std::vector<std::vector<const Row*>> result;
  for (auto& [round, of_runs] : by_round) {
    if (of_runs.size() == runs.size()) result.push_back(std::move(of_runs));
  }
  return result;
}

/// The curve of the mean and its interval over runs, for each named quantity of a row.
template <typename Row>
Json mean_curve(const Snapshots& runs, std::vector<Row> RunSnapshot::*rows, long since,
                const std::vector<std::pair<std::string, double (*)(const Row&)>>& quantities) {
  const auto common = rows_in_all(runs, rows);
  std::size_t first = 0;
  while (first < common.size() && common[first].front()->round <= since) ++first;
  Json curve;
  curve["rounds"] = Json::array();
  for (const auto& [name, value] : quantities) {
    curve[name] = Json::array();
    curve[name + "_ci95"] = Json::array();
  }
  for (const std::size_t i : thinned(first, common.size(), kReportPoints)) {
    curve["rounds"].push_back(common[i].front()->round);
    for (const auto& [name, value] : quantities) {
      std::vector<double> values;
      for (const Row* row : common[i]) values.push_back(value(*row));
      const MeanInterval over_runs = mean_interval(values);
      curve[name].push_back(over_runs.mean);
      curve[name + "_ci95"].push_back(over_runs.ci95);
    }
  }
  return curve;
}

Json method_json(const std::string& name, const Snapshots& runs, long since) {
  Json json;
  json["name"] = name;
  json["seeds"] = runs.size();
  json["cost"] = mean_curve<StoredEvaluation>(
      runs, &RunSnapshot::evaluations, since,
      {{"mean", [](const StoredEvaluation& e) { return e.costs.mean(); }}});
  const bool regret =
      std::all_of(runs.begin(), runs.end(), [](const auto* run) { return !run->regrets.empty(); });
  if (regret) {
    json["regret"] = mean_curve<StoredRegret>(
        runs, &RunSnapshot::regrets, since,
        {{"surrogate", [](const StoredRegret& r) { return r.surrogate; }},
         {"true_cost", [](const StoredRegret& r) { return r.true_cost; }}});
  }
  return json;
}

Json run_json(const RunSnapshot& run) {
  Json json;
  json["file"] = run.file;
  json["method"] = run.header.method;
  json["seed"] = run.header.config.seed;
  json["version"] = run.header.lifeguard_version;
  json["finished"] = run.header.finished;
  json["rounds_done"] = run.header.rounds_done;
  json["rounds_planned"] = run.header.config.rounds;
  long unsafe = 0;
  double rollout_seconds = 0;
  double learn_seconds = 0;
  for (const StoredRound& round : run.rounds) {
    unsafe += round.unsafe;
    rollout_seconds += round.rollout_seconds;
    learn_seconds += round.learn_seconds;
  }
  json["unsafe_policies"] = unsafe;
  json["policies"] = run.header.config.tasks * run.header.rounds_done;
  json["rollout_seconds"] = rollout_seconds;
  json["learn_seconds"] = learn_seconds;
  if (!run.evaluations.empty()) {
    json["first_cost"] = run.evaluations.front().costs.mean();
    json["last_cost"] = run.evaluations.back().costs.mean();
    const double margin = run.evaluations.back().margins.minCoeff();
    if (std::isfinite(margin)) json["least_margin"] = margin;
  }
  if (!run.rounds.empty() && !run.rounds.back().worst_row.empty()) {
    json["worst_task"] = run.rounds.back().worst_task;
    json["worst_row"] = run.rounds.back().worst_row;
  }
  return json;
}

Json experiment_json(const std::string& name, const Snapshots& runs, long since) {
  // Methods in the order of the configuration, then the others as they come.
  std::vector<std::string> labels = runs.front()->header.config.methods;
  for (const RunSnapshot* run : runs) {
    if (std::find(labels.begin(), labels.end(), run->header.method) == labels.end()) {
      labels.push_back(run->header.method);
    }
  }
  Json json;
  json["name"] = name;
  json["family"] = runs.front()->header.config.family.name;
  json["methods"] = Json::array();
  json["runs"] = Json::array();
  for (const std::string& label : labels) {
    Snapshots of_method;
    for (const RunSnapshot* run : runs) {
      if (run->header.method == label) of_method.push_back(run);
    }
    if (of_method.empty()) continue;
    std::stable_sort(of_method.begin(), of_method.end(), [](const auto* a, const auto* b) {
      return a->header.config.seed < b->header.config.seed;
    });
    json["methods"].push_back(method_json(label, of_method, since));
    for (const RunSnapshot* run : of_method) {
      Json entry = run_json(*run);
      if (run == of_method.front()) describe_run(*run, since, entry);
      json["runs"].push_back(std::move(entry));
    }
  }
  return json;
}

}  // namespace

Json report_of(const Snapshots& runs, long since) {
  std::vector<std::string> names;  // of experiments, as they come
  for (const RunSnapshot* run : runs) {
    const std::string& name = run->header.config.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  Json json;
  json["version"] = kVersion;
  if (since >= 0) json["since"] = since;
  json["experiments"] = Json::array();
  for (const std::string& name : names) {
    Snapshots of_experiment;
    for (const RunSnapshot* run : runs) {
      if (run->header.config.name == name) of_experiment.push_back(run);
    }
    json["experiments"].push_back(experiment_json(name, of_experiment, since));
  }
  return json;
}

Json report_data(const std::vector<std::filesystem::path>& paths, long since) {
  require(!paths.empty(), "runs", "", "must name at least one run file");
  std::vector<RunSnapshot> runs;
  for (const std::filesystem::path& path : paths) runs.emplace_back(RunReader(path));
  Snapshots pointers;
  for (const RunSnapshot& run : runs) pointers.push_back(&run);
  return report_of(pointers, since);
}

}  // namespace lifeguard
