// LPG-FTW against its published update, written down plainly, and against what it promises.
#include "lifeguard/lifelong/lpg_ftw.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <unsupported/Eigen/KroneckerProduct>
#include <vector>

#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::lpg_ftw_test {

constexpr int kFeatures = 4;
constexpr int kActions = 2;
constexpr int kParameters = kFeatures * kActions;

Eigen::MatrixXd dense(const Eigen::MatrixXd& blocks) {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(kParameters, kParameters);
  for (int a = 0; a < kActions; ++a) {
    matrix.block(a * kFeatures, a * kFeatures, kFeatures, kFeatures) = action_block(blocks, a);
  }
  return matrix;
}

/// A task with a quadratic loss of which every round sees a step of limited KL towards the optimum.
struct QuadraticTask {
  Eigen::MatrixXd curvature;
  Eigen::VectorXd optimum;

  QuadraticTask(Draws& draws, const Eigen::VectorXd& best)
      : curvature(synthetic_loss(draws, kFeatures, best).curvature), optimum(best) {}

  RoundLoss step_from(const Eigen::VectorXd& played, double trust_region) const {
    RoundLoss loss;
    loss.status = RoundLossStatus::ok;
    loss.curvature = curvature;
    loss.played = played;
    loss.constant = 0;
    loss.trajectories = 1;
    loss.mean_cost = 1;
    loss.cost_unit = 1;
    const Eigen::VectorXd way = optimum - played;
    loss.cost_gradient = -dense(curvature) * way;
    loss.newton_radius = -0.5 * way.dot(loss.cost_gradient);
    loss.trust_region = trust_region;
    loss.radius = std::min(trust_region, loss.newton_radius);
    loss.natural_norm_squared = 2 * loss.newton_radius;
    loss.target = loss.newton_radius > 0
                      ? played + std::sqrt(loss.radius / loss.newton_radius) * way
                      : played;
    return loss;
  }
};

TEST(LpgFtw, FindsTheSubspaceOfTheOptimaAndKeepsOldTasksThere) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Draws draws(seed);
    const int k = 3;
    const Eigen::MatrixXd truth = draws.normals(kParameters, k);
    LpgFtwSettings settings;
    settings.k = k;
    settings.lambda = 1e-10;
    LpgFtw learner(kFeatures, kActions, settings);
    const Eigen::VectorXd anchor = draws.normals(kParameters, 1);
    std::vector<QuadraticTask> tasks;
    double largest_forgetting = 0;
    for (int t = 0; t < 12; ++t) {
      tasks.emplace_back(draws, anchor + truth * draws.normals(k, 1));
      learner.add_task(std::to_string(t), anchor, 1.0);
    }
    for (int t = 0; t < 12; ++t) {
      const std::string id = std::to_string(t);
      for (int round = 0; round < 200; ++round) {
        learner.observe(id, tasks[t].step_from(learner.policy(id).parameters(), 0.05));
      }
      for (int u = 0; u <= t; ++u) {
        const double gap =
            (learner.policy(std::to_string(u)).parameters() - tasks[u].optimum).norm();
        largest_forgetting = std::max(largest_forgetting, gap);
      }
    }
    EXPECT_LT(largest_forgetting, 1e-5);
    ASSERT_EQ(learner.basis().cols(), k);
    // The same span: what is left of L outside that of the truth is nothing.
    const Eigen::MatrixXd outside =
        learner.basis() - truth * truth.colPivHouseholderQr().solve(learner.basis());
    EXPECT_LT(outside.norm(), 1e-5 * learner.basis().norm());
    const Eigen::VectorXd sizes = learner.basis().jacobiSvd().singularValues();
    EXPECT_GT(sizes(k - 1), 1e-3 * sizes(0));
  }
}

