#include "lifeguard/runs/run.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/seed.hpp"
#include "cli/page.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/report/chart_json.hpp"
#include "lifeguard/report/chart_svg.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/comparison.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard::python {
namespace {

using Path = std::filesystem::path;
using Paths = std::vector<Path>;

/// A value of a table's row as Python sees it.
nb::object cell_object(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return nb::int_(*whole);
  if (const auto* number = std::get_if<double>(&cell)) return nb::float_(*number);
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    return nb::str(text->data(), text->size());
  }
  if (const auto* bytes = std::get_if<std::span<const std::byte>>(&cell)) {
    return nb::bytes(bytes->data(), bytes->size());
  }
  return nb::float_(kNaN);
}

/// Rows as columns by name, as the file's own description of the table has them.
template <class Row>
nb::dict columns_of(const std::vector<Row>& rows, const Table<Row>& table) {
  nb::dict result;
  for (const Column<Row>& column : table.columns) {
    nb::list values;
    for (const Row& row : rows) values.append(cell_object(column.get(row)));
    result[nb::str(column.name.data(), column.name.size())] = values;
  }
  return result;
}

/// Lists of numbers as arrays, not as bytes.
nb::list vectors(const auto& rows, const auto& get) {
  nb::list result;
  for (const auto& row : rows) result.append(nb::cast(Eigen::VectorXd(get(row))));
  return result;
}

/// What a run file holds, by name, as plain values.
nb::dict run_to_dict(const Path& path) {
  std::optional<RunView> read;
  {
    const nb::gil_scoped_release release;
    read.emplace(path);
  }
  const RunView& run = *read;
  nb::dict header;
  header["file"] = run.file;
  header["name"] = run.header.experiment.name;
  header["family"] = run.header.experiment.family;
  header["method"] = run.header.experiment.method;
  header["seed"] = run.header.experiment.seed;
  header["rounds"] = run.header.experiment.rounds;
  header["rounds_done"] = run.header.rounds_done;
  header["finished"] = run.header.finished;
  header["trajectories"] = run.header.experiment.trajectories;
  header["steps"] = run.header.experiment.steps;
  header["lifeguard_version"] = run.header.lifeguard_version;
  header["config"] = run.header.config_text;
  nb::dict settings;
  for (const auto& [key, value] : run.settings) settings[nb::cast(key)] = value;

  nb::dict rounds = columns_of(run.rounds, table_of<StoredRound>());
  rounds["played"] = vectors(run.rounds, [](const StoredRound& r) { return r.played; });
  for (const auto& [key, values] : columns_of(run.rounds, times_table())) rounds[key] = values;
  nb::list names;
  for (const Task& task : run.tasks) names.append(task.name);

  nb::dict evaluations;
  evaluations["round"] = nb::list();
  evaluations["mean_cost"] = nb::list();
  for (const StoredEvaluation& e : run.evaluations) {
    nb::cast<nb::list>(evaluations["round"]).append(e.round);
    nb::cast<nb::list>(evaluations["mean_cost"]).append(e.mean_cost());
  }
  evaluations["costs"] =
      vectors(run.evaluations, [](const StoredEvaluation& e) { return e.costs; });
  evaluations["margins"] =
      vectors(run.evaluations, [](const StoredEvaluation& e) { return e.margins; });

  nb::dict certificates = columns_of(run.certificates, table_of<StoredCertificate>());
  certificates["margins"] =
      vectors(run.certificates, [](const StoredCertificate& c) { return c.margins; });
  certificates["spectrum"] =
      vectors(run.certificates, [](const StoredCertificate& c) { return c.spectrum; });
  nb::list worst;
  for (const StoredCertificate& c : run.certificates) worst.append(nb::cast(c.worst_rows));
  certificates["worst_rows"] = worst;

  nb::dict result;
  result["header"] = header;
  result["settings"] = settings;
  result["task_names"] = names;
  result["tasks"] = nb::cast(run.tasks);
  nb::list sets;
  for (int t = 0; t < static_cast<int>(run.tasks.size()); ++t) sets.append(run.safe_set(t));
  result["safe_sets"] = sets;
  result["rounds"] = rounds;
  result["evaluations"] = evaluations;
  result["certificates"] = certificates;
  result["regrets"] = columns_of(run.regrets, table_of<StoredRegret>());
  result["first_policies"] = Eigen::MatrixXd(run.first_policies);
  result["policies"] = Eigen::MatrixXd(run.policies);
  result["certificate"] = run.certificate_json;
  return result;
}

