#include "lifeguard/trajectories/rollout.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/core/overloaded.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/kernel.hpp"

namespace lifeguard {
namespace {

int chunk_count(const RolloutJob& job) { return (job.count + job.chunk - 1) / job.chunk; }

void simulate(const RolloutJob& job, int chunk) { simulate_chunk(job, chunk * job.chunk); }

/// What is larger than this is out of a core's own caches before anybody reads it.
constexpr std::size_t kCachedBytes = 4u << 20;

/// Runs body(0) … body(count - 1) on so many threads; 0 means all cores.
template <class Body>
void for_each_index(int count, int threads, const Body& body) {
  if (threads == 1 || count <= 1) {
    for (int i = 0; i < count; ++i) body(i);
    return;
  }
  // What is written before happens before every body, and every body before what follows. TBB sees
  // to that already, but the thread sanitizer does not see into TBB, and would look at every number
  // of a batch twice.
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  begun.store(1, std::memory_order_release);
  const auto told = [&](int i) {
    static_cast<void>(begun.load(std::memory_order_acquire));
    body(i);
    ended.fetch_add(1, std::memory_order_release);
  };
  const auto run = [&] { tbb::parallel_for(0, count, told, tbb::simple_partitioner()); };
  if (threads == 0) {
    run();
  } else {
    tbb::task_arena(threads).execute(run);
  }
  static_cast<void>(ended.load(std::memory_order_acquire));
}

void simulate_all(const RolloutJob& job, int threads, const StopToken& stop) {
  for_each_index(chunk_count(job), threads, [&](int chunk) {
    stop.throw_if_requested();
    simulate(job, chunk);
  });
}

/// The most gains that a policy of a built-in system can have.
constexpr std::size_t most_gains() {
  int most = 0;
  BuiltInSystems::for_each([&]<class S>() {
    most = std::max(most, S::kActions * Features{true, true}.count(S::kStates));
  });
  return static_cast<std::size_t>(most);
}

/// The gains one action after the other, as the kernels read them. Held on the stack for every
/// built-in system, so that a rollout allocates nothing.
class RowMajorGains {
 public:
  explicit RowMajorGains(const Eigen::MatrixXd& gains) {
    if (static_cast<std::size_t>(gains.size()) > small_.size()) large_.resize(gains.size());
    double* out = large_.empty() ? small_.data() : large_.data();
    for (Eigen::Index a = 0; a < gains.rows(); ++a) {
      for (Eigen::Index f = 0; f < gains.cols(); ++f) *out++ = gains(a, f);
    }
  }
  const double* data() const { return large_.empty() ? small_.data() : large_.data(); }

