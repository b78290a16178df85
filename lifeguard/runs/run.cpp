#include "lifeguard/runs/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/regret/true_cost.hpp"
#include "lifeguard/runs/certificate_json.hpp"
#include "lifeguard/runs/followed_tasks.hpp"
#include "lifeguard/runs/incidents.hpp"
#include "lifeguard/runs/run_beliefs.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Run::Run(const ExperimentConfig& config, const LongWork& work)
    : Run(config, draw_tasks(config, work), work) {}

Run::Run(const ExperimentConfig& config, DrawnTasks drawn, LongWork work)
    : config_(config),
      work_(std::move(work)),
      drawn_(std::move(drawn)),
      learner_(make_learner(config_, drawn_, work_)) {
  evaluated_costs_.setConstant(config_.tasks, kNaN);
  evaluated_policies_.setConstant(drawn_.parameters(), config_.tasks, kNaN);
  alpha_.resize(drawn_.parameters());
  judged_policies_.setConstant(drawn_.parameters(), config_.tasks, kNaN);
  judged_unsafe_.assign(static_cast<std::size_t>(config_.tasks), false);
  if (!config_.regret) return;
  open_ledger();
  bounds_ = theorem_bounds(*learner_);
}

Run::Run(const ExperimentConfig& config, DrawnTasks drawn, std::unique_ptr<Learner> learner)
    : config_(config), observed_(true), drawn_(std::move(drawn)), learner_(std::move(learner)) {
  config_.tasks = static_cast<int>(drawn_.tasks.size());
  observed_costs_.setConstant(config_.tasks, kNaN);
  alpha_.resize(drawn_.parameters());
  judged_policies_.setConstant(drawn_.parameters(), config_.tasks, kNaN);
  judged_unsafe_.assign(static_cast<std::size_t>(config_.tasks), false);
  // The theorem speaks of constraints that stay, and the best policies need a simulator.
  if (config_.regret) open_ledger();
}

void Run::add_task(const DrawnTask& added) {
  auto& learner = dynamic_cast<Learner&>(*learner_);
  const bool chosen = added.first.parameters.size() > 0;
  learner.add_task(added.task.name, added.safe_set, added.task.settings.sigma,
                   chosen ? std::optional(added.first.parameters) : std::nullopt);
  learner.set_action_range(added.task.name, told_action_range(added.task));
  if (ledger_) {
    ledger_->add_task(added.safe_set.constrained() ? std::optional(added.safe_set) : std::nullopt);
  }
  drawn_.tasks.push_back(added.task);
  drawn_.safe_sets.push_back(added.safe_set);
  drawn_.first.push_back(added.first);
  ++config_.tasks;
  const long count = config_.tasks;
  observed_costs_.conservativeResize(count);
  observed_costs_(count - 1) = kNaN;
  judged_policies_.conservativeResize(Eigen::NoChange, count);
  judged_policies_.col(count - 1).setConstant(kNaN);
  judged_unsafe_.push_back(false);
}

void Run::set_task(int task, const DrawnTask& changed) {
  const auto t = static_cast<std::size_t>(task);
  auto& learner = dynamic_cast<Learner&>(*learner_);
  if (!(changed.safe_set == drawn_.safe_sets[t])) {
    learner.set_safe_set(drawn_.tasks[t].name, changed.safe_set);
    if (ledger_) ledger_->set_safe_set(task, changed.safe_set);
    judged_policies_.col(task).setConstant(kNaN);
  }
  learner.set_sigma(drawn_.tasks[t].name, changed.task.settings.sigma);
  learner.set_action_range(drawn_.tasks[t].name, told_action_range(changed.task));
  drawn_.tasks[t] = changed.task;
  drawn_.safe_sets[t] = changed.safe_set;
  drawn_.first[t] = changed.first;
}

std::optional<TheoremBounds> theorem_bounds(const PolicyLearner& policy_learner) {
  const auto* learner = dynamic_cast<const Learner*>(&policy_learner);
  if (learner == nullptr) return {};
  const LearnerSettings& settings = learner->settings();
  if (settings.projection.mode == ProjectionMode::none ||
      settings.round.base_learner.loss_scale != LossScale::metric) {
    return {};
  }
  TheoremBounds bounds({settings.projection.p, settings.projection.q, settings.regularisation.mu1,
                        settings.regularisation.mu2, settings.zeta});
  for (int t = 0; t < learner->tasks(); ++t) {
    bounds.add_task(learner->safe_sets()[static_cast<std::size_t>(t)],
                    learner->knowledge().anchors.col(t));
  }
  return bounds.finite() ? std::optional(bounds) : std::nullopt;
}