/// How a run is watched from Python.
RunOptions options_of(Interrupt& interrupt, const nb::object& on_round) {
  RunOptions options;
  options.work.stop = interrupt.token();
  options.warn = [&interrupt](const std::string& text) {
    interrupt.call([&] {
      nb::module_::import_("warnings").attr("warn")(text);
      return true;
    });
  };
  options.after_round = [&interrupt, &on_round](const Run& /*run*/, const RoundOutcome& outcome) {
    if (interrupt.token().stop_requested()) return false;
    if (on_round.is_none()) return true;
    return interrupt.call([&] {
      nb::dict told;
      told["round"] = outcome.round.round;
      told["task"] = outcome.round.task;
      told["status"] = to_string(outcome.round.status);
      told["observed_cost"] = outcome.round.mean_cost;
      told["worst_margin"] = outcome.round.worst_margin;
      told["falls"] = outcome.round.falls;
      told["mean_cost"] =
          outcome.evaluation ? nb::cast(outcome.evaluation->mean_cost()) : nb::none();
      const nb::object answer = on_round(told);
      return answer.is_none() || nb::cast<bool>(nb::bool_(answer));
    });
  };
  return options;
}

std::string summary_json(const RunSummary& summary) { return summary_to_json(summary).dump(); }

bool run_to_file(const ExperimentConfig& config, const Path& path, const nb::object& on_round,
                 double commit_seconds) {
  Interrupt interrupt;
  RunOptions options = options_of(interrupt, on_round);
  options.commit_seconds = commit_seconds;
  const RunStatus status = interrupt.run([&] {
    return start_run(configuration_of(config, config.method, config.seed), path, options);
  });
  interrupt.raise_kept();
  return status == RunStatus::finished;
}

bool resumed(const Path& path, const nb::object& on_round, double commit_seconds) {
  Interrupt interrupt;
  RunOptions options = options_of(interrupt, on_round);
  options.commit_seconds = commit_seconds;
  const RunStatus status = interrupt.run([&] { return resume_run(path, options); });
  interrupt.raise_kept();
  return status == RunStatus::finished;
}

nb::dict checked(const Path& path, bool replay) {
  Interrupt interrupt;
  CheckOptions options;
  options.replay = replay;
  options.work.stop = interrupt.token();
  const RunCheck check = interrupt.run([&] { return check_run(path, options); });
  nb::dict given;
  given["method"] = check.method;
  given["rounds"] = check.rounds;
  given["policies"] = check.policies;
  given["evaluations"] = check.evaluations;
  given["checksums_checked"] = check.checksums_checked;
  given["certificate_checked"] = check.certificate_checked;
  given["replayed"] = check.replayed;
  given["not_checked"] = check.not_checked;
  given["findings"] = check.findings;
  return given;
}

std::string compared(const ExperimentConfig& config, const Path& folder, int threads) {
  Interrupt interrupt;
  ComparisonOptions options;
  options.folder = folder;
  options.threads = threads;
  options.work.stop = interrupt.token();
  return interrupt.run(
      [&] { return comparison_to_json(config, compare_methods(config, options)).dump(); });
}