TEST(LpgFtw, WithAColumnForEachTaskEachKeepsItsOwnSolution) {
  Draws draws(7);
  LpgFtwSettings settings;
  settings.k = 5;
  settings.lambda = 1e-12;
  LpgFtw learner(kFeatures, kActions, settings);
  std::vector<QuadraticTask> tasks;
  for (int t = 0; t < 5; ++t) {
    tasks.emplace_back(draws, draws.normals(kParameters, 1));
    learner.add_task(std::to_string(t), draws.normals(kParameters, 1), 1.0);
  }
  const auto gap = [&](int t) {
    return (learner.policy(std::to_string(t)).parameters() - tasks[t].optimum).norm();
  };
  const auto visit = [&](int t, double trust_region) {
    const std::string id = std::to_string(t);
    learner.observe(id, tasks[t].step_from(learner.policy(id).parameters(), trust_region));
  };
  for (int t = 0; t < 5; ++t) {
    for (int round = 0; round < 300; ++round) visit(t, 0.05);
  }
  for (int t = 0; t < 5; ++t) EXPECT_LT(gap(t), 1e-5);
  // They change, and come back in stays of one round. The end of a stay moves L, which takes a task
  // to where its own quadratic is lowest, wherever that is: √½ of the round's step away.
  std::vector<Eigen::VectorXd> lowest;
  for (int t = 0; t < 5; ++t) {
    tasks[t].optimum = draws.normals(kParameters, 1);
    const Eigen::VectorXd before = learner.policy(std::to_string(t)).parameters();
    lowest.emplace_back(before + std::sqrt(0.5) * (tasks[t].optimum - before));
    visit(t, 1e6);
  }
  const auto off = [&](int t) {
    return (learner.policy(std::to_string(t)).parameters() - lowest[t]).norm();
  };
  for (int t = 0; t < 4; ++t) EXPECT_LT(off(t), 1e-4);
  EXPECT_GT(off(4), 0.1);  // its stay lasts
  visit(0, 1e6);
  EXPECT_LT(off(4), 1e-4);
}

/// What a batch says of rewards: their gradient at the policy that was played, F, and δ.
struct Batch {
  Eigen::VectorXd gradient;
  Eigen::MatrixXd fisher;
  double delta;
  double shortened =
      1;  // by how much our base learner shortens the step, which its authors' does not
};

/// The published method as its authors write it down: rewards are maximised, A and b are sums to
/// which tasks are added, all matrices are dense. It knows nothing of our losses.
class Published {
 public:
  Published(const LpgFtwSettings& settings, std::vector<Eigen::VectorXd> anchors)
      : settings_(settings), anchors_(std::move(anchors)) {
    l_.resize(kParameters, 0);
    s_.resize(0, static_cast<Eigen::Index>(anchors_.size()));
  }

  Eigen::VectorXd policy(int t) const {
    if (t == task_) return anchors_[t] + held_ * own_ + epsilon_;
    if (ended_.count(t) == 0) return anchors_[t] + l_ * mean();
    return anchors_[t] + l_ * s_.col(t);
  }

  void observe(int t, const Batch& batch) {
    const Eigen::VectorXd played = policy(t);
    if (t != task_) begin(t);
    // NPG in the parameters that are trained, J = ∂α/∂parameters: √(δ / g'F⁻¹g) F⁻¹g, with the
    // shortest of the solutions.
    const Eigen::Index k = held_.cols();
    Eigen::MatrixXd j(kParameters, k + (trains_epsilon_ ? kParameters : 0));
    j.leftCols(k) = held_;
    if (trains_epsilon_) j.rightCols(kParameters).setIdentity();
    if (only_epsilon_) j.leftCols(k).setZero();
    const Eigen::VectorXd g = j.transpose() * batch.gradient;
    const Eigen::VectorXd natural =
        (j.transpose() * batch.fisher * j).completeOrthogonalDecomposition().solve(g);
    const Eigen::VectorXd step =
        batch.shortened * std::sqrt(batch.delta / g.dot(natural)) * natural;
    own_ += step.head(k);
    if (trains_epsilon_) epsilon_ += step.tail(kParameters);
    end(t, batch, played);
  }