void Run::open_ledger() {
  ledger_.emplace(learner_->features(), learner_->actions());
  for (const SafeSet& set : drawn_.safe_sets) {
    ledger_->add_task(drawn_.constrained() ? std::optional(set) : std::nullopt);
  }
  regret_rounds_ = log_spaced_rounds(config_.rounds, kRegretRounds);
}

double Run::best_cost() {
  if (best_cost_) return *best_cost_;
  // Ten trials for each gain find what LQR leaves, in a fraction of a second.
  BestPolicySettings search;
  search.trials = 10 * drawn_.parameters();
  search.cost.start_states = config_.start_states;
  search.cost.steps = config_.steps;
  search.cost.features = config_.features;
  // Found on other start states than it is judged on, as the learner's policies are.
  search.cost.seed = run_seed(config_, SeedOf::best_policy, 1);
  search.seed = run_seed(config_, SeedOf::best_policy, 2);
  double sum = 0;
  for (std::size_t t = 0; t < drawn_.tasks.size(); ++t) {
    work_.step("looking for the best policies", static_cast<long>(t), config_.tasks);
    const BestPolicy best = best_known_policy(drawn_.tasks[t], drawn_.safe_sets[t], {}, search);
    sum += evaluation_cost(config_, drawn_.tasks[t], best.alpha) / config_.tasks;
  }
  best_cost_ = sum;
  return sum;
}

StoredRegret Run::regret_now(double true_cost) const {
  const SurrogateRegret regret = ledger_->surrogate_regret();
  StoredRegret stored{learner_rounds_, regret.most, true_cost};
  if (!regret.bound) return stored;
  const RegretBound& bound = *regret.bound;
  stored.bound = bound.total;
  stored.bound_prior = bound.terms.prior;
  stored.bound_rounds = bound.terms.rounds;
  stored.bound_off_leader = bound.terms.off_leader;
  stored.bound_changes = bound.terms.changes;
  stored.bound_logarithmic = bound.logarithmic;
  stored.bound_without_knowledge = bound.without_knowledge;
  return stored;
}

void Run::keep_ledger(RoundOutcome& outcome) {
  if (belief_) ledger_->set_prior(outcome.round.task, *belief_);
  ledger_->record(outcome.round.task, learner_->last_loss(), outcome.round.played);
  if (observed_) {
    if (std::binary_search(regret_rounds_.begin(), regret_rounds_.end(), learner_rounds_)) {
      outcome.regret = regret_now(kNaN);
    }
    return;
  }
  if (outcome.evaluation) {
    // The gap is taken as linear between evaluations.
    const double gap = outcome.evaluation->mean_cost() - best_cost();
    const auto passed = static_cast<double>(learner_rounds_ - last_gap_round_);
    true_regret_ += last_gap_round_ == 0 ? gap * passed : 0.5 * (gap + last_gap_) * passed;
    last_gap_ = gap;
    last_gap_round_ = learner_rounds_;
  }
  if (std::binary_search(regret_rounds_.begin(), regret_rounds_.end(), learner_rounds_)) {
    const auto since = static_cast<double>(learner_rounds_ - last_gap_round_);
    outcome.regret = regret_now(true_regret_ + last_gap_ * since);
  }
}

StoredEvaluation Run::evaluate_now() {
  StoredEvaluation evaluation;
  evaluation.round = learner_rounds_;
  evaluation.margins.resize(config_.tasks);
  for (int t = 0; t < config_.tasks; ++t) {
    learner_->policy_parameters(t, alpha_);
    if (!observed_ && evaluated_policies_.col(t) != alpha_) {
      work_.step("evaluating policies", t, config_.tasks);
      evaluated_costs_(t) =
          evaluation_cost(config_, drawn_.tasks[static_cast<std::size_t>(t)], alpha_);
      evaluated_policies_.col(t) = alpha_;
    }
    evaluation.margins(t) = margins(drawn_.safe_sets[static_cast<std::size_t>(t)], alpha_).worst();
  }
  evaluation.costs = observed_ ? observed_costs_ : evaluated_costs_;
  return evaluation;
}

