#include "lifeguard/paper/reproduction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/paper/paper_configurations.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {
namespace {

std::vector<Figure> chosen_figures(const ReproductionOptions& options) {
  if (options.figures.empty()) return paper_figures();
  std::vector<Figure> chosen;
  std::vector<std::string> names;
  for (const Figure& figure : paper_figures()) names.push_back(figure.name);
  for (const std::string& name : options.figures) {
    const auto found = std::find(names.begin(), names.end(), name);
    require(found != names.end(), "figure", name,
            fmt::format("must be one of {}", fmt::join(names, ", ")));
    require(std::count(options.figures.begin(), options.figures.end(), name) == 1, "figure", name,
            "must not be given twice");
    chosen.push_back(paper_figures()[static_cast<std::size_t>(found - names.begin())]);
  }
  return chosen;
}

ExperimentConfig figure_configuration(const Figure& figure, const ReproductionOptions& options) {
  const std::string text = paper_configuration(figure.name);
  std::vector<std::string> overrides;
  if (options.quick) {
    const int rounds = parse_config(text, figure.name + ".toml").rounds;
    // Quadrotors learn soonest, and a hundred alternations take longest on them.
    const bool quadrotor =
        figure.name.ends_with("quadrotor") && figure.kind != FigureKind::machines;
    overrides = {"experiment.seeds=2", "evaluation.start_states=25", "evaluation.spacing=0.1",
                 fmt::format("experiment.rounds={}", std::min(rounds, quadrotor ? 30 : 60))};
    // Each machine has a set of its own to be made.
    if (figure.kind == FigureKind::machines) overrides.emplace_back("experiment.tasks=3");
  }
  if (options.seeds) overrides.push_back(fmt::format("experiment.seeds={}", *options.seeds));
  return parse_config(text, figure.name + ".toml", overrides);
}

/// The policies that a run played, one after the other.
std::vector<std::vector<double>> path_of(const RunReader& run) {
  std::vector<std::vector<double>> path;
  for (const StoredRound& round : run.rounds()) {
    path.emplace_back(round.played.begin(), round.played.end());
  }
  return path;
}

/// How much longer the way was than the distance between its ends.
double detour(const std::vector<std::vector<double>>& path) {
  const auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(squares);
  };
  double length = 0;
  for (std::size_t i = 1; i < path.size(); ++i) length += distance(path[i], path[i - 1]);
  return length / distance(path.back(), path.front());
}

}  // namespace

const std::vector<Figure>& paper_figures() {
  static const std::vector<Figure> figures = {
      {"mass-spring", FigureKind::performance, "Performance, simple mass"},
      {"cart-pole", FigureKind::performance, "Performance, cart-pole"},
      {"wide-mass-spring", FigureKind::performance, "Performance, simple mass, wide family"},
      {"wide-cart-pole", FigureKind::performance, "Performance, cart-pole, wide family"},
      {"path-mass-spring", FigureKind::path, "Path against the safe region, simple mass"},
      {"path-cart-pole", FigureKind::path, "Path against the safe region, cart-pole"},
      {"quadrotor", FigureKind::performance, "Performance, quadrotor"},
      {"until-safe-mass-spring", FigureKind::until_safe, "Observations until safe, simple mass"},
      {"until-safe-cart-pole", FigureKind::until_safe, "Observations until safe, cart-pole"},
      {"until-safe-quadrotor", FigureKind::until_safe, "Observations until safe, quadrotor"},
      {"spectrum-mass-spring", FigureKind::spectrum, "Robustness to p and q, simple mass"},
      {"spectrum-cart-pole", FigureKind::spectrum, "Robustness to p and q, cart-pole"},
      {"spectrum-quadrotor", FigureKind::spectrum, "Robustness to p and q, quadrotor"},
      {"closed-loop-mass", FigureKind::machines, "Closed loops, simple masses to 10 %"},
      {"closed-loop-cart-pole", FigureKind::machines, "Closed loops, cart-poles to 10 %"},
      {"closed-loop-cart-pole-20", FigureKind::machines, "Closed loops, cart-poles to 20 %"},
      {"closed-loop-quadrotor", FigureKind::machines, "Closed loops, quadrotors to 20 %"},
      {"closed-loop-quadrotors", FigureKind::machines, "Closed loops, one set for all quadrotors"},
  };
  return figures;
}