/// A chart as the page gets it, but that everything is where it is drawn if nobody chooses other
/// axes: lines with their points, the region as a polygon, boxes with their sides.
std::string drawn_chart(const Chart& chart) {
  nlohmann::ordered_json json = charts_to_json({chart}).front();
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    json["lines"][i]["points"] = points_of(chart, line);
    if (!line.band) continue;
    auto& band = json["lines"][i]["band"] = nlohmann::ordered_json::array();
    for (const auto& row : chart.tables[line.table].values) {
      band.push_back({row[*line.band], row[*line.band + 1]});
    }
  }
  json.erase("tables");
  if (chart.plane) {
    const ChartPlane& plane = *chart.plane;
    if (chart.region) {
      json["region"] = {
          {"legend", chart.region->legend},
          {"colour", palette_entry(chart.region->colour).name},
          {"polygon", cross_section(*chart.region, plane.across, plane.up, plane.view)}};
    }
    for (std::size_t i = 0; i < chart.boxes.size(); ++i) {
      json["boxes"][i]["sides"] = sides_of(chart.boxes[i], plane.across, plane.up, plane.view);
    }
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// (experiment, name, method, task, title, SVG, chart as JSON) of each figure.
using Figure =
    std::tuple<std::string, std::string, std::string, int, std::string, std::string, std::string>;

std::vector<Figure> figures(const Paths& runs, std::optional<int> task) {
  const nb::gil_scoped_release release;
  std::vector<Figure> result;
  for (const ExperimentCharts& experiment : report_charts(runs)) {
    for (const Chart& chart : experiment.charts) {
      const auto worst = experiment.worst_tasks.find(chart.run);
      const int shown = task ? *task : worst == experiment.worst_tasks.end() ? 0 : worst->second;
      if (chart.task >= 0 && chart.task != shown) continue;
      result.emplace_back(experiment.name, chart.name, chart.run, chart.task, chart.title,
                          to_svg(chart, chart.scales.front()), drawn_chart(chart));
    }
  }
  return result;
}

RecordingFormat format_of(const std::string& format) {
  require(format == "csv" || format == "jsonl", "format", format, "must be \"csv\" or \"jsonl\"");
  return format == "csv" ? RecordingFormat::csv : RecordingFormat::json_lines;
}

}  // namespace