/// Lines 4 to 12 of Algorithm 1, and what is written down of them.
const RoundOutcome& Run::play() {
  const long round = learner_rounds_ + 1;
  const int t = scheduled_task(config_, round);
  const Task& task = drawn_.tasks[static_cast<std::size_t>(t)];
  fallbacks_before_ = learner_->fallbacks();
  const GaussianPolicy policy = learner_->policy(task.name);
  RolloutSettings rollouts;
  rollouts.trajectories = batch_size(config_);
  rollouts.steps = config_.steps;
  rollouts.features = config_.features;
  rollouts.seed = run_seed(config_, SeedOf::round, static_cast<std::uint64_t>(round));
  const auto rollout_start = Clock::now();
  rollout(task, policy, rollouts, batch_);
  const double rollout_seconds = seconds_since(rollout_start);
  learn(t, policy, batch_);
  outcome_.round.rollout_seconds = rollout_seconds;
  return outcome_;
}

const RoundOutcome& Run::observe(int task, const GaussianPolicy& played,
                                 const Trajectories& batch) {
  fallbacks_before_ = learner_->fallbacks();
  return learn(task, played, batch);
}

const RoundOutcome& Run::learn(int t, const GaussianPolicy& policy, const Trajectories& batch) {
  const long round = learner_rounds_ + 1;
  const Task& task = drawn_.tasks[static_cast<std::size_t>(t)];
  outcome_ = {};
  StoredRound& stored = outcome_.round;
  stored.played = policy.parameters();
  const Incidents incidents = count_incidents(task, drawn_.state_limits(t), batch);
  stored.falls = incidents.falls;
  stored.violations = incidents.violations;
  stored.saturations = incidents.saturations;

  if (ledger_) {
    // What is believed before the loss is known. Learners that believe nothing in particular are
    // held to what they play first, with a variance of 1.
    belief_ = learner_->belief_of(t);
    if (!belief_ && ledger_->rounds(t) == 0) {
      const int features = learner_->features();
      belief_ = PolicyPrior{stored.played, Eigen::MatrixXd::Identity(features, features)};
    }
  }
  if (bounds_) played_ = dynamic_cast<const Learner&>(*learner_).knowledge();
  believe_before(t);
  const auto learn_start = Clock::now();
  const RoundRecord learnt =
      observed_ ? learner_->observe(task.name, batch, policy) : learner_->observe(task.name, batch);
  stored.learn_seconds = seconds_since(learn_start);
  stored.round = round;
  stored.task = t;
  record(learnt, stored);
  if (observed_ && learnt.status == RoundStatus::no_noise) return outcome_;
  learner_rounds_ = round;
  if (observed_) observed_costs_(t) = learnt.mean_cost;
  stored.unsafe = count_unsafe();
  certify(outcome_);
  if (round == next_evaluation_) {
    outcome_.evaluation = evaluate_now();
    next_evaluation_ = next_evaluation(config_, round);
  }
  believe_after(outcome_);
  if (ledger_) keep_ledger(outcome_);
  if (bounds_) {
    outcome_.lemmas = StoredLemmas{
        round, bounds_->evaluate(t, learner_->last_loss(), batch, policy.noise(), played_)};
  }
  stored.fallbacks = learner_->fallbacks() - fallbacks_before_;
  return outcome_;
}

void Run::record(const RoundRecord& from, StoredRound& to) const {
  to.visit = from.visit;
  to.status = from.status;
  to.mean_cost = from.mean_cost;
  to.loss_before = from.loss_before;
  to.loss_after = from.loss_after;
  to.step_kl = from.step_kl;
  to.noise_share = from.noise_share;
  const SafeguardRecord& guard = from.safeguard;
  if (guard.status == ProjectionStatus::not_run) return;
  to.projection = to_string(guard.status);
  to.basis_path = to_string(guard.basis_path);
  to.alternations = guard.alternations;
  to.iterations = guard.iterations;
  to.worst_margin = guard.worst_margin;
  to.worst_task = guard.worst_task;
  to.worst_row = guard.worst_row;
  to.retraction = guard.retraction;
  to.projection_seconds = guard.seconds;
}

/// By the checker, which shares nothing with what keeps the policies safe.
int Run::count_unsafe() {
  if (!drawn_.constrained()) return 0;
  int unsafe = 0;
  for (int t = 0; t < config_.tasks; ++t) {
    const auto i = static_cast<std::size_t>(t);
    learner_->policy_parameters(t, alpha_);
    if (judged_policies_.col(t) != alpha_) {
      judged_unsafe_[i] = !obeys_exactly(drawn_.safe_sets[i], alpha_);
      judged_policies_.col(t) = alpha_;
    }
    unsafe += judged_unsafe_[i] ? 1 : 0;
  }
  return unsafe;
}

