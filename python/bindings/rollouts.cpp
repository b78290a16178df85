#include "lifeguard/trajectories/rollout.hpp"

#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/seed.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/regret/true_cost.hpp"

namespace lifeguard::python {
namespace {

RolloutSettings settings_of(int trajectories, int steps, const Seed& seed, const Seed& first_index,
                            const Features& features, int threads) {
  RolloutSettings settings;
  settings.trajectories = trajectories;
  settings.steps = steps;
  settings.seed = seed.value();
  settings.first_index = first_index.value("first_index");
  settings.features = features;
  settings.threads = threads;
  settings.validate();
  return settings;
}

/// Into `out`, if there is one. It keeps its memory, since arrays may be views of it.
nb::object rolled_out(const Task& task, const GaussianPolicy& policy, int trajectories, int steps,
                      const Seed& seed, const Seed& first_index, const Features& features,
                      int threads, const nb::object& out) {
  const RolloutSettings settings =
      settings_of(trajectories, steps, seed, first_index, features, threads);
  if (out.is_none()) {
    Trajectories batch;
    Interrupt interrupt;
    interrupt.run([&] { rollout(task, policy, settings, batch, interrupt.token()); });
    return nb::cast(std::move(batch));
  }
  auto& batch = nb::cast<Trajectories&>(out);
  const int count = feature_count(task, features);
  require(batch.count() == trajectories && batch.steps() == steps && batch.features() == count &&
              batch.actions() == task.actions(),
          "out", "of another shape", "must have the shape of the batch that is to be written");
  Interrupt interrupt;
  interrupt.run([&] { rollout(task, policy, settings, batch, interrupt.token()); });
  return out;
}

nb::dict evaluated(const Task& task, const GaussianPolicy& policy, int trajectories, int steps,
                   const Seed& seed, const Seed& first_index, const Features& features,
                   int threads) {
  const RolloutSettings settings =
      settings_of(trajectories, steps, seed, first_index, features, threads);
  Interrupt interrupt;
  const Evaluation result =
      interrupt.run([&] { return evaluate(task, policy, settings, interrupt.token()); });
  nb::dict given;
  given["mean_cost"] = result.mean_cost;
  given["failed"] = result.failed;
  given["diverged"] = result.diverged;
  return given;
}

}  // namespace

void bind_rollouts(nb::module_& module) {
  module.def(
      "rollout", &rolled_out, "task"_a, "policy"_a, "trajectories"_a = 50, "steps"_a = 150,
      "seed"_a = 0, "first_index"_a = 0, "features"_a = Features{}, "threads"_a = 1,
      "out"_a = nb::none(),
      first(
          "rollout",
          " 0 threads are all cores. A batch of 50 is the batches of 20 and 30 at first_index 0\n"
          "and 20, to the bit. `out` is a batch of the same shape whose memory is written again."));
  module.def("evaluate", &evaluated, "task"_a, "policy"_a, "trajectories"_a = 50, "steps"_a = 150,
             "seed"_a = 0, "first_index"_a = 0, "features"_a = Features{}, "threads"_a = 1,
             doc("Evaluation", "\nThe result is {mean_cost, failed, diverged}."));
  module.def(
      "state_paths",
      [](const Task& task, const GaussianPolicy& policy, int trajectories, int steps,
         const Seed& seed, const Features& features) {
        const RolloutSettings settings =
            settings_of(trajectories, steps, seed, Seed(), features, 1);
        std::vector<Eigen::MatrixXd> paths;
        {
          const nb::gil_scoped_release release;
          paths = state_paths(task, policy, settings);
        }
        for (Eigen::MatrixXd& path : paths) path.transposeInPlace();
        return paths;
      },
      "task"_a, "policy"_a, "trajectories"_a = 1, "steps"_a = 150, "seed"_a = 0,
      "features"_a = Features{}, doc("state_paths", "\nIn Python one row for each step."));
}

}  // namespace lifeguard::python
