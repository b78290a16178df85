// What the figures say about the paper's claims, as a table and as a page.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/paper/reproduction.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

std::string text(const MeanInterval& value, int digits = 3) {
  if (std::isnan(value.mean)) return "–";
  return std::isnan(value.ci95) ? fmt::format("{:.{}g}", value.mean, digits)
                                : fmt::format("{:.{}g} ± {:.2g}", value.mean, digits, value.ci95);
}

const FigureResult* find(const std::vector<FigureResult>& results, const std::string& name) {
  for (const FigureResult& result : results) {
    if (result.figure.name == name) return &result;
  }
  return nullptr;
}

const MethodSummary* method(const FigureResult& result, const std::string& name) {
  for (const MethodSummary& summary : result.comparison.methods) {
    if (summary.name == name) return &summary;
  }
  return nullptr;
}

/// Mean cost over the first visits to every task.
double early_cost(const FigureResult& result, const std::string& name) {
  for (std::size_t m = 0; m < result.config.methods.size(); ++m) {
    if (result.config.methods[m] != name) continue;
    double sum = 0;
    int count = 0;
    for (const RunSummary& run : result.comparison.runs[m]) {
      for (std::size_t i = 1; i < run.rounds.size() && run.rounds[i] <= result.config.tasks; ++i) {
        sum += run.costs[i];
        ++count;
      }
    }
    return sum / count;
  }
  return std::nan("");
}

std::string verdict(int confirmed, int all) {
  return confirmed == all ? "confirmed" : confirmed == 0 ? "not confirmed" : "in part";
}

void judge_performance(const std::vector<FigureResult>& results, const std::string& name,
                       std::vector<Claim>& claims) {
  const FigureResult* figure = find(results, name);
  if (figure == nullptr) return;
  const MethodSummary& ours = *method(*figure, "learner");
  Claim speed{fmt::format("{}: ours learns faster than PG and PG-ELLA", figure->figure.title),
              "faster than both", "", ""};
  Claim early{fmt::format("{}: ours starts better than PG and PG-ELLA", figure->figure.title),
              "better initial performance", "", ""};
  int faster = 0;
  int better = 0;
  speed.measured = fmt::format("rounds to 90 %: ours {}", text(ours.rounds_to_90_percent));
  early.measured = fmt::format("mean cost over the first {} rounds: ours {:.4g}",
                               figure->config.tasks, early_cost(*figure, "learner"));
  for (const char* other : {"pg", "pg-ella", "shared"}) {
    const MethodSummary& theirs = *method(*figure, other);
    speed.measured += fmt::format(", {} {}", other, text(theirs.rounds_to_90_percent));
    early.measured += fmt::format(", {} {:.4g}", other, early_cost(*figure, other));
    if (std::string(other) == "shared") continue;  // the paper does not have it
    faster += ours.rounds_to_90_percent.mean < theirs.rounds_to_90_percent.mean ? 1 : 0;
    better += early_cost(*figure, "learner") < early_cost(*figure, other) ? 1 : 0;
  }
  speed.verdict = verdict(faster, 2);
  early.verdict = verdict(better, 2);
  claims.push_back(std::move(speed));
  claims.push_back(std::move(early));
}

void judge_alternations(const std::vector<FigureResult>& results, const std::string& name,
                        std::vector<Claim>& claims) {
  const FigureResult* figure = find(results, name);
  if (figure == nullptr || method(*figure, "ours-10") == nullptr) return;
  const bool path = figure->figure.kind == FigureKind::path;
  Claim claim{fmt::format("{}: {}", figure->figure.title,
                          path ? "more alternations take a more direct path"
                               : "more alternations perform better"),
              "10 < 50 < 100", "", ""};
  std::vector<double> values;
  for (std::size_t m = 0; m < figure->config.methods.size(); ++m) {
    const std::string& label = figure->config.methods[m];
    if (!label.starts_with("ours-")) continue;
    const MeanInterval value = path ? figure->detours[m] : figure->comparison.methods[m].mean_cost;
    values.push_back(value.mean);
    claim.measured +=
        fmt::format("{}{} {}", claim.measured.empty() ? "" : ", ", label.substr(5), text(value, 4));
  }
  claim.measured = (path ? "length over distance: " : "mean cost: ") + claim.measured;
  const bool falls = values[0] > values[1] && values[1] > values[2];
  claim.verdict = falls ? "confirmed" : "not confirmed";
  claims.push_back(std::move(claim));
}