void Run::certify(RoundOutcome& outcome) const {
  const auto* learner = dynamic_cast<const Learner*>(learner_.get());
  if (learner == nullptr || !drawn_.constrained()) return;
  outcome.certificate = stored_certificate(learner_rounds_, learner->certificate());
}

void Run::believe_before(int task) {
  believed_before_.reset();
  const Task& of = drawn_.tasks[static_cast<std::size_t>(task)];
  if (learner_->visits(of.name) > 0 || !is_followed(task, drawn_.parameters())) return;
  believed_before_ = stored_task_belief(
      *learner_, of, {.moment = 2 * (learner_rounds_ + 1) - 1, .task = task, .visit = 0});
}

void Run::believe_after(RoundOutcome& outcome) const {
  StoredRound& round = outcome.round;
  round.agreement = agreement_of(*learner_);
  if (outcome.evaluation) outcome.beliefs = stored_beliefs(*learner_, drawn_.tasks, round.round);
  const bool counts = round.status == RoundStatus::ok || round.status == RoundStatus::no_signal;
  if (!counts || !is_followed(round.task, drawn_.parameters())) return;
  if (believed_before_) outcome.task_beliefs.push_back(*believed_before_);
  if (!is_followed_visit(round.visit)) return;
  if (auto belief = stored_task_belief(
          *learner_, drawn_.tasks[static_cast<std::size_t>(round.task)],
          {.moment = 2 * round.round, .task = round.task, .visit = round.visit})) {
    outcome.task_beliefs.push_back(std::move(*belief));
  }
}

std::string Run::state() const {
  std::ostringstream out;
  StateWriter writer(out);
  writer.field("round", learner_rounds_);
  writer.field("next_evaluation", next_evaluation_);
  writer.field("true_regret", true_regret_);
  writer.field("last_gap", last_gap_);
  writer.field("last_gap_round", last_gap_round_);
  if (observed_) {
    const Eigen::VectorXd known =
        observed_costs_.array().isNaN().select(0.0, Eigen::ArrayXd::Ones(observed_costs_.size()));
    writer.field("observed", known);
    writer.field("observed_costs",
                 Eigen::VectorXd(observed_costs_.array().isNaN().select(0.0, observed_costs_)));
  }
  if (ledger_) ledger_->save(out);
  learner_->write_state(out);
  return out.str();
}

void Run::restore(const std::string& state) {
  std::istringstream in(state);
  StateReader reader(in);
  reader.field("round", learner_rounds_);
  reader.field("next_evaluation", next_evaluation_);
  reader.field("true_regret", true_regret_);
  reader.field("last_gap", last_gap_);
  reader.field("last_gap_round", last_gap_round_);
  if (observed_) {
    Eigen::VectorXd known;
    reader.field("observed", known);
    reader.field("observed_costs", observed_costs_);
    require_size("observed", known.size(), config_.tasks);
    require_size("observed_costs", observed_costs_.size(), config_.tasks);
    observed_costs_ = (known.array() == 0).select(kNaN, observed_costs_);
  }
  if (ledger_) ledger_ = RegretLedger::load(in);
  if (ledger_) require_size("saved regret (tasks)", ledger_->tasks(), config_.tasks);
  if (!observed_) {
    learner_->read_state(in);
    return;
  }
  auto loaded = std::make_unique<Learner>(Learner::load(in));
  require(loaded->settings() == dynamic_cast<const Learner&>(*learner_).settings(),
          "saved settings", "of another learner", "must be those of this learner");
  require_size("saved tasks", loaded->tasks(), config_.tasks);
  for (std::size_t t = 0; t < drawn_.tasks.size(); ++t) {
    const std::string& name = drawn_.tasks[t].name;
    require(loaded->knows(name) && loaded->safe_sets()[t] == drawn_.safe_sets[t],
            fmt::format("saved safe set of \"{}\"", name), "another set",
            "must be the one that is stored");
  }
  learner_ = std::move(loaded);
}

Eigen::MatrixXd Run::policies() const {
  Eigen::MatrixXd policies(drawn_.parameters(), config_.tasks);
  for (int t = 0; t < config_.tasks; ++t) learner_->policy_parameters(t, policies.col(t));
  return policies;
}