  Eigen::MatrixXd l_, s_;

 private:
  struct Quadratic {
    Eigen::MatrixXd h;
    Eigen::VectorXd b;  // 2Hθ - g
  };

  Eigen::VectorXd mean() const {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(l_.cols());
    if (static_cast<int>(ended_.size()) < settings_.first_tasks) return sum;
    for (const auto& [t, model] : ended_) sum += s_.col(t);
    return sum / static_cast<double>(ended_.size());
  }
  void begin(int t) {
    const bool again = ended_.count(t) > 0;
    own_ = again ? Eigen::VectorXd(s_.col(t)) : mean();
    task_ = t;
    held_ = l_;
    epsilon_ = Eigen::VectorXd::Zero(kParameters);
    only_epsilon_ = !again && static_cast<int>(ended_.size()) < settings_.first_tasks;
    trains_epsilon_ = !again && held_.cols() < settings_.k;
  }
  /// F shifted so that no eigenvalue is too small; ours are shares of the mean one of each action.
  Eigen::MatrixXd shifted(Eigen::MatrixXd f) const {
    for (int a = 0; a < kActions; ++a) {
      auto block = f.block(a * kFeatures, a * kFeatures, kFeatures, kFeatures);
      const Eigen::MatrixXd copy = block;
      const double least = settings_.smallest_eigenvalue * copy.trace() / kFeatures;
      const double smallest = copy.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff();
      if (smallest < least) block.diagonal().array() += least - smallest;
    }
    return f;
  }
  void end(int t, const Batch& batch, const Eigen::VectorXd& played) {
    const Eigen::Index k = held_.cols();
    const Eigen::Index grown = k + (trains_epsilon_ ? 1 : 0);
    Eigen::MatrixXd s = Eigen::MatrixXd::Zero(grown, s_.cols());
    s.topRows(k) = s_.topRows(k);
    s.col(t).head(k) = own_;
    l_ = Eigen::MatrixXd(kParameters, grown);
    l_.leftCols(k) = held_;
    if (trains_epsilon_) {
      const double mean = only_epsilon_ ? epsilon_.norm() : held_.colwise().norm().mean();
      l_.col(k) = epsilon_.normalized() * mean;
      s(k, t) = epsilon_.norm() / mean;
    }
    s_ = s;
    const Eigen::VectorXd& g = batch.gradient;
    const double q = g.dot(batch.fisher.fullPivLu().solve(g));
    const Eigen::MatrixXd h = -0.5 * shifted(batch.fisher) * std::sqrt(2 * q / batch.delta);
    ended_[t] = {h, 2 * h * (played - anchors_[t]) - g};
    if (only_epsilon_) return;
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(kParameters * grown, kParameters * grown);
    Eigen::VectorXd b = Eigen::VectorXd::Zero(kParameters * grown);
    for (const auto& [u, model] : ended_) {
      const Eigen::MatrixXd outer = s_.col(u) * s_.col(u).transpose();
      a += 2 * Eigen::kroneckerProduct(outer, model.h).eval();
      b += Eigen::kroneckerProduct(s_.col(u), model.b).eval();
    }
    const auto count = static_cast<double>(ended_.size());
    const Eigen::MatrixXd system =
        a / count - settings_.lambda * Eigen::MatrixXd::Identity(a.rows(), a.cols());
    const Eigen::VectorXd vec = system.fullPivLu().solve(b / count);
    l_ = vec.reshaped(kParameters, grown);
  }

  LpgFtwSettings settings_;
  std::vector<Eigen::VectorXd> anchors_;
  std::map<int, Quadratic> ended_;
  int task_ = -1;
  bool only_epsilon_ = false, trains_epsilon_ = false;
  Eigen::MatrixXd held_;
  Eigen::VectorXd own_, epsilon_;
};