 private:
  std::array<double, most_gains()> small_;
  std::vector<double> large_;
};

void check(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings) {
  settings.validate();
  task.validate();
  const int features = feature_count(task, settings.features);
  const auto require_at_most = [](const char* field, int value, int most) {
    if (value > most) require(false, field, value, fmt::format("must be at most {}", most));
  };
  require_at_most("states", task.states(), kMaxCustomStates);
  require_at_most("actions", task.actions(), kMaxCustomActions);
  require_at_most("features", features, kMaxCustomFeatures);
  if (policy.actions() != task.actions() || policy.features() != features) {
    throw InvalidInput(
        "gains", fmt::format("{} x {}", policy.actions(), policy.features()),
        fmt::format("must be {} x {}, actions x features of the task", task.actions(), features));
  }
}

RolloutJob make_job(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings,
                    const RowMajorGains& gains) {
  RolloutJob job;
  job.task = &task;
  job.features = settings.features;
  job.feature_count = feature_count(task, settings.features);
  job.gains = gains.data();
  const PerAction& limits = task.settings.noise_limit;
  for (int a = 0; a < task.actions(); ++a) {
    const auto place = static_cast<std::size_t>(a);
    const bool as_before =
        a > 0 && policy.sigma(a) == policy.sigma(a - 1) && limits.of(a) == limits.of(a - 1);
    job.noise_limit[place] = limits.of(a);
    job.sigma[place] =
        as_before ? job.sigma[place - 1] : clipped_noise_scale(policy.sigma(a), limits.of(a));
    job.noisy = job.noisy || job.sigma[place] > 0;
  }
  job.seed = settings.seed;
  job.first_index = settings.first_index;
  job.count = settings.trajectories;
  job.steps = settings.steps;
  job.chunk = settings.trajectories < kLargeBatch ? kKernelChunk : kLargeKernelChunk;
  return job;
}

/// A job that fills `out`. Which trajectories diverged is noted beside their lengths.
RolloutJob make_storing_job(const Task& task, const GaussianPolicy& policy,
                            const RolloutSettings& settings, const RowMajorGains& gains,
                            Trajectories& out) {
  RolloutJob job = make_job(task, policy, settings, gains);
  out.reshape(settings.trajectories, settings.steps, job.feature_count, task.actions());
  job.stride = out.stride();
  job.features_out = out.feature_row(0, 0);
  job.actions_out = out.action_row(0, 0);
  job.costs_out = out.cost_row(0);
  const std::size_t numbers =
      static_cast<std::size_t>(job.feature_count) + static_cast<std::size_t>(task.actions()) + 1;
  job.past_caches =
      numbers * job.stride * static_cast<std::size_t>(job.steps) * sizeof(double) > kCachedBytes;
  job.lengths_out = out.lengths();
  job.diverged_out = out.diverged_flags();
  return job;
}

}  // namespace

void RolloutSettings::validate() const {
  require(trajectories > 0, "trajectories", trajectories, "must be at least 1");
  require(steps > 0, "steps", steps, "must be at least 1");
  require(threads >= 0, "threads", threads, "must be at least 0; 0 means all cores");
}

int feature_count(const Task& task, const Features& features) {
  const int own = task.own_features();
  if (own == 0) return features.count(task.states());
  require(features.is_state_only(), "features", "bias or second order",
          "must be the default for a system with features of its own");
  return own;
}

void rollout(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings,
             Trajectories& out, const StopToken& stop) {
  check(task, policy, settings);
  const RowMajorGains gains(policy.gains());
  const RolloutJob job = make_storing_job(task, policy, settings, gains, out);
  simulate_all(job, settings.threads, stop);
}

Trajectories rollout(const Task& task, const GaussianPolicy& policy,
                     const RolloutSettings& settings) {
  Trajectories out;
  rollout(task, policy, settings, out);
  return out;
}

namespace {

Eigen::VectorXd start_state(const Task& task, const CounterRandom& random) {
  Eigen::VectorXd state(task.states());
  std::visit(
      Overloaded{[&](const BuiltInSystem auto&) {
                   for (int i = 0; i < task.states(); ++i) {
                     state(i) =
                         random.uniform(static_cast<std::uint32_t>(i), task.settings.start_low(i),
                                        task.settings.start_high(i));
                   }
                 },
                 [&](const CustomSystemPointer& custom) {
                   custom->start(random, {state.data(), static_cast<std::size_t>(state.size())});
                 }},
      task.system.model().machine);
  return state;
}

/// The path of a trajectory whose first features are x - goal.
Eigen::MatrixXd observed_path(const Task& task, const Trajectories& batch, int trajectory) {
  Eigen::MatrixXd path(task.states(), batch.length(trajectory));
  for (int m = 0; m < batch.length(trajectory); ++m) {
    for (int i = 0; i < task.states(); ++i) path(i, m) = batch.feature(trajectory, m, i);
  }
  return path;
}

}  // namespace

Eigen::MatrixXd replayed_states(const Task& task, const RolloutSettings& settings,
                                const Trajectories& batch, int i) {
  const auto index = settings.first_index + static_cast<std::uint64_t>(i);
  Eigen::MatrixXd states(task.states(), batch.length(i) + 1);
  states.col(0) = start_state(task, {settings.seed, RandomStream::start_state, index});
  Eigen::VectorXd action(task.actions());
  for (int m = 0; m < batch.length(i); ++m) {
    for (int a = 0; a < task.actions(); ++a) action(a) = batch.action(i, m, a);
    states.col(m + 1) = task.step(states.col(m), action);
  }
  return states;
}

std::vector<Eigen::MatrixXd> state_paths(const Task& task, const GaussianPolicy& policy,
                                         const RolloutSettings& settings) {
  const Trajectories batch = rollout(task, policy, settings);
  std::vector<Eigen::MatrixXd> paths;
  for (int i = 0; i < batch.count(); ++i) {
    paths.push_back(std::visit(
        Overloaded{[&](const BuiltInSystem auto&) { return observed_path(task, batch, i); },
                   [&](const CustomSystemPointer& custom) {
                     return custom->own_features() == 0
                                ? observed_path(task, batch, i)
                                : Eigen::MatrixXd(replayed_states(task, settings, batch, i)
                                                      .leftCols(batch.length(i))
                                                      .colwise() -
                                                  task.settings.goal);
                   }},
        task.system.model().machine));
  }
  return paths;
}

void rollout_all(std::span<const RolloutRequest> requests, int threads) {
  require(threads >= 0, "threads", threads, "must be at least 0; 0 means all cores");
  struct Part {
    std::size_t request;
    int chunk;
  };
  std::vector<RowMajorGains> gains;
  std::vector<RolloutJob> jobs;
  std::vector<Part> parts;
  gains.reserve(requests.size());
  jobs.reserve(requests.size());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const RolloutRequest& request = requests[r];
    require(request.task && request.policy && request.out,
            indexed("requests", static_cast<long>(r)), "null", "must have task, policy and out");
    check(*request.task, *request.policy, request.settings);
    gains.emplace_back(request.policy->gains());
    jobs.push_back(make_storing_job(*request.task, *request.policy, request.settings, gains.back(),
                                    *request.out));
    for (int chunk = 0; chunk < chunk_count(jobs.back()); ++chunk) {
      parts.push_back({r, chunk});
    }
  }
  for_each_index(static_cast<int>(parts.size()), threads,
                 [&](int i) { simulate(jobs[parts[i].request], parts[i].chunk); });
}

Evaluation evaluate(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings,
                    const StopToken& stop) {
  check(task, policy, settings);
  const RowMajorGains gains(policy.gains());
  std::vector<double> costs(settings.trajectories);
  std::vector<std::int32_t> lengths(settings.trajectories);
  std::vector<std::int32_t> diverged(settings.trajectories);
  RolloutJob job = make_job(task, policy, settings, gains);
  job.total_costs_out = costs.data();
  job.lengths_out = lengths.data();
  job.diverged_out = diverged.data();
  simulate_all(job, settings.threads, stop);
  Evaluation result;
  double sum = 0;
  for (int i = 0; i < settings.trajectories; ++i) {
    sum += costs[i] / settings.steps;
    result.failed += lengths[i] < settings.steps ? 1 : 0;
    result.diverged += diverged[i];
  }
  result.mean_cost = sum / settings.trajectories;
  return result;
}

}  // namespace lifeguard