void judge_safety(const std::vector<FigureResult>& results, const std::string& name,
                  std::vector<Claim>& claims) {
  const FigureResult* figure = find(results, name);
  if (figure == nullptr) return;
  Claim claim{fmt::format("{}: ours abides by the constraints, PG and PG-ELLA can violate them",
                          figure->figure.title),
              "no violation; violations", "unsafe policies: ", ""};
  bool holds = true;
  for (const MethodSummary& summary : figure->comparison.methods) {
    claim.measured +=
        fmt::format("{}{} {} of {}", &summary == &figure->comparison.methods.front() ? "" : ", ",
                    summary.name, summary.unsafe_policies, summary.policies_handed_out);
    const bool ours = summary.name == "learner" || summary.name.starts_with("ours");
    if (ours && summary.unsafe_policies > 0) holds = false;
    if (!ours && summary.name != "shared" && summary.unsafe_policies == 0) holds = false;
  }
  claim.verdict = holds ? "confirmed" : "not confirmed";
  claims.push_back(std::move(claim));
}

void judge_until_safe(const std::vector<FigureResult>& results, const std::string& name,
                      const std::string& paper, std::vector<Claim>& claims) {
  const FigureResult* figure = find(results, name);
  if (figure == nullptr) return;
  Claim claim{fmt::format("{}: ours is safe after one observation", figure->figure.title), paper,
              "", ""};
  for (const MethodSummary& summary : figure->comparison.methods) {
    claim.measured += fmt::format("{}{} {}", claim.measured.empty() ? "" : ", ", summary.name,
                                  text(summary.observations_until_safe));
    if (summary.tasks_never_safe > 0) {
      claim.measured +=
          fmt::format(" ({} of {} tasks not within {} rounds)", summary.tasks_never_safe,
                      figure->config.tasks * figure->config.seeds, figure->config.rounds);
    }
  }
  const MethodSummary& ours = *method(*figure, "learner");
  claim.verdict = ours.tasks_never_safe == 0 && ours.observations_until_safe.mean <= 1
                      ? "confirmed"
                      : "not confirmed";
  claims.push_back(std::move(claim));
}

void judge_spectrum(const std::vector<FigureResult>& results, const std::string& name,
                    std::vector<Claim>& claims) {
  const FigureResult* figure = find(results, name);
  if (figure == nullptr) return;
  double low = kInfinity;
  double high = -kInfinity;
  for (const MethodSummary& summary : figure->comparison.methods) {
    low = std::min(low, summary.final_cost.mean);
    high = std::max(high, summary.final_cost.mean);
  }
  claims.push_back(
      {fmt::format("{}: p and q from 0.1 to 10 give similar cost", figure->figure.title),
       "similar average cost",
       fmt::format("final cost {:.4g} to {:.4g}, a factor of {:.3g}", low, high, high / low),
       high / low < 1.1 ? "confirmed" : "not confirmed"});
}

/// Not of the paper: whose machines fall while they learn.
void judge_machines(const FigureResult& figure, std::vector<Claim>& claims) {
  Claim claim{fmt::format("{}: no machine falls, leaves its limits or saturates while ours learns",
                          figure.figure.title),
              "(not in the paper)", "falls, violations, saturations in trajectories: ", ""};
  bool holds = true;
  for (const MethodSummary& m : figure.comparison.methods) {
    claim.measured +=
        fmt::format("{}{} {}, {}, {} of {}", &m == &figure.comparison.methods.front() ? "" : "; ",
                    m.name, m.falls, m.violations, m.saturations, m.trajectories);
    if (m.name == "learner" && m.falls + m.violations + m.saturations + m.unsafe_policies > 0) {
      holds = false;
    }
  }
  claim.verdict = holds ? "confirmed" : "not confirmed";
  claims.push_back(std::move(claim));
}

std::string table(const FigureResult& result) {
  std::string page;
  switch (result.figure.kind) {
    case FigureKind::performance:
      page +=
          "| method | rounds to 90 % | never | mean cost | final cost | gap to the best % |\n"
          "|---|---|---|---|---|---|\n";
      for (const MethodSummary& m : result.comparison.methods) {
        page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", m.name,
                            text(m.rounds_to_90_percent), m.never_reached, text(m.mean_cost, 4),
                            text(m.final_cost, 4), text(m.final_gap_percent));
      }
      break;
    case FigureKind::machines:
      page +=
          "| method | unsafe policies | rounds to 90 % | never | final cost | gap to the best % |\n"
          "|---|---|---|---|---|---|\n";
      for (const MethodSummary& m : result.comparison.methods) {
        page += fmt::format("| {} | {} of {} | {} | {} | {} | {} |\n", m.name, m.unsafe_policies,
                            m.policies_handed_out, text(m.rounds_to_90_percent), m.never_reached,
                            text(m.final_cost, 4), text(m.final_gap_percent));
      }
      break;
    case FigureKind::path:
      page +=
          "| method | unsafe policies | final cost | length of the path over its distance |\n"
          "|---|---|---|---|\n";
      for (std::size_t i = 0; i < result.comparison.methods.size(); ++i) {
        const MethodSummary& m = result.comparison.methods[i];
        page += fmt::format("| {} | {} of {} | {} | {} |\n", m.name, m.unsafe_policies,
                            m.policies_handed_out, text(m.final_cost, 4), text(result.detours[i]));
      }
      break;
    case FigureKind::until_safe:
      page +=
          "| method | observations until safe | tasks not safe at the end | unsafe policies | "
          "final cost |\n|---|---|---|---|---|\n";
      for (const MethodSummary& m : result.comparison.methods) {
        page += fmt::format("| {} | {} | {} of {} | {} of {} | {} |\n", m.name,
                            text(m.observations_until_safe), m.tasks_never_safe,
                            result.config.tasks * result.config.seeds, m.unsafe_policies,
                            m.policies_handed_out, text(m.final_cost, 4));
      }
      break;
    case FigureKind::spectrum:
      page +=
          "With k = d the linearised update moves S and leaves L where p and q put it, and its "
          "steps\n"
          "do not depend on the scale of L: the policies are the same.\n\n"
          "| p and q | final cost | unsafe policies |\n|---|---|---|\n";
      for (const MethodSummary& m : result.comparison.methods) {
        page += fmt::format("| {} | {} | {} of {} |\n", m.name, text(m.final_cost, 4),
                            m.unsafe_policies, m.policies_handed_out);
      }
      break;
  }
  return page;
}

