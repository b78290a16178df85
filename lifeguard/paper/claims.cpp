// What the figures say about the paper's claims.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/paper/number_text.hpp"
#include "lifeguard/paper/reproduction.hpp"

namespace lifeguard {
namespace {

/// Costs that differ by less than this factor are similar.
constexpr double kSimilar = 1.1;

using FigureResults = std::vector<FigureResult>;

/// A part of a claim: on each seed, by how much it holds; 0 or less if it does not.
struct Part {
  std::string what;
  std::vector<double> advantages;
};

/// A claim with what the seeds say, or with the verdict that counting gave.
struct WeighedClaim {
  Claim claim;
  std::optional<Evidence> evidence;
};

const FigureResult* find_figure(const FigureResults& results, const std::string& name) {
  for (const FigureResult& result : results) {
    if (result.figure.name == name) return &result;
  }
  return nullptr;
}

/// The place of a method in a figure, -1 if it has none.
int place_of(const FigureResult& figure, const std::string& method) {
  const auto& methods = figure.config.methods;
  const auto found = std::find(methods.begin(), methods.end(), method);
  return found == methods.end() ? -1 : static_cast<int>(found - methods.begin());
}

const MethodSummary& summary_of(const FigureResult& figure, const std::string& method) {
  return figure.comparison.methods[static_cast<std::size_t>(place_of(figure, method))];
}

bool has_all(const FigureResult& figure, const std::vector<std::string>& methods) {
  return std::all_of(methods.begin(), methods.end(),
                     [&](const std::string& m) { return place_of(figure, m) >= 0; });
}

/// By how much less `ours` is than `theirs` on each seed; two that are both infinite are equal.
std::vector<double> advantages(const OverSeeds& ours, const OverSeeds& theirs) {
  std::vector<double> result;
  for (std::size_t s = 0; s < ours.values.size(); ++s) {
    const bool equal = ours.values[s] == theirs.values[s];
    result.push_back(equal ? 0 : theirs.values[s] - ours.values[s]);
  }
  return result;
}

Evidence evidence_of(const std::vector<Part>& parts) {
  std::vector<SeedCount> counts;
  counts.reserve(parts.size());
  for (const Part& part : parts) counts.push_back(count_positive(part.advantages));
  return weigh(counts);
}

/// "before pg on 19 of 20 seeds, by 12 (10 to 15)", for each part.
std::string counts_text(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    const SeedCount count = count_positive(part.advantages);
    text += fmt::format("; {} on {} of {} seeds, by {}", part.what, count.holds, count.seeds,
                        median_text(over_seeds(part.advantages), 3, "∞"));
  }
  return text;
}

/// "pg 17 (24), shared 2 (3)": median and worst seed of some methods.
std::string medians_text(const std::vector<std::pair<std::string, const OverSeeds*>>& methods) {
  std::string text;
  for (const auto& [name, value] : methods) {
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", name, number_text(value->median),
                        number_text(value->worst));
  }
  return text;
}

/// Mean cost over the first visits to every task.
OverSeeds early_cost(const FigureResult& figure, const std::string& method) {
  std::vector<double> values;
  for (const RunSummary& run :
       figure.comparison.runs[static_cast<std::size_t>(place_of(figure, method))]) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = 1; i < run.rounds.size() && run.rounds[i] <= figure.config.tasks; ++i) {
      sum += run.costs[i];
      ++count;
    }
    values.push_back(sum / count);
  }
  return over_seeds(values);
}

/// Whether `ours`, which the claim calls `called`, learns faster and starts better.
void weigh_performance(const FigureResult& figure, const std::string& ours,
                       const std::string& called, std::vector<WeighedClaim>& claims) {
  const std::array<std::string, 3> others = {"pg", "pg-ella", "shared"};
  if (!has_all(figure, {ours, "pg", "pg-ella", "shared"})) return;
  WeighedClaim speed;
  speed.claim.claim =
      fmt::format("{}: {} learns faster than PG and PG-ELLA", figure.figure.title, called);
  speed.claim.paper = "faster than both";
  WeighedClaim start;
  start.claim.claim =
      fmt::format("{}: {} starts better than PG and PG-ELLA", figure.figure.title, called);
  start.claim.paper = "better initial performance";
  const OverSeeds& our_rounds = summary_of(figure, ours).rounds_to_90_percent;
  const OverSeeds our_start = early_cost(figure, ours);
  std::vector<OverSeeds> starts;
  for (const std::string& other : others) starts.push_back(early_cost(figure, other));
  std::vector<std::pair<std::string, const OverSeeds*>> rounds_of = {{ours, &our_rounds}};
  std::vector<std::pair<std::string, const OverSeeds*>> start_of = {{ours, &our_start}};
  std::vector<Part> faster, better;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const OverSeeds& rounds = summary_of(figure, others[i]).rounds_to_90_percent;
    rounds_of.emplace_back(others[i], &rounds);
    start_of.emplace_back(others[i], &starts[i]);
    if (others[i] == "shared") continue;  // the paper does not have it
    faster.push_back({fmt::format("before {}", others[i]), advantages(our_rounds, rounds)});
    better.push_back({fmt::format("below {}", others[i]), advantages(our_start, starts[i])});
  }
  speed.claim.measured =
      fmt::format("rounds to 90 %, median (worst seed): {}", medians_text(rounds_of)) +
      counts_text(faster);
  start.claim.measured = fmt::format("mean cost over the first {} rounds, median (worst seed): {}",
                                     figure.config.tasks, medians_text(start_of)) +
                         counts_text(better);
  speed.evidence = evidence_of(faster);
  start.evidence = evidence_of(better);
  claims.push_back(std::move(speed));
  claims.push_back(std::move(start));
}

