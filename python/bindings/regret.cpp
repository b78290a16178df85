#include "lifeguard/regret/ledger.hpp"

#include <optional>
#include <sstream>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/seed.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/regret/true_cost.hpp"

namespace lifeguard::python {
namespace {

nb::dict regret_to_dict(const RegretLedger& ledger) {
  SurrogateRegret regret;
  {
    const nb::gil_scoped_release release;
    regret = ledger.surrogate_regret();
  }
  nb::list tasks;
  for (const TaskRegret& task : regret.tasks) {
    nb::dict entry;
    entry["rounds"] = task.rounds;
    entry["played"] = task.played;
    entry["least"] = task.least();
    entry["most"] = task.most();
    tasks.append(entry);
  }
  nb::dict given;
  given["rounds"] = regret.rounds;
  given["played"] = regret.played;
  given["least"] = regret.least;
  given["most"] = regret.most;
  given["tasks"] = tasks;
  return given;
}

TrueCostSettings cost_settings(int start_states, int steps, const Seed& seed, bool exploration,
                               const Features& features) {
  TrueCostSettings settings;
  settings.start_states = start_states;
  settings.steps = steps;
  settings.seed = seed.value();
  settings.exploration = exploration;
  settings.features = features;
  settings.validate();
  return settings;
}

}  // namespace

void bind_regret(nb::module_& module) {
  nb::class_<RegretLedger>(module, "RegretLedger", doc("RegretLedger"))
      .def(nb::init<int, int>(), "features"_a, "actions"_a)
      .def("add_task", &RegretLedger::add_task, "safe_set"_a = nb::none(),
           doc("RegretLedger::add_task"))
      .def("record", &RegretLedger::record, "task"_a, "loss"_a, "alpha"_a,
           doc("RegretLedger::record"))
      .def_prop_ro("tasks", &RegretLedger::tasks)
      .def_prop_ro("rounds", nb::overload_cast<>(&RegretLedger::rounds, nb::const_))
      .def("regret", &regret_to_dict,
           doc("SurrogateRegret", "\nIt lies between `least` and `most`."))
      .def("__getstate__",
           [](const RegretLedger& ledger) {
             std::ostringstream out;
             ledger.save(out);
             return out.str();
           })
      .def("__setstate__", [](RegretLedger& self, const std::string& text) {
        std::istringstream in(text);
        new (&self) RegretLedger(RegretLedger::load(in));
      });

  module.def(
      "true_cost",
      [](const Task& task, const Eigen::VectorXd& alpha, int start_states, int steps,
         const Seed& seed, bool exploration, const Features& features) {
        const auto settings = cost_settings(start_states, steps, seed, exploration, features);
        const nb::gil_scoped_release release;
        return true_cost(task, alpha, settings);
      },
      "task"_a, "alpha"_a, "start_states"_a = 20, "steps"_a = 150, "seed"_a = 0,
      "exploration"_a = false, "features"_a = Features{},
      doc("true_cost", "\nThese are the same for every policy."));
  module.def(
      "best_known_policy",
      [](const Task& task, const SafeSet& set, const std::vector<Eigen::VectorXd>& candidates,
         int trials, int start_states, int steps, const Seed& seed, const Features& features) {
        BestPolicySettings settings;
        settings.cost = cost_settings(start_states, steps, seed, false, features);
        settings.trials = trials;
        settings.seed = seed.value();
        BestPolicy best;
        {
          const nb::gil_scoped_release release;
          best = best_known_policy(task, set, candidates, settings);
        }
        return std::pair(best.alpha, best.cost);
      },
      "task"_a, "safe_set"_a, "candidates"_a = std::vector<Eigen::VectorXd>{}, "trials"_a = 400,
      "start_states"_a = 20, "steps"_a = 150, "seed"_a = 0, "features"_a = Features{},
      doc("best_known_policy", "\nThe result is (alpha, cost)."));
}

}  // namespace lifeguard::python