std::string paper_configuration(const std::string& name) {
  for (const PaperConfiguration& configuration : kPaperConfigurations) {
    if (configuration.name == name) return std::string(configuration.text);
  }
  throw InvalidInput("figure", name, "must be one whose configuration is in configs/paper");
}

std::vector<FigureResult> reproduce(const ReproductionOptions& options) {
  std::vector<FigureResult> results;
  for (const Figure& figure : chosen_figures(options)) {
    FigureResult result;
    result.figure = figure;
    result.config = figure_configuration(figure, options);
    if (options.before_figure) options.before_figure(figure);
    ComparisonOptions comparison;
    comparison.folder = options.folder / figure.name;
    comparison.threads = options.threads;
    comparison.work = options.work;
    result.comparison = compare_methods(result.config, comparison);
    if (figure.kind == FigureKind::path) {
      for (const std::string& method : result.config.methods) {
        std::vector<double> detours;
        for (int s = 0; s < result.config.seeds; ++s) {
          options.work.stop.throw_if_requested();
          const auto path = path_of(
              RunReader(comparison_file(comparison.folder, method, result.config.seed + s)));
          detours.push_back(detour(path));
          if (s == 0) result.paths.push_back(path);
        }
        result.detours.push_back(over_seeds(detours));
      }
    }
    write_file(options.folder / (figure.name + ".json"), figure_to_json(result).dump(1));
    results.push_back(std::move(result));
  }
  write_file(options.folder / "claims.json", claims_to_json(judge_claims(results)).dump(1));
  std::vector<FigureResult> of_paper, of_machines;
  for (const FigureResult& result : results) {
    (result.figure.kind == FigureKind::machines ? of_machines : of_paper).push_back(result);
  }
  if (!of_paper.empty()) write_file(options.folder / "results.md", results_page(of_paper));
  if (!of_machines.empty())
    write_file(options.folder / "closed_loops.md", results_page(of_machines));
  return results;
}

nlohmann::ordered_json figure_to_json(const FigureResult& result) {
  nlohmann::ordered_json json = comparison_to_json(result.config, result.comparison);
  json["figure"] = result.figure.name;
  json["title"] = result.figure.title;
  for (std::size_t m = 0; m < result.config.methods.size(); ++m) {
    nlohmann::ordered_json& method = json["methods"][m];
    const std::vector<RunSummary>& runs = result.comparison.runs[m];
    // All seeds are evaluated at the same rounds.
    nlohmann::ordered_json curve;
    curve["rounds"] = runs.front().rounds;
    for (std::size_t i = 0; i < runs.front().rounds.size(); ++i) {
      std::vector<double> costs;
      for (const RunSummary& run : runs) costs.push_back(run.costs[i]);
      const OverSeeds cost = over_seeds(costs);
      curve["mean"].push_back(cost.mean);
      curve["median"].push_back(cost.median);
      curve["low"].push_back(cost.low);
      curve["high"].push_back(cost.high);
    }
    method["cost"] = std::move(curve);
    if (!result.detours.empty()) {
      method["detour"] = result.detours[m].mean;
      method["detours"] = result.detours[m].values;
    }
    if (!result.paths.empty()) method["path"] = result.paths[m];
  }
  if (result.figure.kind == FigureKind::path) {
    const DrawnTasks drawn = draw_tasks(result.config);
    const SafeSet& set = drawn.safe_sets.front();
    json["safe_region"]["rows"] = set.names();
    for (int row = 0; row < set.rows(); ++row) {
      const Eigen::VectorXd a = set.coefficients().row(row);
      json["safe_region"]["A"].push_back(std::vector<double>(a.begin(), a.end()));
      json["safe_region"]["b"].push_back(set.limits()(row));
    }
  }
  return json;
}

}  // namespace lifeguard
