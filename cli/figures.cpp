#include "cli/figures.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/svg_chart.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<double>;

struct FiguresArguments {
  std::vector<std::string> runs;
  std::string out = "figures";
  int task = -1;
  bool svg_only = false;
  bool json = false;
};

/// A figure's name and its SVG.
using Figures = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kGrey = "#555555";
constexpr const char* kFront = "#d55e00";

/// A mean with its interval as a line; an interval that is not finite is none.
ChartLine mean_line(const Json& curve, const std::string& quantity, const std::string& name,
                    std::size_t i) {
  ChartLine line{name, chart_colour(i), chart_dash(i), 1.8, 1.0};
  const auto rounds = curve["rounds"].get<Values>();
  const auto means = curve[quantity].get<Values>();
  const auto halves = curve[quantity + "_ci95"].get<Values>();
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const double half = std::isfinite(halves[k]) ? halves[k] : 0;
    line.points.push_back({rounds[k], means[k]});
    line.low.push_back(means[k] - half);
    line.high.push_back(means[k] + half);
  }
  return line;
}

void add_cost(const Json& experiment, Figures& figures) {
  SvgChart chart{"Cost against rounds", "round", "mean cost of all tasks"};
  for (const Json& method : experiment["methods"]) {
    chart.lines.push_back(mean_line(method["cost"], "mean", method["name"], chart.lines.size()));
  }
  figures.emplace_back("cost", to_svg(chart));
  chart.log_y = true;
  figures.emplace_back("cost-log", to_svg(chart));
}

void add_regret(const Json& experiment, Figures& figures) {
  for (const std::string quantity : {"surrogate", "true_cost"}) {
    const bool losses = quantity == "surrogate";
    SvgChart chart{losses ? "Regret of the losses" : "Regret of the true cost", "round", "regret"};
    for (const Json& method : experiment["methods"]) {
      if (!method.contains("regret")) continue;
      chart.lines.push_back(
          mean_line(method["regret"], quantity, method["name"], chart.lines.size()));
    }
    if (chart.lines.empty()) return;
    // √R through the last point of the first method.
    ChartLine root{"√R, scaled", kGrey, "1 3", 1.6, 1.0};
    const Point2 last = chart.lines[0].points.back();
    for (const Point2& p : chart.lines[0].points) {
      root.points.push_back({p[0], last[1] * std::sqrt(p[0] / last[0])});
    }
    chart.lines.insert(chart.lines.begin(), root);
    const std::string name = losses ? "regret-losses" : "regret-cost";
    figures.emplace_back(name, to_svg(chart));
    chart.log_x = chart.log_y = true;
    figures.emplace_back(name + "-log", to_svg(chart));
  }
}

/// Line k of a curve whose values are vectors.
ChartLine entry_line(const Json& curve, std::size_t k) {
  ChartLine line;
  for (std::size_t i = 0; i < curve["rounds"].size(); ++i) {
    line.points.push_back({curve["rounds"][i].get<double>(), curve["values"][i][k].get<double>()});
  }
  return line;
}

std::size_t worst_task(const Json& run) {
  if (!run.contains("margins")) return 0;
  const auto last = run["margins"]["values"].back().get<Values>();
  return static_cast<std::size_t>(std::min_element(last.begin(), last.end()) - last.begin());
}

void add_margins(const Json& run, const std::string& label, Figures& figures) {
  if (!run.contains("margins")) return;
  SvgChart chart{"Constraint margins, " + label, "round", "smallest margin of a task"};
  const std::size_t worst = worst_task(run);
  bool named = false;
  for (std::size_t t = 0; t < run["tasks"].size(); ++t) {
    if (t == worst) continue;
    ChartLine line = entry_line(run["margins"], t);
    line.name = named ? "" : "other tasks";
    line.colour = kGrey;
    line.width = 1;
    line.opacity = 0.5;
    chart.lines.push_back(std::move(line));
    named = true;
  }
  ChartLine line = entry_line(run["margins"], worst);
  line.name = run["tasks"][worst]["name"].get<std::string>() + ", the worst";
  line.colour = kFront;
  line.width = 2.2;
  chart.lines.push_back(std::move(line));
  figures.emplace_back("margins-" + label, to_svg(chart));
}