void bind_runs(nb::module_& module) {
  module.def(
      "start_run", &run_to_file, "experiment"_a, "path"_a, "on_round"_a = nb::none(),
      "commit_seconds"_a = 0.25,
      "Plays a run into a new file, as `lifeguard run` does, to the same bits. `on_round` is "
      "called with a dictionary after every round; False stops the run, ready to resume. "
      "Ctrl-C does as well. True if the run is finished.");
  module.def("resume_run", &resumed, "path"_a, "on_round"_a = nb::none(), "commit_seconds"_a = 0.25,
             "Goes on with a run that was stopped or killed, to the same bits.");
  module.def(
      "play_json",
      [](const ExperimentConfig& config) {
        Interrupt interrupt;
        RunOptions options;
        options.work.stop = interrupt.token();
        return interrupt.run([&] { return summary_json(play_in_memory(config, options)); });
      },
      "experiment"_a, "Plays a run without a file; its summary as JSON.");
  module.def(
      "summary_json",
      [](const Path& path) {
        const nb::gil_scoped_release release;
        return summary_json(summarise(RunView(path)));
      },
      "path"_a, doc("RunSummary", " As JSON."));
  module.def(
      "compare_json", &compared, "experiment"_a, "folder"_a = Path{}, "threads"_a = 0,
      "Runs every method of the configuration over its seeds; as `lifeguard compare --json`.");
  module.def("read_run", &run_to_dict, "path"_a, "What a run file holds, as plain values.");
  module.def(
      "check_run", &checked, "path"_a, "replay"_a = false,
      doc("check_run",
          "\nThe result has what was looked at, and `findings`, which is empty if all holds. With\n"
          "`replay` the run is played again and compared to the bit."));
  module.def(
      "report_json",
      [](const Paths& runs) {
        const nb::gil_scoped_release release;
        return report_data(runs).dump(-1, ' ', false,
                                      nlohmann::ordered_json::error_handler_t::replace);
      },
      "runs"_a, first("report_data"));
  module.def(
      "report_html",
      [](const Paths& runs) {
        const nb::gil_scoped_release release;
        return page_with(report_data(runs));
      },
      "runs"_a, "The report of some runs as one HTML page that needs no network.");
  module.def(
      "figures", &figures, "runs"_a, "task"_a = nb::none(),
      "The figures of some runs as (experiment, name, method, task, title, SVG, chart), the last "
      "one as JSON, as the page draws it.");
  module.def(
      "palette_json", [] { return palette_to_json().dump(); },
      "The colours of charts as JSON: {name: {light, dark}}.");
  module.def(
      "export_policy_json",
      [](const Path& run, const std::string& task) {
        const nb::gil_scoped_release release;
        return policy_to_json(export_policy(RunView(run), task)).dump();
      },
      "run"_a, "task"_a,
      doc("export_policy", "\nThe result is a policy for a controller, as JSON."));

  nb::class_<FleetRun>(module, "FleetRun", doc("FleetRun"))
      .def(
          "__init__",
          [](FleetRun* self, const ExperimentConfig& fleet, const Path& run_file) {
            // Closed-loop sets may take their time, and ask own systems.
            const nb::gil_scoped_release release;
            new (self) FleetRun(fleet, run_file);
          },
          "fleet"_a, "run_file"_a)
      .def_prop_ro("rounds_done", &FleetRun::rounds_done)
      .def_prop_ro(
          "changes", [](const FleetRun& f) { return f.changes(); }, doc("FleetRun::changes"))
      .def_prop_ro("machines", &FleetRun::active_machines)
      .def(
          "policy_json",
          [](FleetRun& f, const std::string& machine) {
            const nb::gil_scoped_release release;
            return policy_to_json(f.policy(machine)).dump();
          },
          "machine"_a, doc("FleetRun::policy", " As JSON."))
      .def(
          "observe_json",
          [](FleetRun& f, const std::string& machine, const std::string& recording,
             const std::string& format, const std::string& id) {
            const nb::gil_scoped_release release;
            const Recording read = read_recording(recording, format_of(format), "recording");
            ObservationOrigin origin;
            origin.id = id;
            origin.source = "python";
            return observed_to_json(f.observe(machine, read, origin), machine).dump();
          },
          "machine"_a, "recording"_a, "format"_a = "jsonl", "id"_a = "",
          doc("FleetRun::observe",
              "\nFrom the text of a trajectory file; what became of it, as JSON."));

  module.def(
      "record",
      [](const Task& task, const GaussianPolicy& policy, int trajectories, int steps,
         const Seed& seed, const Features& features, const std::string& machine,
         const std::string& fingerprint, const std::string& format) {
        RolloutSettings settings;
        settings.trajectories = trajectories;
        settings.steps = steps;
        settings.seed = seed.value();
        settings.features = features;
        const RecordingFormat written = format_of(format);
        const nb::gil_scoped_release release;
        Recording recording = recorded(task, policy, settings);
        recording.machine = machine;
        recording.policy = fingerprint;
        return recording_text(recording, written);
      },
      "task"_a, "policy"_a, "trajectories"_a = 50, "steps"_a = 150, "seed"_a = 0,
      "features"_a = Features{}, "machine"_a = "", "fingerprint"_a = "", "format"_a = "jsonl",
      doc("recorded", "\nThe result is the text of a trajectory file (docs/trajectories.md)."));
  module.def(
      "read_recording",
      [](const std::string& text, const Task& task, int steps, const Features& features,
         const std::string& format) {
        const RecordingFormat read = format_of(format);
        const nb::gil_scoped_release release;
        return to_trajectories(read_recording(text, read, "recording"), task, features, steps);
      },
      "text"_a, "task"_a, "steps"_a, "features"_a = Features{}, "format"_a = "jsonl",
      doc("to_trajectories", "\nFrom the text of a trajectory file."));
}

}  // namespace lifeguard::python
