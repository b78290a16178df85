#include "lifeguard/runs/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/incidents.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard {
namespace {

/// Adds up what a run's rounds say, in order.
class Summariser {
 public:
  using SafeSetOf = std::function<const SafeSet&(int)>;
  using PlayedSetOf = std::function<const SafeSet&(const StoredRound&)>;
  Summariser(const StoredExperiment& experiment, const std::vector<Task>& tasks,
             const SafeSetOf& safe_set, PlayedSetOf played_set)
      : played_set_(std::move(played_set)) {
    for (int t = 0; t < experiment.tasks; ++t) {
      for (const auto& closed_loop : safe_set(t).closed_loops()) {
        summary_.exit_probability = std::fmax(
            summary_.exit_probability,
            exit_probability(tasks[static_cast<std::size_t>(t)], *closed_loop, experiment.steps));
      }
    }
    summary_.experiment = experiment.name;
    summary_.label = experiment.method;
    summary_.seed = experiment.seed;
    for (int t = 0; t < experiment.tasks; ++t) {
      summary_.constrained = summary_.constrained || safe_set(t).constrained();
    }
    trajectories_ = experiment.trajectories;
    seen_.assign(static_cast<std::size_t>(experiment.tasks), 0);
    needed_.assign(static_cast<std::size_t>(experiment.tasks), 0);
  }

  void add(const StoredRound& round) {
    const auto t = static_cast<std::size_t>(round.task);
    ++seen_[t];
    if (!obeys_exactly(played_set_(round), round.played)) needed_[t] = seen_[t];
    summary_.rounds_done = round.round;
    summary_.unsafe_policies += round.unsafe;
    summary_.fallbacks += round.fallbacks;
    summary_.falls += round.falls;
    summary_.violations += round.violations;
    summary_.saturations += round.saturations;
    summary_.trajectories += trajectories_;
    summary_.policies_handed_out += static_cast<long>(seen_.size());
    summary_.rollout_seconds += round.rollout_seconds;
    summary_.learn_seconds += round.learn_seconds;
  }
  void add(const StoredEvaluation& evaluation) {
    summary_.rounds.push_back(evaluation.round);
    summary_.costs.push_back(evaluation.mean_cost());
    summary_.least_margins.push_back(evaluation.margins.minCoeff());
    summary_.worst_margin = summary_.least_margins.back();
  }
  void add(const StoredRegret& regret) { summary_.regret.push_back(regret); }

  RunSummary finish(bool finished) {
    summary_.finished = finished;
    for (std::size_t t = 0; t < seen_.size(); ++t) {
      if (seen_[t] == 0) continue;
      const bool never = needed_[t] == seen_[t];
      if (never) ++summary_.tasks_never_safe;
      summary_.observations_until_safe.push_back(never ? kInfinity
                                                       : static_cast<double>(needed_[t]));
    }
    return std::move(summary_);
  }

 private:
  PlayedSetOf played_set_;
  RunSummary summary_;
  std::vector<long> seen_;    // observations of each task
  int trajectories_ = 0;      // of a round
  std::vector<long> needed_;  // the last of them that was made with an unsafe policy
};

std::optional<TheoremReport> theorem_report(const RunView& run) {
  if (run.lemmas.empty()) return {};
  const StoredExperiment& e = run.header.experiment;
  try {
    TheoremBounds bounds({e.p, e.q, e.mu1, e.mu2, e.zeta});
    const Eigen::MatrixXd& anchors = run.knowledge ? run.knowledge->anchors : run.first_policies;
    for (int t = 0; t < e.tasks; ++t) bounds.add_task(run.safe_set(t), anchors.col(t));
    if (!bounds.finite()) return {};
    for (const StoredLemmas& round : run.lemmas) bounds.add(round.values, e.k);
    return bounds.report(1 / std::sqrt(static_cast<double>(run.lemmas.size())));
  } catch (const InvalidInput& error) {
    throw DamagedRunFile(
        fmt::format("{} is damaged: table experiment: {}", run.file, error.what()));
  }
}

nlohmann::ordered_json theorem_to_json(const TheoremReport& t) {
  nlohmann::ordered_json json;
  json["rounds"] = t.rounds;
  json["worst_ratios"] = t.worst_ratios;  // measured / bound, Lemmas 1 to 4
  json["printed_ratios"] = t.printed_ratios;
  json["gamma1"] = t.gamma1;
  json["gamma2"] = t.gamma2;
  json["gamma3"] = t.gamma3;
  json["gamma5"] = t.gamma5;
  json["sum_of_steps"] = t.excess;
  json["regret_bound"] = t.regret_bound;
  json["printed_regret_bound"] = t.printed_regret_bound;
  return json;
}

}  // namespace