void add_spectrum(const Json& run, const std::string& label, Figures& figures) {
  if (!run.contains("spectrum")) return;
  const Json& spectrum = run["spectrum"];
  SvgChart chart{"Spectrum of the shared basis", "round", "eigenvalues of LᵀL"};
  chart.log_y = true;
  for (const char* limit : {"p", "q"}) {
    ChartLine rule{"", kFront, "7 3", 1.6, 1.0};
    if (limit[0] == 'p') rule.name = "p and q";
    for (const Json& round : {spectrum["rounds"].front(), spectrum["rounds"].back()}) {
      rule.points.push_back({round.get<double>(), spectrum[limit].get<double>()});
    }
    chart.lines.push_back(std::move(rule));
  }
  for (std::size_t k = 0; k < spectrum["values"][0].size(); ++k) {
    ChartLine line = entry_line(spectrum, k);
    line.name = k == 0 ? "eigenvalues" : "";
    line.colour = chart_colour(0);
    line.opacity = 0.8;
    chart.lines.push_back(std::move(line));
  }
  figures.emplace_back("spectrum-" + label, to_svg(chart));
}

void add_coefficients(const Json& run, const std::string& label, Figures& figures) {
  const Json& coefficients = run["coefficients"];
  const std::string what = coefficients["of"] == "coefficients" ? "s" : "α";
  SvgHeatMap map{"Coefficients of all tasks, " + label, "entry of " + what};
  SvgChart plane{"Which tasks resemble which, " + label, "first principal component", "second"};
  for (std::size_t t = 0; t < run["tasks"].size(); ++t) {
    map.names.push_back(run["tasks"][t]["name"]);
    map.values.push_back(coefficients["tasks"][t].get<Values>());
    const auto place = coefficients["principal"]["places"][t].get<Values>();
    plane.marks.push_back({{place[0], place[1]},
                           ChartMark::Shape::dot,
                           chart_colour(0),
                           std::to_string(t),
                           t == 0 ? "task" : ""});
  }
  figures.emplace_back("coefficients-" + label, to_svg(map));
  figures.emplace_back("resemblance-" + label, to_svg(plane));
}

/// The part of a polygon where a x + b y ≤ c (Sutherland and Hodgman).
std::vector<Point2> clipped(const std::vector<Point2>& polygon, double a, double b, double c) {
  std::vector<Point2> result;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point2& p = polygon[i];
    const Point2& q = polygon[(i + 1) % polygon.size()];
    const double fp = a * p[0] + b * p[1] - c;
    const double fq = a * q[0] + b * q[1] - c;
    if (fp <= 0) result.push_back(p);
    if ((fp < 0 && fq > 0) || (fp > 0 && fq < 0)) {
      const double s = fp / (fp - fq);
      result.push_back({p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])});
    }
  }
  return result;
}

using Box = std::array<Point2, 2>;

/// The box around points, and so many times its size more on every side.
Box box_around(const std::vector<Point2>& points, double times) {
  Box box = {points.front(), points.front()};
  for (std::size_t k = 0; k < 2; ++k) {
    for (const Point2& p : points) {
      box[0][k] = std::min(box[0][k], p[k]);
      box[1][k] = std::max(box[1][k], p[k]);
    }
    const double size = box[1][k] > box[0][k] ? box[1][k] - box[0][k] : 1;
    box[0][k] -= times * size;
    box[1][k] += times * size;
  }
  return box;
}

/// The cut of the safe set at the last policy, in parameters i and j, inside a box.
std::vector<Point2> cross_section(const Json& task, std::size_t i, std::size_t j, const Box& box) {
  const auto& [low, high] = box;
  std::vector<Point2> polygon = {low, {high[0], low[1]}, high, {low[0], high[1]}};
  const Json& set = task["safe_set"];
  const auto policy = task["policy"].get<Values>();
  for (std::size_t r = 0; r < set["limits"].size(); ++r) {
    const auto row = set["coefficients"][r].get<Values>();
    double limit = set["limits"][r];
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k != i && k != j) limit -= row[k] * policy[k];
    }
    polygon = clipped(polygon, row[i], row[j], limit);
  }
  return polygon;
}

