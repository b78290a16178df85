#include "lifeguard/regret/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <ostream>
#include <string>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"

namespace lifeguard {

namespace {

constexpr const char* kFormat = "lifeguard regret 2";

}  // namespace

RegretLedger::RegretLedger(int features, int actions) : features_(features), actions_(actions) {
  require(features > 0, "features", features, "must be at least 1");
  require(actions > 0, "actions", actions, "must be at least 1");
  require(features <= kMostParameters / actions, "features", features,
          fmt::format("must give at most {} parameters", kMostParameters));
}

long RegretLedger::rounds() const {
  long sum = 0;
  for (const TaskSums& task : tasks_) sum += task.rounds;
  return sum;
}

long RegretLedger::rounds(int task) const { return at(task).rounds; }

const SafeSet& RegretLedger::safe_set(int task) const { return at(task).safe_set; }

const RegretLedger::TaskSums& RegretLedger::at(int task) const {
  require(task >= 0 && task < tasks(), "task", task, "must be one that was added");
  return tasks_[static_cast<std::size_t>(task)];
}

Eigen::VectorXd RegretLedger::interior_of(const SafeSet& safe_set) {
  const Anchor anchor = choose_anchor(safe_set);
  require(anchor.source != AnchorSource::none, "safe set", to_string(anchor.feasibility.status),
          anchor.feasibility.message());
  return anchor.parameters;
}

int RegretLedger::add_task(const std::optional<SafeSet>& safe_set) {
  const SafeSet set = safe_set.value_or(SafeSet(parameters()));
  require_size("safe set", set.parameters(), parameters());
  tasks_.push_back({set, interior_of(set), LossSum(features_, parameters())});
  return tasks() - 1;
}

void RegretLedger::set_safe_set(int task, const SafeSet& safe_set) {
  at(task);
  require_size("safe set", safe_set.parameters(), parameters());
  TaskSums& sums = tasks_[static_cast<std::size_t>(task)];
  sums.interior = interior_of(safe_set);
  sums.safe_set = safe_set;
  for (std::optional<LeaderGame>* game : {&sums.game, &sums.without_knowledge}) {
    if (*game) (*game)->change(PolicyPrior((*game)->prior()), sums.sum, sums.region());
  }
}

void RegretLedger::set_prior(int task, const PolicyPrior& prior) {
  at(task);
  TaskSums& sums = tasks_[static_cast<std::size_t>(task)];
  require(prior.covariance.cols() == features_ || prior.covariance.cols() == parameters(),
          "prior.covariance (columns)", static_cast<double>(prior.covariance.cols()),
          fmt::format("must be {} or {}", features_, parameters()));
  if (sums.game) {
    if (!(sums.game->prior() == prior)) sums.game->change(prior, sums.sum, sums.region());
    return;
  }
  require(sums.rounds == 0, "task", task, "must not have been played yet");
  const PolicyPrior nothing{Eigen::VectorXd::Zero(parameters()),
                            Eigen::MatrixXd::Identity(features_, features_)};
  sums.game.emplace(prior, sums.sum, sums.region());
  sums.without_knowledge.emplace(nothing, sums.sum, sums.region());
}

const LeaderGame* RegretLedger::game(int task) const {
  const TaskSums& sums = at(task);
  return sums.game ? &*sums.game : nullptr;
}

void RegretLedger::record(int task, const RoundLoss& loss, const Eigen::VectorXd& alpha) {
  at(task);
  require(loss.status != RoundLossStatus::not_run, "loss.status", "not_run",
          "must be the result of a base learner");
  require_size("alpha", alpha.size(), parameters());
  require_size("loss.target", loss.target.size(), parameters());
  require_size("loss.curvature (columns)", loss.curvature.cols(), features_);
  require(are_blocks(loss.curvature, features_, actions_), "loss.curvature",
          static_cast<double>(loss.curvature.rows()),
          "must have one row for each feature, or for each parameter");
  const bool no_signal = loss.status == RoundLossStatus::no_signal;
  const double played = no_signal ? loss.constant : loss.value(alpha);
  require_finite("loss at alpha", played);

  TaskSums& sums = tasks_[static_cast<std::size_t>(task)];
  LossSum& sum = sums.sum;
  if (sums.rounds == 0) sum.reference = alpha;
  sums.played += played;
  ++sums.rounds;
  if (no_signal) {
    sum.constant += played;
    return;
  }
  add_blocks(1, sum.curvature, loss.curvature);
  sum.constant += loss.value(sum.reference);
  for (int start = 0; start < parameters(); start += features_) {
    const auto block = action_block(loss.curvature, start / features_);
    for (int i = 0; i < features_; ++i) {
      double product = 0;
      for (int j = 0; j < features_; ++j) {
        product += block(i, j) * (loss.target(start + j) - sum.reference(start + j));
      }
      sum.linear(start + i) += product;
    }
  }
  for (std::optional<LeaderGame>* game : {&sums.game, &sums.without_knowledge}) {
    if (*game) (*game)->record(loss, alpha, sum, sums.region());
  }
}

SurrogateRegret RegretLedger::surrogate_regret() const {
  SurrogateRegret result;
  result.least = result.most = 0;
  for (const TaskSums& task : tasks_) {
    TaskRegret& regret = result.tasks.emplace_back();
    regret.rounds = task.rounds;
    regret.played = task.played;
    regret.best = best_in_hindsight(task.sum, task.safe_set, task.interior);
    result.rounds += regret.rounds;
    result.played += regret.played;
    result.least += regret.least();
    result.most += regret.most();
  }
  const bool bounded = std::all_of(tasks_.begin(), tasks_.end(), [](const TaskSums& task) {
    return task.rounds == 0 || task.game.has_value();
  });
  if (!bounded) return result;
  RegretBound& bound = result.bound.emplace();
  bound.total = bound.of_leader = bound.logarithmic = bound.without_knowledge = 0;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const TaskSums& task = tasks_[t];
    if (task.rounds == 0) continue;
    const ComparatorResult& best = result.tasks[t].best;
    const double width = best.value - best.lower_bound;
    const BoundTerms terms = task.game->terms(best.alpha);
    bound.terms += terms;
    bound.total += terms.total() + width;
    bound.of_leader += terms.of_leader() + width;
    bound.logarithmic += terms.logarithmic() + width;
    bound.without_knowledge += task.without_knowledge->terms(best.alpha).of_leader() + width;
  }
  return result;
}