void weigh_alternations(const FigureResult& figure, std::vector<WeighedClaim>& claims) {
  const std::array<std::string, 3> counts = {"10", "50", "100"};
  if (!has_all(figure, {"ours-10", "ours-50", "ours-100"})) return;
  const bool path = figure.figure.kind == FigureKind::path;
  std::vector<const OverSeeds*> values;
  std::vector<std::pair<std::string, const OverSeeds*>> named;
  for (const std::string& count : counts) {
    const auto place = static_cast<std::size_t>(place_of(figure, "ours-" + count));
    values.push_back(path ? &figure.detours[place] : &figure.comparison.methods[place].mean_cost);
    named.emplace_back(count, values.back());
  }
  std::vector<Part> parts;
  for (const auto& [few, many] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{0, 2}}) {
    parts.push_back({fmt::format("{} below {}", counts[static_cast<std::size_t>(many)],
                                 counts[static_cast<std::size_t>(few)]),
                     advantages(*values[static_cast<std::size_t>(many)],
                                *values[static_cast<std::size_t>(few)])});
  }
  WeighedClaim weighed;
  weighed.claim.claim = fmt::format(
      "{}: {}", figure.figure.title,
      path ? "more alternations take a more direct path" : "more alternations perform better");
  weighed.claim.paper = "10, 50, 100: the more the better";
  weighed.claim.measured =
      fmt::format("{}, median (worst seed): {}",
                  path ? "length of the path over its distance" : "mean cost over all rounds",
                  medians_text(named)) +
      counts_text(parts);
  weighed.evidence = evidence_of(parts);
  claims.push_back(std::move(weighed));
}

bool is_ours(const std::string& method) {
  return method == "learner" || method.starts_with("ours-");
}

/// Decided by counting: every policy was proven, and one example shows that others can be unsafe.
void count_unsafe(const FigureResult& figure, std::vector<WeighedClaim>& claims) {
  Claim claim;
  claim.claim = fmt::format("{}: ours abides by the constraints, PG and PG-ELLA can violate them",
                            figure.figure.title);
  claim.paper = "no violation; violations";
  claim.measured = "unsafe policies: ";
  bool ours_safe = true;
  bool others_unsafe = true;
  for (const MethodSummary& m : figure.comparison.methods) {
    claim.measured +=
        fmt::format("{}{} {} of {}", &m == &figure.comparison.methods.front() ? "" : ", ", m.name,
                    m.unsafe_policies, m.policies_handed_out);
    if (is_ours(m.name)) {
      ours_safe = ours_safe && m.unsafe_policies == 0;
    } else if (m.name != "shared") {
      others_unsafe = others_unsafe && m.unsafe_policies > 0;
    }
  }
  claim.verdict = !ours_safe      ? Verdict::refuted
                  : others_unsafe ? Verdict::confirmed
                                  : Verdict::undecided;
  claims.push_back({std::move(claim), {}});
}

/// On each seed, how many observations the median task has left of `limit` when it is safe for
/// good; -infinity if it never is.
std::vector<double> observations_left(const MethodSummary& method, double limit) {
  std::vector<double> left;
  for (const double needed : method.observations_until_safe.values) left.push_back(limit - needed);
  return left;
}

