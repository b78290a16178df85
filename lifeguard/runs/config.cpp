#include "lifeguard/runs/experiment.hpp"

#include "lifeguard/core/settings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lifeguard {
namespace {

constexpr std::array<std::string_view, 4> kSchedules = {"in turn", "random", "first only",
                                                        "in sequence"};

void visit_experiment(SettingVisitor& v, ExperimentConfig& c) {
  v.section("experiment", "What is run, and for how long.");
  v.text("name", c.name, "names the run in files and reports");
  v.integer("rounds", c.rounds, Range::between(1, 10000000), "rounds", "R, how many are played");
  v.integer("tasks", c.tasks, Range::between(1, 100000), "tasks", "T, drawn anew for each seed");
  v.integer("trajectories", c.trajectories, Range::between(2, 1000000), "trajectories",
            "gathered in each round");
  v.integer("steps", c.steps, Range::between(1, 1000000), "time steps", "of each trajectory");
  v.integer("seed", c.seed, Range::at_least(0), "",
            "of a run; same config and seed, same results to the bit");
  v.integer("seeds", c.seeds, Range::between(1, 10000), "runs",
            "of each method in a comparison: seed, seed + 1, …");
  visit_choice(v, "schedule", c.schedule, kSchedules, "which task a round visits");
  v.number(
      "start_lqr_share", c.start_lqr_share, Range::between(-1, 1), "",
      "first policy of every task, as a share of the family's mean LQR gains; below 0: as suits "
      "the system (docs/systems.md)");
  v.flag("start_own", c.start_own,
         "that share of each task's own LQR gains instead, a controller that works for it");
  std::vector<std::string_view> known = method_names();
  for (const Variant& variant : c.variants) known.push_back(variant.name);
  int place = static_cast<int>(std::find(known.begin(), known.end(), c.method) - known.begin());
  v.choice("method", place, known, "what a single run learns with, a method or a variant");
  c.method = known[static_cast<std::size_t>(place)];
  v.list("methods", c.methods, known, "what a comparison runs side by side");

  v.section("evaluation", "How policies are judged: without noise, from fixed start states.");
  v.integer("start_states", c.start_states, Range::between(1, 1000000), "start states",
            "for each task, the same in every round");
  v.number("spacing", c.evaluation_spacing, Range::at_least(0), "",
           "after round j the next evaluation is max(1, j · spacing) rounds later; the last round "
           "is always evaluated");
  v.flag("regret", c.regret, "keep the regret ledger of a run file");
}

}  // namespace

void visit_keys(SettingVisitor& visitor, ExperimentConfig& config) {
  visit_experiment(visitor, config);
  visitor.section("policy", "What policies see of the state x; with e = x - goal they see e.");
  visitor.flag("bias", config.features.bias, "policies see a constant 1 as well");
  visitor.flag("second_order", config.features.second_order,
               "policies see all products of two entries of e as well");
  config.round.visit_base_learner(visitor);
  for_each_method(config.settings, [&](auto& method) {
    method.round.share_base_learner(config.round);
    method.visit(visitor);
  });
}

}  // namespace lifeguard