void RegretLedger::save(std::ostream& out) const {
  StateWriter writer(out);
  writer.field("format", std::string(kFormat));
  writer.field("features", features_);
  writer.field("actions", actions_);
  writer.field("tasks", tasks());
  for (const TaskSums& task : tasks_) {
    writer.field("rounds", task.rounds);
    writer.field("played", task.played);
    writer.field("constant", task.sum.constant);
    writer.field("curvature", task.sum.curvature);
    writer.field("linear", task.sum.linear);
    writer.field("reference", task.sum.reference);
    write_safe_set(writer, task.safe_set);
    writer.field("bounded", task.game.has_value());
    if (!task.game) continue;
    task.game->save(writer);
    task.without_knowledge->save(writer);
  }
}

RegretLedger RegretLedger::load(std::istream& in) {
  StateReader reader(in);
  std::string format;
  reader.field("format", format);
  require(format == kFormat, "format", format, fmt::format("must be \"{}\"", kFormat));
  int features = 0;
  int actions = 0;
  int tasks = 0;
  reader.field("features", features);
  reader.field("actions", actions);
  RegretLedger ledger(features, actions);
  reader.field("tasks", tasks);
  require(tasks >= 0, "tasks", tasks, "must not be negative");
  for (int t = 0; t < tasks; ++t) {
    TaskSums task{SafeSet(ledger.parameters()), {}, {}};
    reader.field("rounds", task.rounds);
    reader.field("played", task.played);
    reader.field("constant", task.sum.constant);
    reader.field("curvature", task.sum.curvature);
    reader.field("linear", task.sum.linear);
    reader.field("reference", task.sum.reference);
    require(task.rounds >= 0, "rounds", static_cast<double>(task.rounds), "must not be negative");
    require_finite("played", task.played);
    require_finite("constant", task.sum.constant);
    require(are_blocks(task.sum.curvature, features, actions), "curvature",
            fmt::format("{} x {}", task.sum.curvature.rows(), task.sum.curvature.cols()),
            fmt::format("must be {0} x {0}, or so for each action", features));
    require_size("linear", task.sum.linear.size(), ledger.parameters());
    require_size("reference", task.sum.reference.size(), ledger.parameters());
    task.safe_set = read_safe_set(reader, ledger.parameters());
    task.interior = interior_of(task.safe_set);
    bool bounded = false;
    reader.field("bounded", bounded);
    if (bounded) {
      require(task.sum.curvature.allFinite() && task.sum.linear.allFinite() &&
                  task.sum.reference.allFinite(),
              "losses", "(a number that is not finite)", "must be finite");
      task.game = LeaderGame::load(reader, task.sum);
      task.without_knowledge = LeaderGame::load(reader, task.sum);
    }
    ledger.tasks_.push_back(std::move(task));
  }
  return ledger;
}

RoundLoss in_cost_units(const RoundLoss& loss) {
  RoundLoss result = loss;
  const Eigen::VectorXd gradient = loss.gradient(loss.played);
  if (loss.status == RoundLossStatus::no_signal || !(gradient.norm() > 0)) {
    result.status = RoundLossStatus::no_signal;
    result.constant = loss.mean_cost;
    return result;
  }
  const double scale = loss.shrinkage * loss.cost_gradient.norm() / gradient.norm();
  result.curvature *= scale;
  result.radius *= scale;
  const double drop = 0.5 * scale * (loss.played - loss.target).dot(gradient);
  result.constant = loss.mean_cost - drop;
  return result;
}

}  // namespace lifeguard