void add_region(const Json& run, const std::string& label, int wanted, Figures& figures) {
  const std::size_t t = wanted >= 0 ? static_cast<std::size_t>(wanted) : worst_task(run);
  require(t < run["tasks"].size(), "--task", wanted, "must be the number of a task, from 0");
  const Json& task = run["tasks"][t];
  const auto policy = task["policy"].get<Values>();
  if (policy.size() < 2 || task["path"]["values"].empty()) return;
  // The two parameters that changed most.
  const auto first = task["path"]["values"][0].get<Values>();
  std::vector<std::size_t> order(policy.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(policy[a] - first[a]) > std::abs(policy[b] - first[b]);
  });
  const std::size_t i = std::min(order[0], order[1]);
  const std::size_t j = std::max(order[0], order[1]);

  SvgChart chart;
  chart.title = fmt::format("Safe region of {}, {}", task["name"].get<std::string>(), label);
  chart.x_label = run["parameters"][i];
  chart.y_label = run["parameters"][j];
  ChartLine path{"path of the policy", chart_colour(0), "", 1.6, 1.0};
  for (const Json& alpha : task["path"]["values"]) {
    path.points.push_back({alpha[i].get<double>(), alpha[j].get<double>()});
  }
  path.points.push_back({policy[i], policy[j]});
  using enum ChartMark::Shape;
  chart.marks = {{path.points.front(), ring, path.colour, "", "first"},
                 {path.points.back(), dot, path.colour, "", "last"}};
  if (task.contains("lqr")) {
    chart.marks.push_back(
        {{task["lqr"][i].get<double>(), task["lqr"][j].get<double>()}, cross, kFront, "", "LQR"});
  }
  if (task.contains("safe_set")) {
    std::vector<Point2> seen = path.points;
    for (const ChartMark& mark : chart.marks) seen.push_back(mark.place);
    // Of a region that goes far beyond the points only a part is seen, without an edge there.
    chart.region = cross_section(task, i, j, box_around(seen, 1000));
    const auto [low, high] = box_around(seen, 1);
    for (const Point2& p : chart.region) {
      seen.push_back({std::clamp(p[0], low[0], high[0]), std::clamp(p[1], low[1], high[1])});
    }
    chart.view = box_around(seen, 0);
    chart.region_name = "safe region";
  }
  chart.lines.push_back(std::move(path));
  figures.emplace_back("safe-region-" + label, to_svg(chart));
}

Figures draw_all(const Json& experiment, int task) {
  Figures figures;
  add_cost(experiment, figures);
  add_regret(experiment, figures);
  for (const Json& run : experiment["runs"]) {
    if (!run.contains("tasks")) continue;
    const std::string label = run["method"];
    add_region(run, label, task, figures);
    add_margins(run, label, figures);
    add_spectrum(run, label, figures);
    add_coefficients(run, label, figures);
  }
  return figures;
}

/// PNG at three times the size, by librsvg's program.
void convert(const std::string& svg, const std::string& png) {
  std::vector<std::string> words = {"rsvg-convert", "--zoom", "3", "--output", png, svg};
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  pid_t child = 0;
  int status = -1;
  const int error = posix_spawnp(&child, command[0], nullptr, nullptr, command.data(), environ);
  if (error == 0) waitpid(child, &status, 0);
  if (error != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(
        "the SVG cannot be made a PNG: rsvg-convert failed or is not installed (package "
        "librsvg2-bin); --svg-only does without");
  }
}

void figures(const FiguresArguments& arguments) {
  const Json report = report_data({arguments.runs.begin(), arguments.runs.end()});
  const std::filesystem::path folder = arguments.out;
  std::filesystem::create_directories(folder);
  Json written = Json::array();
  for (const Json& experiment : report["experiments"]) {
    for (const auto& [name, svg] : draw_all(experiment, arguments.task)) {
      std::string base = fmt::format("{}-{}", experiment["name"].get<std::string>(), name);
      std::replace(base.begin(), base.end(), '/', '-');
      const std::filesystem::path path = folder / (base + ".svg");
      std::ofstream file(path, std::ios::binary);
      file << svg;
      file.close();
      require(file.good(), "--out", path.string(), "must be a file that can be written");
      written.push_back(path.string());
      if (arguments.svg_only) continue;
      const std::filesystem::path png = folder / (base + ".png");
      convert(path.string(), png.string());
      written.push_back(png.string());
    }
  }
  if (arguments.json) {
    fmt::print("{}\n", Json{{"files", written}}.dump(2));
    return;
  }
  for (const Json& path : written) fmt::print("{}\n", path.get<std::string>());
}

}  // namespace

void add_figures_command(CLI::App& app) {
  auto arguments = std::make_shared<FiguresArguments>();
  CLI::App* command =
      app.add_subcommand("figures", "Draw each figure of a report as SVG and PNG, for a paper");
  command->add_option("runs", arguments->runs, "run files")->required();
  command->add_option("-o,--out", arguments->out, "the folder to write to")->capture_default_str();
  command->add_option("--task", arguments->task,
                      "whose safe region is drawn, from 0 (that of the least margin if left out)");
  command->add_flag("--svg-only", arguments->svg_only, "no PNG");
  command->add_flag("--json", arguments->json, "print the files as JSON");
  command->callback([arguments] { figures(*arguments); });
}

}  // namespace lifeguard