double RunSummary::mean_cost() const {
  // Round j costs what the last evaluation at or before it said.
  if (costs.empty()) return kNaN;
  double sum = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const long until = i + 1 < rounds.size() ? rounds[i + 1] : rounds_done + 1;
    const long first = std::max(1L, rounds[i]);
    sum += costs[i] * static_cast<double>(std::max(0L, until - first));
  }
  return sum / static_cast<double>(std::max(1L, rounds_done));
}

double RunSummary::rounds_to(double level) const {
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (costs[i] <= level) return static_cast<double>(rounds[i]);
  }
  return static_cast<double>(rounds_done);
}

RunSummary summarise(const RunView& run) {
  Summariser summariser(
      run.header.experiment, run.tasks,
      [&](int task) -> const SafeSet& { return run.safe_set(task); },
      [&](const StoredRound& round) -> const SafeSet& { return run.safe_set_played(round); });
  for (const StoredEvaluation& evaluation : run.evaluations) summariser.add(evaluation);
  for (const StoredRound& round : run.rounds) summariser.add(round);
  for (const StoredRegret& regret : run.regrets) summariser.add(regret);
  RunSummary summary = summariser.finish(run.header.finished);
  summary.theorem = theorem_report(run);
  if (run.header.observed) {
    summary.policies_handed_out = static_cast<long>(run.issues.size());
    summary.trajectories = 0;
    for (const StoredObservation& o : run.observations) summary.trajectories += o.trajectories;
  }
  return summary;
}

RunSummary play_in_memory(const ExperimentConfig& config, const RunOptions& options) {
  ExperimentConfig without_regret = config;
  without_regret.regret = false;  // nobody reads it here
  Run run(without_regret, options.drawn ? *options.drawn : draw_tasks(config, options.work),
          options.work);
  const auto safe_set = [&](int task) -> const SafeSet& {
    return run.drawn().safe_sets[static_cast<std::size_t>(task)];
  };
  Summariser summariser(
      experiment_of(config), run.drawn().tasks, safe_set,
      [&](const StoredRound& round) -> const SafeSet& { return safe_set(round.task); });
  summariser.add(run.evaluate_now());
  bool go_on = true;
  while (go_on && !run.finished()) {
    const RoundOutcome& outcome = run.play();
    summariser.add(outcome.round);
    if (outcome.evaluation) summariser.add(*outcome.evaluation);
    go_on = !options.after_round || options.after_round(run, outcome);
  }
  return summariser.finish(run.finished());
}

nlohmann::ordered_json summary_to_json(const RunSummary& s) {
  nlohmann::ordered_json json;
  json["experiment"] = s.experiment;
  json["method"] = s.label;
  json["seed"] = s.seed;
  json["finished"] = s.finished;
  json["rounds"] = s.rounds_done;
  json["initial_cost"] = s.initial_cost();  // null before the first evaluation
  json["mean_cost"] = s.mean_cost();
  json["final_cost"] = s.final_cost();
  json["unsafe_policies"] = s.unsafe_policies;
  json["policies_handed_out"] = s.policies_handed_out;
  json["fallbacks"] = s.fallbacks;
  json["falls"] = s.falls;
  json["violations"] = s.violations;
  json["saturations"] = s.saturations;
  json["trajectories"] = s.trajectories;
  json["exit_probability"] = s.exit_probability;  // null without closed loops
  json["worst_margin"] = s.worst_margin;          // null without constraints
  if (!s.regret.empty()) {
    json["surrogate_regret"] = s.regret.back().surrogate;
    json["true_cost_regret"] = s.regret.back().true_cost;
    const StoredRegret& last = s.regret.back();
    if (last.bounded()) {
      json["regret_bound"] = {{"total", last.bound},
                              {"prior", last.bound_prior},
                              {"rounds", last.bound_rounds},
                              {"off_leader", last.bound_off_leader},
                              {"changes", last.bound_changes},
                              {"logarithmic", last.bound_logarithmic},
                              {"without_knowledge", last.bound_without_knowledge}};
    }
  }
  if (s.theorem) json["theorem"] = theorem_to_json(*s.theorem);
  json["rollout_seconds"] = s.rollout_seconds;
  json["learn_seconds"] = s.learn_seconds;
  return json;
}

}  // namespace lifeguard
