#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/batch_kernel.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::python {
namespace {

/// Many copies of one task, side by side, that others act on: what a vector environment of
/// Gymnasium is made of. Episode e of copy i starts where trajectory i + e · count of a rollout
/// with the same seed does.
class BatchEnvironment {
 public:
  BatchEnvironment(Task task, int count, int steps)
      : task_(std::move(task)), count_(count), steps_(steps) {
    task_.validate();
    require(count > 0, "num_envs", count, "must be at least 1");
    require(steps >= 0, "steps", steps, "must be at least 0; 0 means no end");
    const auto padded =
        static_cast<std::size_t>((count + kBatchPadding - 1) / kBatchPadding) * kBatchPadding;
    stride_ = padded;
    states_.resize(padded * static_cast<std::size_t>(task_.states()));
    actions_.resize(padded * static_cast<std::size_t>(task_.actions()));
    costs_.resize(padded);
    failed_.resize(padded);
    ages_.resize(static_cast<std::size_t>(count));
    episodes_.resize(static_cast<std::size_t>(count));
    seeds_.resize(static_cast<std::size_t>(count));
    over_.resize(static_cast<std::size_t>(count));
  }

  const Task& task() const { return task_; }
  int count() const { return count_; }

  /// Which seed each copy draws its starts from, from its first episode on.
  void seed(int i, std::uint64_t seed) {
    seeds_[index(i)] = seed;
    episodes_[index(i)] = 0;
  }

  void start(int i) {
    const auto place = index(i);
    const std::uint64_t episode = episodes_[place]++;
    const CounterRandom random(seeds_[place], RandomStream::start_state, episode);
    std::vector<double> x(static_cast<std::size_t>(task_.states()));
    if (const auto* custom = std::get_if<CustomSystemPointer>(&task_.system.model().machine)) {
      (*custom)->start(random, x);
    } else {
      for (std::size_t s = 0; s < x.size(); ++s) {
        const auto at = static_cast<Eigen::Index>(s);
        x[s] = random.uniform(static_cast<std::uint32_t>(s), task_.settings.start_low(at),
                              task_.settings.start_high(at));
      }
    }
    for (std::size_t s = 0; s < x.size(); ++s) states_[s * stride_ + place] = x[s];
    ages_[place] = 0;
    over_[place] = 0;
  }

  /// One step of all copies; what must not move keeps its state.
  void advance() {
    if (const auto* custom = std::get_if<CustomSystemPointer>(&task_.system.model().machine)) {
      advance_custom(**custom);
    } else {
      batch_step({&task_, count_, stride_, actions_.data(), states_.data(), costs_.data(),
                  failed_.data()});
    }
  }

  double& state(int s, int i) { return states_[static_cast<std::size_t>(s) * stride_ + index(i)]; }
  double& action(int a, int i) {
    return actions_[static_cast<std::size_t>(a) * stride_ + index(i)];
  }
  double cost(int i) const { return costs_[index(i)]; }
  bool failed(int i) const { return failed_[index(i)] != 0; }
  int& age(int i) { return ages_[index(i)]; }
  bool over(int i) const { return over_[index(i)] != 0; }
  void set_over(int i, bool over) { over_[index(i)] = over ? 1 : 0; }
  int steps() const { return steps_; }

