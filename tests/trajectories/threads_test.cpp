// The kernels on plain threads, whose synchronisation the thread sanitizer understands: chunks of
// one job side by side, writing to one batch.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::threads_test {

TEST(Threads, ChunksOfOneBatchDoNotTouchEachOther) {
  for (const Task& task : test_support::built_in_tasks()) {
    const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
    RolloutSettings settings;
    settings.trajectories = 5 * kKernelChunk - 3;
    const Trajectories expected = rollout(task, policy, settings);

    Trajectories out(settings.trajectories, settings.steps, task.states(), task.actions());
    const Eigen::VectorXd gains = policy.parameters();  // one action after the other
    RolloutJob job;
    job.task = &task;
    job.feature_count = task.states();
    job.gains = gains.data();
    job.noisy = true;
    job.sigma.fill(policy.sigma());
    job.count = settings.trajectories;
    job.steps = settings.steps;
    job.stride = out.stride();
    job.features_out = out.feature_row(0, 0);
    job.actions_out = out.action_row(0, 0);
    job.costs_out = out.cost_row(0);
    job.lengths_out = out.lengths();
    job.diverged_out = out.diverged_flags();
    std::vector<std::thread> threads;
    for (int first = 0; first < job.count; first += kKernelChunk) {
      threads.emplace_back([&job, first] { simulate_chunk(job, first); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(out, expected);
  }
}

}  // namespace lifeguard::threads_test
