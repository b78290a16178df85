// The page that docs/studies/results.md holds.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lifeguard/paper/number_text.hpp"
#include "lifeguard/paper/reproduction.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

/// "| median (its interval) | mean | 10 to 90 % | worst ", four columns.
std::string columns(const OverSeeds& value) {
  return fmt::format("| {} | {} | {} to {} | {} ", median_text(value), number_text(value.mean),
                     number_text(value.low), number_text(value.high), number_text(value.worst));
}

/// Their heads.
std::string heads(const std::string& quantity) {
  return fmt::format("| {}: median | mean | 10 to 90 % | worst ", quantity);
}

std::string head_of_table(const std::string& line) {
  const auto columns = static_cast<int>(std::count(line.begin(), line.end(), '|'));
  std::string rule = "|";
  for (int i = 0; i + 1 < columns; ++i) rule += "---|";
  return line + "\n" + rule + "\n";
}

std::string table(const FigureResult& result) {
  const std::vector<MethodSummary>& methods = result.comparison.methods;
  const FigureKind kind = result.figure.kind;
  const auto unsafe = [](const MethodSummary& m) {
    return fmt::format("| {} of {} ", m.unsafe_policies, m.policies_handed_out);
  };
  std::string page;
  switch (kind) {
    case FigureKind::performance:
    case FigureKind::machines: {
      const bool machines = kind == FigureKind::machines;
      page += head_of_table("| method " + std::string(machines ? "| unsafe policies " : "") +
                            heads("rounds to 90 %") + "| never " + heads("final gap %") +
                            "| failed | final cost: median |");
      for (const MethodSummary& m : methods) {
        page += fmt::format("| {} {}{}| {} {}| {} | {} |\n", m.name, machines ? unsafe(m) : "",
                            columns(m.rounds_to_90_percent), m.never_reached,
                            columns(m.final_gap_percent), m.failed, median_text(m.final_cost));
      }
      break;
    }
    case FigureKind::path:
      page +=
          head_of_table("| method | unsafe policies " +
                        heads("length of the path over its distance") + heads("final cost") + "|");
      for (std::size_t i = 0; i < methods.size(); ++i) {
        page += fmt::format("| {} {}{}{}|\n", methods[i].name, unsafe(methods[i]),
                            columns(result.detours[i]), columns(methods[i].final_cost));
      }
      break;
    case FigureKind::until_safe:
      page += head_of_table("| method " + heads("observations until safe") +
                            "| tasks not safe at the end | unsafe policies " + heads("final cost") +
                            "|");
      for (const MethodSummary& m : methods) {
        page += fmt::format("| {} {}| {} of {} {}{}|\n", m.name, columns(m.observations_until_safe),
                            m.tasks_never_safe, result.config.tasks * result.config.seeds,
                            unsafe(m), columns(m.final_cost));
      }
      break;
    case FigureKind::spectrum:
      page += head_of_table("| form, p and q " + heads("final cost") + "| unsafe policies |");
      for (const MethodSummary& m : methods) {
        page += fmt::format("| {} {}{}|\n", m.name, columns(m.final_cost), unsafe(m));
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

/// The fewest of so many seeds that confirm a claim of one part which stands alone; 0 if none do.
int seeds_needed(int seeds) {
  for (int holds = seeds; holds > seeds / 2; --holds) {
    if (judge_together({weigh({{holds, seeds}})}).front() != Verdict::confirmed) {
      return holds == seeds ? 0 : holds + 1;
    }
  }
  return 0;
}

std::string how_it_was_judged(const std::vector<FigureResult>& results,
                              const std::vector<Claim>& claims) {
  const int seeds = results.front().config.seeds;
  const auto judged =
      std::count_if(claims.begin(), claims.end(), [](const Claim& c) { return !std::isnan(c.p); });
  const int needed = seeds_needed(seeds);
  return fmt::format(
      "Every method plays the same seeds, and nothing was tuned on them. A claim says that "
      "something holds on more\nthan half of all seeds there are: *confirmed* if the exact sign "
      "test on the differences of each seed says so,\n*refuted* if it says that it holds on fewer, "
      "*undecided* otherwise. A tie is not better; a claim of several parts\nis confirmed if all "
      "are and refuted if one is. p is two-sided, of one claim; the words are of the {} of this "
      "page\ntogether: the chance that any of them is wrong is at most 5 % (Holm). {}"
      "Claims without a p are decided by counting.\n\n",
      judged,
      needed > 0 ? fmt::format("Alone, a claim of one part needs {} of {} seeds. ", needed, seeds)
                 : fmt::format("{} seeds are too few to decide anything by themselves. ", seeds));
}

}  // namespace

std::string results_page(const std::vector<FigureResult>& results) {
  const ExperimentConfig& first = results.front().config;
  const bool machines = results.front().figure.kind == FigureKind::machines;
  const std::vector<Claim> claims = judge_claims(results);
  std::string page = fmt::format(
      "# {}\n\nWritten by `lifeguard reproduce` (version {}) from its run files; nothing here "
      "is typed by hand.\n{} tasks, {} trajectories of {} steps a round, the {} seeds from {} on. "
      "`learner` is the default setting for all families;\n",
      machines ? "Closed loops" : "Results", kVersion, first.tasks, first.trajectories, first.steps,
      first.seeds, first.seed);
  page += machines ? "`pg`, `pg-ella` and `shared` were tuned for each family on other seeds, with "
                     "gradients\n"
                     "alone; all methods have the model critic here.\n\n"
                   : "`ours-10`, `ours-50` and `ours-100` are the paper's alternating closed form "
                     "with so many alternations a round. It,\n`pg`, `pg-ella` and `shared` were "
                     "tuned for each family on other seeds, with as many trials for each\n"
                     "([learning.md](learning.md#what-was-tuned)). The growth of the regret has a "
                     "page of its own: [regret.md](regret.md).\n\n";
  page +=
      "*Rounds to 90 %*: of the way from the first cost to the lowest that LQR or any method "
      "reaches. *Gap*: what is\nleft of it. *never*: seeds that were not there at any time; "
      "*failed*: "
      "seeds that are not at the end. A seed that is\nnever there counts with all its rounds in "
      "the "
      "mean. *Worst*: of all seeds. Medians stand with 95 % intervals that\nhold for any "
      "distribution (order statistics).\n\n";
  page += machines ? "## What the machines went through\n\n"
                   : "## What the paper says, and what we measured\n\n" +
                         how_it_was_judged(results, claims);
  page += "| claim | paper | measured | p | verdict |\n|---|---|---|---|---|\n";
  for (const Claim& claim : claims) {
    page += fmt::format("| {} | {} | {} | {} | {} |\n", claim.claim, claim.paper, claim.measured,
                        number_text(claim.p, 2), verdict_name(claim.verdict));
  }
  for (const FigureResult& result : results) {
    page += fmt::format("\n## {}\n`configs/paper/{}.toml`, {} rounds, {} {}.\n\n{}{}",
                        result.figure.title, result.figure.name, result.config.rounds,
                        result.config.tasks, result.config.tasks == 1 ? "task" : "tasks",
                        table(result), incidents(result));
  }
  return page;
}

}  // namespace lifeguard