void judge_until_safe(const FigureResult& figure, std::vector<WeighedClaim>& claims) {
  const bool quadrotor = figure.figure.name == "until-safe-quadrotor";
  // How often each task is observed: later than that nothing is known.
  const int window = figure.config.rounds / figure.config.tasks;
  std::string measured = "observations of the median task, median (worst seed): ";
  std::vector<std::pair<std::string, const OverSeeds*>> named;
  for (const MethodSummary& m : figure.comparison.methods) {
    named.emplace_back(m.name, &m.observations_until_safe);
  }
  measured += medians_text(named) + "; tasks not safe at the end: ";
  for (const MethodSummary& m : figure.comparison.methods) {
    measured += fmt::format("{}{} {} of {}", &m == &figure.comparison.methods.front() ? "" : ", ",
                            m.name, m.tasks_never_safe, figure.config.tasks * figure.config.seeds);
  }

  const auto place = static_cast<std::size_t>(place_of(figure, "learner"));
  double most = 0;
  for (const RunSummary& run : figure.comparison.runs[place]) {
    for (const double needed : run.observations_until_safe) most = std::max(most, needed);
  }
  Claim one;
  one.claim = fmt::format("{}: ours is safe after one observation", figure.figure.title);
  one.paper = "1";
  one.measured = fmt::format(
      "at most {} on any task of any seed: safe by construction, from the first policy on",
      number_text(most));
  one.verdict = most <= 1 ? Verdict::confirmed : Verdict::refuted;
  claims.push_back({std::move(one), {}});

  WeighedClaim sooner;
  const OverSeeds& ours = summary_of(figure, "learner").observations_until_safe;
  std::vector<Part> parts;
  for (const char* other : {"pg", "pg-ella"}) {
    parts.push_back({fmt::format("before {}", other),
                     advantages(ours, summary_of(figure, other).observations_until_safe)});
  }
  sooner.claim.claim =
      fmt::format("{}: ours is safe sooner than PG and PG-ELLA", figure.figure.title);
  sooner.claim.paper = "substantially fewer observations";
  sooner.claim.measured = measured + counts_text(parts);
  sooner.evidence = evidence_of(parts);
  claims.push_back(std::move(sooner));

  // The others as what they are: do they become safe at all?
  WeighedClaim ever;
  const double pg_limit = quadrotor ? 545 : window;
  const double ella_limit = quadrotor ? 510 : window;
  ever.claim.claim = fmt::format("{}: PG and PG-ELLA become safe by learning", figure.figure.title);
  ever.claim.paper = quadrotor ? "after 545 and 510 observations" : "after many observations";
  // So many observations and no more count as "after" them.
  const std::vector<Part> safe = {
      {"pg", observations_left(summary_of(figure, "pg"), pg_limit + 0.5)},
      {"pg-ella", observations_left(summary_of(figure, "pg-ella"), ella_limit + 0.5)}};
  ever.claim.measured = "the median task is safe for good";
  for (const Part& part : safe) {
    const SeedCount count = count_positive(part.advantages);
    ever.claim.measured +=
        fmt::format("{} after at most {} observations with {} on {} of {} seeds",
                    &part == &safe.front() ? "" : ",", part.what == "pg" ? pg_limit : ella_limit,
                    part.what, count.holds, count.seeds);
  }
  if (quadrotor) {
    ever.claim.measured +=
        ". The paper does not give its constraints: its numbers are those of another safe set than "
        "our band around LQR's gains";
  }
  ever.evidence = window >= pg_limit ? evidence_of(safe) : Evidence{};
  if (window < pg_limit) ever.claim.measured = "not played for so long";
  claims.push_back(std::move(ever));

  if (!has_all(figure, {"unconstrained"})) return;
  WeighedClaim without;
  without.claim.claim = fmt::format(
      "{}: our learner without its projection becomes safe by learning", figure.figure.title);
  without.claim.paper = "(not in the paper)";
  const std::vector<Part> unconstrained = {
      {"safe", observations_left(summary_of(figure, "unconstrained"), window + 0.5)}};
  const SeedCount count = count_positive(unconstrained.front().advantages);
  without.claim.measured = fmt::format(
      "the median task is safe for good after at most {} observations on {} of {} seeds", window,
      count.holds, count.seeds);
  without.evidence = evidence_of(unconstrained);
  claims.push_back(std::move(without));
}

/// "alternating" of "alternating p=0.1 q=1".
std::string form_of(const std::string& method) { return method.substr(0, method.find(" p=")); }

