#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/comparison.hpp"
#include "lifeguard/runs/verdict.hpp"

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
  /// Of each method: the way's length over the distance from its start to its end; only of paths.
  std::vector<OverSeeds> detours;
  /// Of each method: the policies of the first seed, one a round; only of paths.
  std::vector<std::vector<std::vector<double>>> paths;
};

/// A claim of the paper beside what was measured.
struct Claim {
  std::string claim;
  std::string paper;
  std::string measured;
  Verdict verdict = Verdict::undecided;
  /// Two-sided, of this claim alone; NaN where counting decides.
  double p = kNaN;
};

/// Runs the figures into FOLDER/NAME/METHOD-SEED.run and writes FOLDER/NAME.json for each, then
/// claims.json, results.md for the paper's and closed_loops.md for the others; runs that are there
/// are not made again. Throws Stopped if `work` asks for it.
std::vector<FigureResult> reproduce(const ReproductionOptions& options);

nlohmann::ordered_json figure_to_json(const FigureResult& result);
/// Those that the figures at hand can speak about. A claim is that something holds on more than
/// half of all seeds, by the exact sign test on the differences of each seed; all of a page are
/// judged together (judge_together). What must hold always, as safety, is decided by counting.
std::vector<Claim> judge_claims(const std::vector<FigureResult>& results);
nlohmann::ordered_json claims_to_json(const std::vector<Claim>& claims);
/// The page that docs/studies/results.md holds, of figures of the paper; or, of figures that show
/// machines, the one that docs/studies/closed_loops.md holds.
std::string results_page(const std::vector<FigureResult>& results);

}  // namespace lifeguard