/// The loss that our base learner makes of a batch: of costs, which are -3 times the rewards.
RoundLoss loss_of(const Batch& batch, const Eigen::MatrixXd& blocks,
                  const Eigen::VectorXd& played) {
  RoundLoss loss;
  loss.status = RoundLossStatus::ok;
  loss.trajectories = 1;
  loss.mean_cost = 1;
  loss.constant = 0;
  loss.curvature = blocks;
  loss.played = played;
  loss.cost_unit = 3;
  loss.cost_gradient = -3 * batch.gradient;
  const Eigen::VectorXd natural = batch.fisher.llt().solve(batch.gradient);
  const double q = batch.gradient.dot(natural);
  loss.natural_norm_squared = 9 * q;
  loss.shrinkage = batch.shortened;
  loss.radius = loss.trust_region = 0.5 * batch.delta;
  loss.target = played + batch.shortened * std::sqrt(batch.delta / q) * natural;
  return loss;
}

TEST(LpgFtw, IsThePublishedUpdateInDenseMatrices) {
  for (int variant = 0; variant < 4; ++variant) {
    Draws draws(21 + variant);
    LpgFtwSettings settings;
    settings.k = 3;
    settings.first_tasks = 1 + variant % 2;
    settings.lambda = 1e-3;
    settings.smallest_eigenvalue = variant < 2 ? 0 : 0.7;  // which shifts nearly every F
    LpgFtw learner(kFeatures, kActions, settings);
    std::vector<Eigen::VectorXd> anchors;
    for (int t = 0; t < 6; ++t) {
      anchors.push_back(draws.normals(kParameters, 1));
      learner.add_task(std::to_string(t), anchors.back(), 1.0);
    }
    Published published(settings, anchors);
    // Stays of several rounds and of one, new tasks and those that come back.
    for (const int t : {2, 2, 2, 0, 0, 1, 2, 3, 3, 0, 4, 4, 2, 1, 5, 5, 3}) {
      const std::string id = std::to_string(t);
      ASSERT_LT((learner.policy(id).parameters() - published.policy(t)).norm(), 1e-8);
      Eigen::MatrixXd blocks =
          synthetic_loss(draws, kFeatures, Eigen::VectorXd::Zero(kParameters)).curvature;
      if (t == 3) {  // noises of their own
        const Eigen::MatrixXd common = blocks;
        blocks.resize(kParameters, kFeatures);
        for (int a = 0; a < kActions; ++a) {
          blocks.middleRows(a * kFeatures, kFeatures) = (1 + 2.0 * a) * common;
        }
      }
      const Batch batch{draws.normals(kParameters, 1), dense(blocks), draws.uniform(0.1, 2),
                        t == 2 ? 0.4 : 1.0};
      const RoundLoss loss = loss_of(batch, blocks, learner.policy(id).parameters());
      EXPECT_EQ(learner.observe(id, loss).status, RoundStatus::ok);
      published.observe(t, batch);
      ASSERT_EQ(learner.basis().cols(), published.l_.cols());
      ASSERT_LT((learner.basis() - published.l_).norm(), 1e-8 * (1 + published.l_.norm()));
      ASSERT_LT((learner.coefficients() - published.s_).norm(), 1e-8 * (1 + published.s_.norm()));
      for (int u = 0; u < 6; ++u) {
        ASSERT_LT((learner.policy(std::to_string(u)).parameters() - published.policy(u)).norm(),
                  1e-7);
      }
    }
    EXPECT_EQ(learner.basis().cols(), 3);
  }
}