/// What the machines went through while each method learnt.
std::string incidents(const FigureResult& result) {
  std::string page =
      "\n| while learning | falls | limit violations | saturations | trajectories |\n"
      "|---|---|---|---|---|\n";
  for (const MethodSummary& m : result.comparison.methods) {
    page += fmt::format("| {} | {} | {} | {} | {} |\n", m.name, m.falls, m.violations,
                        m.saturations, m.trajectories);
  }
  return page;
}

}  // namespace

std::vector<Claim> judge_claims(const std::vector<FigureResult>& results) {
  std::vector<Claim> claims;
  for (const char* name : {"mass-spring", "cart-pole", "quadrotor"}) {
    judge_performance(results, name, claims);
  }
  for (const char* name : {"mass-spring", "cart-pole", "path-mass-spring", "path-cart-pole"}) {
    judge_alternations(results, name, claims);
  }
  for (const char* name : {"path-mass-spring", "path-cart-pole"}) {
    judge_safety(results, name, claims);
  }
  judge_until_safe(results, "until-safe-mass-spring", "1 for ours, many for PG and PG-ELLA",
                   claims);
  judge_until_safe(results, "until-safe-cart-pole", "1 for ours, many for PG and PG-ELLA", claims);
  judge_until_safe(results, "until-safe-quadrotor", "1 for ours, 545 PG, 510 PG-ELLA", claims);
  for (const char* name : {"spectrum-mass-spring", "spectrum-cart-pole", "spectrum-quadrotor"}) {
    judge_spectrum(results, name, claims);
  }
  for (const FigureResult& result : results) {
    if (result.figure.kind == FigureKind::machines) judge_machines(result, claims);
  }
  return claims;
}

nlohmann::ordered_json claims_to_json(const std::vector<Claim>& claims) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Claim& claim : claims) {
    nlohmann::ordered_json entry;
    entry["claim"] = claim.claim;
    entry["paper"] = claim.paper;
    entry["measured"] = claim.measured;
    entry["verdict"] = claim.verdict;
    json.push_back(std::move(entry));
  }
  return json;
}

std::string results_page(const std::vector<FigureResult>& results) {
  const ExperimentConfig& first = results.front().config;
  std::string page = fmt::format(
      "# Results\n\nWritten by `lifeguard reproduce` (version {}) from its run files; nothing here "
      "is typed by hand.\n{} tasks, {} trajectories of {} steps a round, {} seeds; ± is the 95 % "
      "interval of the mean over seeds.\n`learner` is the default setting for all families; "
      "`ours-10`, `ours-50` and `ours-100` are the paper's\nalternating closed form. `pg`, "
      "`pg-ella` and `shared` are tuned for each family ([learning.md](learning.md)).\nThe growth "
      "of the regret has a page of its own: [regret.md](regret.md).\n\n",
      kVersion, first.tasks, first.trajectories, first.steps, first.seeds);
  page +=
      "## What the paper says, and what we measured\n\n"
      "| claim | paper | measured | verdict |\n|---|---|---|---|\n";
  for (const Claim& claim : judge_claims(results)) {
    page += fmt::format("| {} | {} | {} | {} |\n", claim.claim, claim.paper, claim.measured,
                        claim.verdict);
  }
  for (const FigureResult& result : results) {
    page += fmt::format("\n## {}\n`configs/paper/{}.toml`, {} rounds.\n\n{}{}", result.figure.title,
                        result.figure.name, result.config.rounds, table(result), incidents(result));
  }
  return page;
}

}  // namespace lifeguard
