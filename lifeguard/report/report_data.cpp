#include "lifeguard/report/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/chart_json.hpp"
#include "lifeguard/report/charts.hpp"
#include "lifeguard/report/rows_in_all.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/systems/signal_text.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Views = std::vector<const RunView*>;

OrderedJson method_json(const MethodRuns& method) {
  OrderedJson json;
  json["name"] = method.name;
  json["seeds"] = method.runs.size();
  const auto common = rows_in_all(method.runs, &RunView::evaluations);
  if (common.empty()) return json;
  const auto cost = [](const std::vector<const StoredEvaluation*>& of_runs) {
    std::vector<double> costs;
    for (const StoredEvaluation* evaluation : of_runs) costs.push_back(evaluation->mean_cost());
    return over_seeds(costs);
  };
  json["first_cost"] = cost(common.front()).median;
  const OverSeeds last = cost(common.back());
  json["last_cost"] = last.median;
  json["last_cost_low"] = last.low;
  json["last_cost_high"] = last.high;
  return json;
}

OrderedJson run_json(const RunView& run) {
  const StoredExperiment& experiment = run.header.experiment;
  OrderedJson json;
  json["file"] = run.file;
  json["method"] = experiment.method;
  json["seed"] = experiment.seed;
  json["version"] = run.header.lifeguard_version;
  json["finished"] = run.header.finished;
  json["rounds_done"] = run.header.rounds_done;
  // A fleet that learns from outside has no last round.
  json["rounds_planned"] = run.header.observed ? run.header.rounds_done : experiment.rounds;
  long unsafe = 0;
  long fallbacks = 0;
  double rollout_seconds = 0;
  double learn_seconds = 0;
  for (const StoredRound& round : run.rounds) {
    unsafe += round.unsafe;
    fallbacks += round.fallbacks;
    rollout_seconds += round.rollout_seconds;
    learn_seconds += round.learn_seconds;
  }
  json["unsafe_policies"] = unsafe;
  json["policies"] = run.header.observed ? static_cast<long>(run.issues.size())
                                         : experiment.tasks * run.header.rounds_done;
  json["fallbacks"] = fallbacks;
  json["rollout_seconds"] = rollout_seconds;
  json["learn_seconds"] = learn_seconds;
  if (!run.evaluations.empty()) {
    json["first_cost"] = run.evaluations.front().mean_cost();
    json["last_cost"] = run.evaluations.back().mean_cost();
    const double margin = run.evaluations.back().margins.minCoeff();
    if (std::isfinite(margin)) json["least_margin"] = margin;
  }
  if (!run.rounds.empty() && !run.rounds.back().worst_row.empty()) {
    json["worst_task"] = run.rounds.back().worst_task;
    json["worst_row"] = run.rounds.back().worst_row;
    const auto worst = static_cast<std::size_t>(run.rounds.back().worst_task);
    if (worst < run.tasks.size()) {
      const std::string meaning = row_meaning(run.rounds.back().worst_row,
                                              describe(run.tasks[worst].system), run.features());
      if (!meaning.empty()) json["worst_row_meaning"] = meaning;
    }
  }
  return json;
}

/// What a report says of an experiment, and what its charts are made from.
struct DescribedExperiment {
  OrderedJson json;
  ChartSource charts;
};

DescribedExperiment describe_experiment(const std::string& name, const Views& runs, long since) {
  // Methods in the order of the configuration, then the others as they come.
  std::vector<std::string> labels = runs.front()->methods;
  for (const RunView* run : runs) {
    if (std::find(labels.begin(), labels.end(), run->header.experiment.method) == labels.end()) {
      labels.push_back(run->header.experiment.method);
    }
  }
  DescribedExperiment experiment;
  experiment.charts.since = since;
  OrderedJson& json = experiment.json;
  json["name"] = name;
  json["family"] = runs.front()->header.experiment.family;
  json["methods"] = OrderedJson::array();
  json["runs"] = OrderedJson::array();
  for (const std::string& label : labels) {
    Views of_method;
    for (const RunView* run : runs) {
      if (run->header.experiment.method == label) of_method.push_back(run);
    }
    if (of_method.empty()) continue;
    std::stable_sort(of_method.begin(), of_method.end(), [](const auto* a, const auto* b) {
      return a->header.experiment.seed < b->header.experiment.seed;
    });
    experiment.charts.methods.push_back({label, of_method});
    json["methods"].push_back(method_json(experiment.charts.methods.back()));
    for (const RunView* run : of_method) {
      OrderedJson entry = run_json(*run);
      if (run == of_method.front()) {
        experiment.charts.details.push_back(describe_run(*run, since, entry));
      }
      json["runs"].push_back(std::move(entry));
    }
  }
  return experiment;
}

/// Calls `use` with the name and the runs of each experiment, in the order they come.
template <typename Use>
void for_each_experiment(const Views& runs, const Use& use) {
  std::vector<std::string> names;
  for (const RunView* run : runs) {
    const std::string& name = run->header.experiment.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const std::string& name : names) {
    Views of_experiment;
    for (const RunView* run : runs) {
      if (run->header.experiment.name == name) of_experiment.push_back(run);
    }
    use(name, of_experiment);
  }
}

std::vector<RunView> read_runs(const std::vector<std::filesystem::path>& paths) {
  require(!paths.empty(), "runs", "", "must name at least one run file");
  std::vector<RunView> runs;
  for (const std::filesystem::path& path : paths) runs.emplace_back(path);
  return runs;
}

Views pointers_to(const std::vector<RunView>& runs) {
  Views pointers;
  for (const RunView& run : runs) pointers.push_back(&run);
  return pointers;
}

}  // namespace

OrderedJson report_of(const Views& runs, long since) {
  OrderedJson json;
  json["version"] = kVersion;
  if (since >= 0) {
    json["since"] = since;
  } else {
    json["palette"] = palette_to_json();
  }
  json["experiments"] = OrderedJson::array();
  for_each_experiment(runs, [&](const std::string& name, const Views& of_experiment) {
    DescribedExperiment experiment = describe_experiment(name, of_experiment, since);
    experiment.json["charts"] = charts_to_json(charts_of(experiment.charts), since < 0);
    json["experiments"].push_back(std::move(experiment.json));
  });
  return json;
}

OrderedJson report_data(const std::vector<std::filesystem::path>& paths, long since) {
  const std::vector<RunView> runs = read_runs(paths);
  return report_of(pointers_to(runs), since);
}

std::vector<ExperimentCharts> report_charts(const std::vector<std::filesystem::path>& paths) {
  const std::vector<RunView> runs = read_runs(paths);
  std::vector<ExperimentCharts> result;
  for_each_experiment(pointers_to(runs), [&](const std::string& name, const Views& of_experiment) {
    const ChartSource source = describe_experiment(name, of_experiment, -1).charts;
    ExperimentCharts& experiment = result.emplace_back();
    experiment.name = name;
    experiment.charts = charts_of(source);
    for (const RunDetails& details : source.details) {
      experiment.worst_tasks[details.run->header.experiment.method] =
          static_cast<int>(details.worst_task());
    }
  });
  return result;
}

}  // namespace lifeguard