RunDescription Run::description() const {
  const auto* learner = dynamic_cast<const Learner*>(learner_.get());
  return describe(config_, drawn_, policies(),
                  learner == nullptr ? 0 : learner->knowledge().basis_size());
}

RunState Run::stored_state() const {
  RunState stored;
  stored.round = learner_rounds_;
  stored.state = state();
  Eigen::VectorXd alpha(drawn_.parameters());
  for (int t = 0; t < config_.tasks; ++t) {
    learner_->policy_parameters(t, alpha);
    stored.policies.push_back({t, alpha});
  }
  if (const auto* learner = dynamic_cast<const Learner*>(learner_.get())) {
    stored.knowledge = StoredKnowledge{1, learner->knowledge()};
  }
  return stored;
}

std::string Run::certificate_json() const {
  const auto* learner = dynamic_cast<const Learner*>(learner_.get());
  return learner == nullptr ? "" : certificate_to_json(learner->certificate()).dump();
}

namespace {

RunStatus play_on(Run& run, RunWriter& writer, const RunOptions& options) {
  auto last_commit = Clock::now();
  while (!run.finished()) {
    const RoundOutcome& outcome = run.play();
    writer.add(outcome);
    const bool go_on = !options.after_round || options.after_round(run, outcome);
    if (run.finished()) break;
    if (!go_on) {
      writer.commit(run.stored_state());
      return RunStatus::stopped;
    }
    if (seconds_since(last_commit) >= options.commit_seconds) {
      writer.commit(run.stored_state());
      last_commit = Clock::now();
    }
  }
  writer.finish(run.stored_state(), run.certificate_json());
  return RunStatus::finished;
}

}  // namespace

RunStatus start_run(const ExperimentConfig& config, const std::filesystem::path& path,
                    const RunOptions& options) {
  Run run(config, options.drawn ? *options.drawn : draw_tasks(config, options.work), options.work);
  const std::string replaced = replaced_first_policies(run.drawn());
  const bool safe = dynamic_cast<const Learner*>(&run.learner()) != nullptr;
  if (options.warn && safe && !replaced.empty()) options.warn(replaced);
  RunWriter writer = RunWriter::create(path, run.description());
  writer.add(run.evaluate_now());
  writer.commit(run.stored_state());
  return play_on(run, writer, options);
}

RunStatus resume_run(const std::filesystem::path& path, const RunOptions& options) {
  ExperimentConfig config;
  {
    const RunReader reader(path);
    const RunHeader& header = reader.header();
    if (header.finished) {
      reader.state();  // throws if that is not true
      return RunStatus::finished;
    }
    require(
        !header.observed, "run", path.filename().string(),
        "must have been played by `lifeguard run`: this one learns from outside, and `lifeguard "
        "observe` goes on with it");
    if (header.lifeguard_version != kVersion) {
      throw RunFileError(fmt::format(
          "{} was begun by lifeguard {}; going on with {} would not give the same results",
          path.string(), header.lifeguard_version, kVersion));
    }
    // What goes on from a changed digit ends elsewhere.
    if (const auto findings = reader.checksum_findings(); !findings.empty()) {
      throw DamagedRunFile(
          fmt::format("{} is damaged and cannot go on: {}", path.string(), findings.front()));
    }
    require_registered(reader, "gone on with");
    try {
      config = header.config();
    } catch (const InvalidInput& error) {
      throw RunFileError(
          fmt::format("{} holds a configuration that this lifeguard ({}) does not understand: {}",
                      path.string(), kVersion, error.what()));
    }
  }
  RunWriter writer = RunWriter::open(path);
  // Read now that no other process can go on with it.
  const RunReader reader(path);
  const std::optional<RunState> state = reader.state();
  Run run(config, drawn_tasks_of(config, reader.description()), options.work);
  if (!state) {  // killed between the file's creation and its first commit
    writer.add(run.evaluate_now());
    writer.commit(run.stored_state());
  } else {
    try {
      run.restore(state->state);
    } catch (const InvalidInput& error) {
      throw DamagedRunFile(
          fmt::format("{} is damaged: its state cannot be read ({})", path.string(), error.what()));
    }
    if (run.rounds_done() != state->round) {
      throw DamagedRunFile(fmt::format("{} is damaged: its state is after round {} and not {}",
                                       path.string(), run.rounds_done(), state->round));
    }
  }
  return play_on(run, writer, options);
}

}  // namespace lifeguard