void weigh_spectrum(const FigureResult& figure, std::vector<WeighedClaim>& claims) {
  std::vector<std::string> forms;
  for (const std::string& method : figure.config.methods) {
    if (forms.empty() || forms.back() != form_of(method)) forms.push_back(form_of(method));
  }
  for (const std::string& form : forms) {
    std::vector<const MethodSummary*> settings;
    for (const MethodSummary& m : figure.comparison.methods) {
      if (form_of(m.name) == form) settings.push_back(&m);
    }
    // Each setting's typical cost is within the factor of the first one's, the widest range.
    std::vector<Part> parts;
    double low = settings.front()->final_cost.median;
    double high = low;
    double largest = 0;
    for (const MethodSummary* m : settings) {
      low = std::min(low, m->final_cost.median);
      high = std::max(high, m->final_cost.median);
      if (m == settings.front()) continue;
      Part above{m->name, {}};
      Part below{m->name, {}};
      for (std::size_t s = 0; s < m->final_cost.values.size(); ++s) {
        const double ratio =
            std::log(m->final_cost.values[s] / settings.front()->final_cost.values[s]);
        largest = std::max(largest, std::abs(ratio));
        above.advantages.push_back(std::log(kSimilar) - ratio);
        below.advantages.push_back(std::log(kSimilar) + ratio);
      }
      parts.push_back(std::move(above));
      parts.push_back(std::move(below));
    }
    const auto worst =
        std::min_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
          return count_positive(a.advantages).holds < count_positive(b.advantages).holds;
        });
    const SeedCount least = count_positive(worst->advantages);
    WeighedClaim weighed;
    weighed.claim.claim =
        fmt::format("{}, {}: p and q from 0.1 to 10 give similar cost", figure.figure.title, form);
    weighed.claim.paper = "similar average cost";
    weighed.claim.measured = fmt::format(
        "final cost, median over seeds, {} to {}, a factor of {:.3g}; each within a factor of {} "
        "of "
        "{}, on {} of {} seeds at least ({})",
        number_text(low), number_text(high), high / low, kSimilar, settings.front()->name,
        least.holds, least.seeds, worst->what);
    weighed.evidence = evidence_of(parts);
    // A basis that never moves would pass any such test.
    if (largest < 1e-3) {
      weighed.evidence.reset();
      weighed.claim.measured += ". L does not move: p and q are not tried here";
    }
    claims.push_back(std::move(weighed));
  }
}

/// Not of the paper, decided by counting: whose machines fall while they learn.
void count_incidents(const FigureResult& figure, std::vector<WeighedClaim>& claims) {
  Claim claim;
  claim.claim =
      fmt::format("{}: no machine falls, leaves its limits or saturates while ours learns",
                  figure.figure.title);
  claim.paper = "(not in the paper)";
  claim.measured = "falls, violations, saturations in trajectories: ";
  claim.verdict = Verdict::confirmed;
  for (const MethodSummary& m : figure.comparison.methods) {
    claim.measured +=
        fmt::format("{}{} {}, {}, {} of {}", &m == &figure.comparison.methods.front() ? "" : "; ",
                    m.name, m.falls, m.violations, m.saturations, m.trajectories);
    if (m.name == "learner" && m.falls + m.violations + m.saturations + m.unsafe_policies > 0) {
      claim.verdict = Verdict::refuted;
    }
  }
  claims.push_back({std::move(claim), {}});
}

}  // namespace

std::vector<Claim> judge_claims(const std::vector<FigureResult>& results) {
  std::vector<WeighedClaim> weighed;
  const auto with = [&](const std::vector<std::string>& names, const auto& judge) {
    for (const std::string& name : names) {
      if (const FigureResult* figure = find_figure(results, name)) judge(*figure);
    }
  };
  const std::vector<std::string> performance = {"mass-spring", "cart-pole", "quadrotor"};
  const std::vector<std::string> paths = {"path-mass-spring", "path-cart-pole"};
  with(performance, [&](const FigureResult& figure) {
    weigh_performance(figure, "ours-10", "the paper's alternating form", weighed);
    weigh_performance(figure, "learner", "our learner", weighed);
  });
  with(performance, [&](const FigureResult& figure) { weigh_alternations(figure, weighed); });
  with(paths, [&](const FigureResult& figure) { weigh_alternations(figure, weighed); });
  with(paths, [&](const FigureResult& figure) { count_unsafe(figure, weighed); });
  for (const FigureResult& result : results) {
    if (result.figure.kind == FigureKind::until_safe) judge_until_safe(result, weighed);
  }
  for (const FigureResult& result : results) {
    if (result.figure.kind == FigureKind::spectrum) weigh_spectrum(result, weighed);
  }
  for (const FigureResult& result : results) {
    if (result.figure.kind == FigureKind::machines) count_incidents(result, weighed);
  }

  std::vector<Evidence> evidence;
  for (const WeighedClaim& claim : weighed) {
    if (claim.evidence) evidence.push_back(*claim.evidence);
  }
  const std::vector<Verdict> verdicts = judge_together(evidence);
  std::vector<Claim> claims;
  std::size_t next = 0;
  for (WeighedClaim& claim : weighed) {
    if (claim.evidence) {
      claim.claim.p = claim.evidence->p();
      claim.claim.verdict = verdicts[next++];
    }
    claims.push_back(std::move(claim.claim));
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
    entry["verdict"] = verdict_name(claim.verdict);
    entry["p"] = claim.p;  // null where counting decides
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace lifeguard