/// F of a batch of the mass, and H and the optimum from it by the formulas.
TEST(LpgFtw, TheQuadraticOfABatchIsThePublishedOne) {
  const Task task = mass_spring_family().draw(3, 0);
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 2), 0.5);
  Trajectories batch;
  rollout(task, policy, RolloutSettings(), batch);
  BaseLearnerSettings base = RoundSettings::default_base_learner();
  BaseLearnerWorkspace workspace;
  for (const NoiseShrinkage shrinkage : {NoiseShrinkage::none, NoiseShrinkage::measured}) {
    base.step.shrinkage = shrinkage;
    const RoundLoss loss = make_round_loss(batch, policy, 0, base, workspace);
    const Eigen::MatrixXd& fisher = loss.curvature;
    const Eigen::VectorXd g = -loss.cost_gradient / loss.cost_unit;  // of rewards
    const double delta = 2 * base.step.trust_region;
    const double q = g.dot(fisher.llt().solve(g));
    const Eigen::MatrixXd h = -0.5 * fisher * std::sqrt(2 * q / delta);
    const Expansion found = lpg_ftw_quadratic(loss, loss.played, 0);
    EXPECT_LT((found.curvature + 2 * h).norm(), 1e-9 * h.norm());
    // The gradient of g'Δ + Δ'HΔ vanishes there, at half of the KL of the step that was asked for.
    const Eigen::VectorXd way = found.target - loss.played;
    EXPECT_LT((g + 2 * h * way).norm(), 1e-9 * g.norm());
    EXPECT_NEAR(way.dot(fisher * way), delta / 2, 1e-9 * delta);
    const Eigen::VectorXd step = (loss.target - loss.played) / loss.shrinkage;
    EXPECT_LT((std::sqrt(2.0) * way - step).norm(), 1e-9 * step.norm());
    // The same from a loss in units of cost.
    base.loss_scale = LossScale::cost;
    const RoundLoss in_costs = make_round_loss(batch, policy, 0, base, workspace);
    const Expansion same = lpg_ftw_quadratic(in_costs, in_costs.played, 0);
    EXPECT_LT((same.curvature - found.curvature).norm(), 1e-9 * found.curvature.norm());
    EXPECT_LT((same.target - found.target).norm(), 1e-9 * way.norm());
    base.loss_scale = LossScale::metric;
  }
}

TEST(LpgFtw, CurvatureIsShiftedUntilItIsDefinite) {
  Draws draws(5);
  RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
  loss.curvature.setZero(kParameters, kFeatures);
  loss.curvature(0, 0) = 4.0;  // singular
  loss.curvature.bottomRows(kFeatures) = Eigen::MatrixXd::Identity(kFeatures, kFeatures);
  const Eigen::VectorXd played = draws.normals(kParameters, 1);
  const Expansion quadratic = lpg_ftw_quadratic(loss, played, 1e-3);
  const Eigen::MatrixXd& shifted = quadratic.curvature;
  Eigen::VectorXd expected(kFeatures);
  expected << 4.001, 0.001, 0.001, 0.001;
  const Eigen::MatrixXd first = expected.asDiagonal();
  EXPECT_LT((shifted.topRows(kFeatures) - first).norm(), 1e-12);
  EXPECT_EQ(shifted.bottomRows(kFeatures), Eigen::MatrixXd::Identity(kFeatures, kFeatures));
  // Its gradient is the loss's own: it is lowest where it was played in directions that were not
  // seen.
  Eigen::VectorXd pull(kParameters);
  apply_curvature(loss.curvature, loss.target - played, pull);
  EXPECT_LT((dense(shifted) * (quadratic.target - played) - pull).norm(), 1e-9 * pull.norm());
  EXPECT_NEAR(quadratic.target(1), played(1), 1e-12);
}

