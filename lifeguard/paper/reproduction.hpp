#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/runs/comparison.hpp"

namespace lifeguard {

/// What a figure of the paper shows.
enum class FigureKind {
  performance,  // cost against rounds
  path,         // the way of the parameters against the safe region
  until_safe,   // observations until the parameters are safe
  spectrum,     // final cost for several p and q
  machines,     // what the machines go through while they learn; not in the paper
};

struct Figure {
  std::string name;  // that of its configuration, configs/paper/NAME.toml
  FigureKind kind;
  std::string title;
};

/// All figures, in the order of the paper.
const std::vector<Figure>& paper_figures();

/// The text of configs/paper/NAME.toml, which is part of the program.
std::string paper_configuration(const std::string& name);

struct ReproductionOptions {
  std::vector<std::string> figures;  // names; empty: all
  /// Two seeds and few rounds, for a first look.
  bool quick = false;
  std::optional<int> seeds;  // as the configurations say if not given
  std::filesystem::path folder = "reproduction";
  int threads = 0;
  /// Called before each figure.
  std::function<void(const Figure&)> before_figure = {};
  /// As in ComparisonOptions.
  LongWork work = {};
};

struct FigureResult {
  Figure figure;
  ExperimentConfig config;
  Comparison comparison;
  /// Of each method: the way's length over the distance from its start to its end, mean over the
  /// seeds; only of paths.
  std::vector<MeanInterval> detours;
  /// Of each method: the policies of the first seed, one a round; only of paths.
  std::vector<std::vector<std::vector<double>>> paths;
};

/// A claim of the paper beside what was measured.
struct Claim {
  std::string claim;
  std::string paper;
  std::string measured;
  std::string verdict;  // "confirmed", "not confirmed", "in part"
};

/// Runs the figures into FOLDER/NAME/METHOD-SEED.run and writes FOLDER/NAME.json for each; runs
/// that are there are not made again. Throws Stopped if `work` asks for it.
std::vector<FigureResult> reproduce(const ReproductionOptions& options);

nlohmann::ordered_json figure_to_json(const FigureResult& result);
/// Those that the figures at hand can speak about.
std::vector<Claim> judge_claims(const std::vector<FigureResult>& results);
nlohmann::ordered_json claims_to_json(const std::vector<Claim>& claims);
/// The page that docs/studies/results.md holds.
std::string results_page(const std::vector<FigureResult>& results);

}  // namespace lifeguard
