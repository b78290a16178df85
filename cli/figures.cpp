#include "cli/figures.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/stop.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/report/chart_svg.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/output_file.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;

struct FiguresArguments {
  std::vector<std::string> runs;
  std::string out = "figures";
  std::optional<int> task;
  bool svg_only = false;
  bool json = false;
};

/// Of charts that there are for each task one is drawn: that of the wanted task, or of the one with
/// the least margin.
bool is_drawn(const Chart& chart, const ExperimentCharts& experiment, std::optional<int> wanted) {
  return chart.task < 0 || chart.task == (wanted ? *wanted : experiment.worst_tasks.at(chart.run));
}

/// EXPERIMENT-CHART[-METHOD][-log], of names that may hold anything.
std::string file_name(const ExperimentCharts& experiment, const Chart& chart, Scale scale) {
  std::string name = fmt::format("{}-{}", experiment.name.substr(0, kLongestFileName), chart.name);
  if (!chart.run.empty()) name += "-" + chart.run;
  name = name.substr(0, 2 * kLongestFileName);
  if (scale != chart.scales.front()) name += "-log";
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '/' || c == '\\') c = '-';
  }
  return name;
}

/// PNG at three times the size, by librsvg's program.
void convert(const std::string& svg, const std::string& png) {
  std::vector<std::string> words = {"rsvg-convert", "--zoom", "3", "--output", png, svg};
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  pid_t child = 0;
  int status = -1;
  // It takes signals as any program does, whatever this one does with them.
  posix_spawnattr_t attributes{};
  sigset_t signals;
  posix_spawnattr_init(&attributes);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(&child, command[0], nullptr, &attributes, command.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) waitpid(child, &status, 0);
  stop_token().throw_if_requested();  // Ctrl-C stops that program as well
  if (error != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(
        "the SVG cannot be made a PNG: rsvg-convert failed or is not installed (package "
        "librsvg2-bin); --svg-only does without");
  }
}

void figures(const FiguresArguments& arguments) {
  require_distinct_files("runs", arguments.runs);
  when_stopped(kStopped, [] { return std::string("the same command draws all figures again"); });
  const auto experiments = report_charts({arguments.runs.begin(), arguments.runs.end()});
  const std::filesystem::path folder = arguments.out;
  Json written = Json::array();
  std::set<std::string> names;
  for (const ExperimentCharts& experiment : experiments) {
    require(!arguments.task ||
                std::any_of(experiment.charts.begin(), experiment.charts.end(),
                            [&](const Chart& chart) { return chart.task == *arguments.task; }),
            "--task", arguments.task.value_or(0), "must be the number of a task, from 0");
    for (const Chart& chart : experiment.charts) {
      if (!is_drawn(chart, experiment, arguments.task)) continue;
      for (const Scale scale : chart.scales) {
        stop_token().throw_if_requested();
        const std::string base = file_name(experiment, chart, scale);
        require(
            names.insert(base).second, "figure", base,
            "must not be drawn twice: two experiments or methods have names that are too alike");
        const std::filesystem::path path = folder / (base + ".svg");
        write_file(path, to_svg(chart, scale));
        written.push_back(path.string());
        if (arguments.svg_only) continue;
        const std::filesystem::path png = folder / (base + ".png");
        convert(path.string(), png.string());
        written.push_back(png.string());
      }
    }
  }
  if (arguments.json) return print_json(Json{{"files", written}});
  for (const Json& path : written) put("{}\n", path.get<std::string>());
}

}  // namespace

void add_figures_command(CLI::App& app) {
  auto arguments = std::make_shared<FiguresArguments>();
  CLI::App* command =
      app.add_subcommand("figures", "Draw each figure of a report as SVG and PNG, for a paper");
  command->add_option("runs", arguments->runs, "run files")->required();
  add_path(*command, "-o,--out", arguments->out, "the folder to write to")->capture_default_str();
  add_number(
      *command, "--task", arguments->task, 0, 99999,
      "the task of charts there are for each, from 0 (that of the least margin if left out)");
  command->add_flag("--svg-only", arguments->svg_only, "no PNG");
  command->add_flag("--json", arguments->json, "print the files as JSON");
  command->callback([arguments] { figures(*arguments); });
}

}  // namespace lifeguard