TEST(LpgFtw, ATrustRegionIsAsWideInTheCoefficientsAndANewtonStepIsProjected) {
  Draws draws(9);
  LpgFtwSettings settings;
  settings.k = 1;
  LpgFtw learner(kFeatures, kActions, settings);
  const Eigen::VectorXd anchor = Eigen::VectorXd::Zero(kParameters);
  for (const char* id : {"a", "b"}) learner.add_task(id, anchor, 1.0);
  learner.observe("a", synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1)));
  const Eigen::VectorXd column = learner.basis().col(0);
  const QuadraticTask task(draws, draws.normals(kParameters, 1));
  const Eigen::MatrixXd metric = dense(task.curvature);
  const Eigen::VectorXd before = learner.policy("b").parameters();
  // Narrow: the step in s has the same KL as that in α.
  learner.observe("b", task.step_from(before, 1e-4));
  const Eigen::VectorXd after = learner.policy("b").parameters();
  EXPECT_NEAR(0.5 * (after - before).dot(metric * (after - before)), 1e-4, 1e-10);
  EXPECT_NEAR(std::abs((after - before).normalized().dot(column.normalized())), 1, 1e-10);
  // Wide: it goes to the best policy that s can express, where the gradient has no part along L.
  learner.observe("b", task.step_from(after, 1e6));
  const Eigen::VectorXd gradient = metric * (learner.policy("b").parameters() - task.optimum);
  EXPECT_NEAR(column.dot(gradient), 0, 1e-9);
}

TEST(LpgFtw, IsSavedInTheMiddleOfAStayAndGoesOnToTheSameBits) {
  LpgFtwSettings settings;
  settings.k = 2;
  const auto make = [&] {
    LpgFtw learner(kFeatures, kActions, settings);
    Draws anchors(1);
    for (int t = 0; t < 4; ++t) {
      learner.add_task(std::to_string(t), anchors.normals(kParameters, 1), 1.0);
    }
    return learner;
  };
  const auto state_of = [](const LpgFtw& learner) {
    std::ostringstream out;
    learner.write_state(out);
    return out.str();
  };
  const std::vector<int> order = {0, 0, 1, 1, 2, 2, 0, 3, 3, 1};
  for (std::size_t stop = 0; stop <= order.size(); ++stop) {
    Draws draws(2);
    LpgFtw whole = make();
    LpgFtw part = make();
    LpgFtw rest = make();
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == stop) {
        std::istringstream in(state_of(part));
        rest.read_state(in);
      }
      const RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
      whole.observe(std::to_string(order[i]), loss);
      (i < stop ? part : rest).observe(std::to_string(order[i]), loss);
    }
    EXPECT_EQ(state_of(stop == order.size() ? part : rest), state_of(whole));
  }
  // A state that says what no learner could is refused.
  LpgFtw learner = make();
  Draws draws(2);
  learner.observe("0", synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1)));
  const std::string good = state_of(learner);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"stay 0", "stay 4"},
                                                        {"stay 0", "stay 1"},
                                                        {"training 0", "training 3"},
                                                        {"training 0", "training 2"},
                                                        {"stay basis 8 0", "stay basis 7 0"}}) {
    std::string bad = good;
    ASSERT_NE(bad.find(from), std::string::npos) << from << "\n" << good;
    bad.replace(bad.find(from), from.size(), to);
    std::istringstream in(bad);
    EXPECT_THROW(learner.read_state(in), InvalidInput) << to;
    EXPECT_EQ(state_of(learner), good);
  }
}

TEST(LpgFtw, ARoundThatCannotBeSolvedLeavesNoTrace) {
  Draws draws(3);
  LpgFtwSettings settings;
  LpgFtw learner(kFeatures, kActions, settings);
  for (const char* id : {"a", "b"}) learner.add_task(id, draws.normals(kParameters, 1), 1.0);
  learner.observe("a", synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1)));
  const Eigen::VectorXd before = learner.policy("b").parameters();
  RoundLoss huge = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
  huge.curvature *= 1e307;
  huge.target *= 1e307;
  EXPECT_EQ(learner.observe("b", huge).status, RoundStatus::singular);
  EXPECT_EQ(learner.policy("b").parameters(), before);
  EXPECT_EQ(learner.rounds(), 1);
}

}  // namespace lifeguard::lpg_ftw_test