  /// What a policy sees, one row for each copy.
  void observe(double* out) {
    if (task_.own_features() > 0) {
      observe_own(*std::get<CustomSystemPointer>(task_.system.model().machine), out);
      return;
    }
    for (int i = 0; i < count_; ++i) {
      for (int s = 0; s < task_.states(); ++s) *out++ = state(s, i) - task_.settings.goal(s);
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  static constexpr int kWidth = SideBySide::kWidth;

  /// Sixteen copies side by side, as rollouts of custom systems have them: calls
  /// use(all, first, here, x) for each such part, with its states in x.
  template <class Use>
  void in_parts(const Use& use) {
    std::array<int, kWidth> places;
    std::iota(places.begin(), places.end(), 0);
    std::vector<double> x(index(task_.states() * kWidth));
    for (int first = 0; first < count_; first += kWidth) {
      const int here = std::min(kWidth, count_ - first);
      for (int s = 0; s < task_.states(); ++s) {
        std::copy_n(&state(s, first), here, &x[index(s * kWidth)]);
      }
      use(SideBySide{std::span(places.data(), index(here))}, first, here, x);
    }
  }

  void observe_own(const CustomSystem& system, double* out) {
    const int own = task_.own_features();
    std::vector<double> seen(index(own * kWidth));
    in_parts([&](const SideBySide& all, int /*first*/, int here, const std::vector<double>& x) {
      system.features_all(all, x.data(), seen.data());
      for (int t = 0; t < here; ++t) {
        for (int f = 0; f < own; ++f) *out++ = seen[index(f * kWidth + t)];
      }
    });
  }

  void advance_custom(const CustomSystem& system) {
    const TaskSettings& settings = task_.settings;
    std::vector<double> u(index(task_.actions() * kWidth));
    double cost[kWidth];
    bool ended[kWidth];
    in_parts([&](const SideBySide& all, int first, int here, std::vector<double>& x) {
      for (int a = 0; a < task_.actions(); ++a) {
        for (int t = 0; t < here; ++t) {
          u[index(a * kWidth + t)] =
              std::clamp(action(a, first + t), settings.action_low(a), settings.action_high(a));
        }
      }
      system.cost_all(all, x.data(), u.data(), cost);
      system.step_all(all, u.data(), x.data());
      system.failed_all(all, x.data(), ended);
      for (int t = 0; t < here; ++t) {
        bool failed = ended[t];
        for (int s = 0; s < task_.states(); ++s) {
          const double value = x[index(s * kWidth + t)];
          state(s, first + t) = value;
          const double bound = std::min(settings.failure_bounds(s), kDivergenceBound);
          failed = failed || !(std::abs(value) <= bound);
        }
        costs_[index(first + t)] = cost[t];
        failed_[index(first + t)] = failed ? 1 : 0;
      }
    });
  }

  Task task_;
  int count_;
  int steps_;
  std::size_t stride_ = 0;
  AlignedVector<double> states_;   // states × stride
  AlignedVector<double> actions_;  // actions × stride
  AlignedVector<double> costs_;
  AlignedVector<double> failed_;
  std::vector<int> ages_;
  std::vector<std::uint64_t> episodes_;
  std::vector<std::uint64_t> seeds_;
  std::vector<char> over_;
};

nb::object observations(BatchEnvironment& batch) {
  const int inputs = batch.task().inputs();
  NewArray out({size(batch.count()), size(inputs)});
  batch.observe(out.data());
  return out.finish();
}

nb::object reset(BatchEnvironment& batch, const std::optional<std::vector<std::uint64_t>>& seeds,
                 const std::optional<std::vector<bool>>& mask) {
  if (seeds) require_size("seeds", static_cast<long>(seeds->size()), batch.count());
  if (mask) require_size("mask", static_cast<long>(mask->size()), batch.count());
  for (int i = 0; i < batch.count(); ++i) {
    if (mask && !(*mask)[size(i)]) continue;
    if (seeds) batch.seed(i, (*seeds)[size(i)]);
    batch.start(i);
  }
  return observations(batch);
}

template <class Number>
nb::object flags(const std::vector<Number>& values) {
  auto* data = new bool[values.size() + 1];  // NOLINT: the capsule owns it
  std::copy(values.begin(), values.end(), data);
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  const std::size_t shape[1] = {values.size()};
  return nb::ndarray<nb::numpy, bool>(data, 1, shape, owner).cast();
}

/// (observations, costs, terminated, truncated, final observations). What ended is started again at
/// once in mode 1 (the same step) or in the next step in mode 0, where its action does not count;
/// in mode 2 never.
nb::tuple step(BatchEnvironment& batch, const Numbers2& actions, int mode) {
  const int count = batch.count();
  const int width = batch.task().actions();
  require_size("actions.shape[0]", static_cast<long>(actions.shape(0)), count);
  require_size("actions.shape[1]", static_cast<long>(actions.shape(1)), width);
  for (int i = 0; i < count; ++i) {
    for (int a = 0; a < width; ++a) {
      const double value = actions(size(i), size(a));
      require(std::isfinite(value), "actions", value, "must be finite");
      batch.action(a, i) = value;
    }
  }
  std::vector<int> waiting;
  for (int i = 0; i < count; ++i) {
    if (batch.over(i)) {
      require(mode != 2, "actions", static_cast<double>(i),
              "are for an environment that has ended: reset it");
      waiting.push_back(i);
    }
  }
  {
    const nb::gil_scoped_release release;
    batch.advance();
  }
  for (const int i : waiting) batch.start(i);
  std::vector<char> terminated(size(count)), truncated(size(count));
  NewArray costs({size(count)});
  std::vector<int> ended;
  std::size_t next_waiting = 0;
  for (int i = 0; i < count; ++i) {
    if (next_waiting < waiting.size() && waiting[next_waiting] == i) {
      ++next_waiting;
      costs.data()[i] = 0;
      continue;
    }
    costs.data()[i] = batch.cost(i);
    const bool failed = batch.failed(i);
    const bool late = ++batch.age(i) >= batch.steps() && batch.steps() > 0;
    terminated[size(i)] = failed ? 1 : 0;
    truncated[size(i)] = !failed && late ? 1 : 0;
    if (failed || late) {
      batch.set_over(i, true);
      ended.push_back(i);
    }
  }
  nb::object seen = observations(batch);
  nb::object final_seen = nb::none();
  if (mode == 1 && !ended.empty()) {
    final_seen = seen;
    for (const int i : ended) batch.start(i);
    seen = observations(batch);
  }
  return nb::make_tuple(seen, costs.finish(), flags(terminated), flags(truncated), final_seen);
}

}  // namespace

void bind_batch_environments(nb::module_& module) {
  nb::class_<BatchEnvironment>(
      module, "BatchEnvironment",
      "Many copies of one task side by side, on the processor's vectors, that\n"
      "others act on; lifeguard.gymnasium makes environments of it.")
      .def(nb::init<Task, int, int>(), "task"_a, "count"_a, "steps"_a)
      .def_prop_ro("task", [](const BatchEnvironment& b) { return b.task(); })
      .def_prop_ro("count", &BatchEnvironment::count)
      .def_prop_ro(
          "states",
          [](BatchEnvironment& b) {
            NewArray out({size(b.count()), size(b.task().states())});
            double* next = out.data();
            for (int i = 0; i < b.count(); ++i) {
              for (int s = 0; s < b.task().states(); ++s) *next++ = b.state(s, i);
            }
            return out.finish();
          },
          "The states, absolute; a copy.")
      .def(
          "set_state",
          [](BatchEnvironment& b, int i, const Eigen::VectorXd& state) {
            require(i >= 0 && i < b.count(), "i", i, "must be the number of a copy");
            require_size("state", state.size(), b.task().states());
            for (int s = 0; s < b.task().states(); ++s) {
              require_finite("state", state(s));
              b.state(s, i) = state(s);
            }
          },
          "i"_a, "state"_a)
      .def("reset", &reset, "seeds"_a = nb::none(), "mask"_a = nb::none())
      .def("step", &step, "actions"_a, "mode"_a = 0);
}

}  // namespace lifeguard::python
