#include "lifeguard/runs/run_rows.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lifeguard {

double StoredEvaluation::mean_cost() const {
  if (!costs.array().isNaN().any()) return costs.mean();
  double sum = 0;
  int known = 0;
  for (const double cost : costs) {
    if (std::isnan(cost)) continue;
    sum += cost;
    ++known;
  }
  return known == 0 ? kNaN : sum / known;
}

bool StoredRegret::bounded() const { return !std::isnan(bound); }

const char* to_string(RoundStatus status) {
  switch (status) {
    case RoundStatus::not_run:
      return "not run";
    case RoundStatus::ok:
      return "ok";
    case RoundStatus::no_signal:
      return "no signal";
    case RoundStatus::singular:
      return "singular";
    case RoundStatus::no_noise:
      return "no noise";
  }
  return "?";
}

const char* to_string(BasisPath path) {
  switch (path) {
    case BasisPath::not_run:
      return "not run";
    case BasisPath::inside:
      return "inside";
    case BasisPath::rows:
      return "rows";
    case BasisPath::spectrum:
      return "spectrum";
    case BasisPath::short_steps:
      return "short steps";
    case BasisPath::kept:
      return "kept";
    case BasisPath::direct:
      return "direct";
  }
  return "?";
}

Cell to_cell(RoundStatus status) { return std::string_view(to_string(status)); }

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, RoundStatus& status) {
  std::string name;
  std::string complaint = from_cell(cell, fit, sizes, name);
  if (!complaint.empty()) return complaint;
  for (int i = 0; i <= static_cast<int>(RoundStatus::no_noise); ++i) {
    status = static_cast<RoundStatus>(i);
    if (name == to_string(status)) return "";
  }
  return fmt::format("is \"{}\", which is no status that this lifeguard knows", name);
}

template <>
const Table<StoredText>& table_of() {
  static const Table<StoredText> table{
      "meta",
      {column("key", Fit::any, &StoredText::key), column("value", Fit::any, &StoredText::value)}};
  return table;
}

template <>
const Table<StoredExperiment>& table_of() {
  using E = StoredExperiment;
  static const Table<E> table{"experiment",
                              {column("id", Fit::only_one, &E::id),
                               column("name", Fit::any, &E::name),
                               column("family", Fit::any, &E::family),
                               column("method", Fit::any, &E::method),
                               column("base_method", Fit::any, &E::base_method),
                               column("methods", Fit::any, &E::methods),
                               column("seed", Fit::not_negative, &E::seed),
                               column("rounds", Fit::positive, &E::rounds),
                               column("tasks", Fit::size, &E::tasks),
                               column("states", Fit::size, &E::states),
                               column("features", Fit::size, &E::features),
                               column("actions", Fit::size, &E::actions),
                               column("steps", Fit::size, &E::steps),
                               column("trajectories", Fit::size, &E::trajectories),
                               column("start_states", Fit::size, &E::start_states),
                               column("k", Fit::size_or_none, &E::k),
                               column("p", Fit::any, &E::p),
                               column("q", Fit::any, &E::q),
                               column("mu1", Fit::any, &E::mu1),
                               column("mu2", Fit::any, &E::mu2),
                               column("zeta", Fit::any, &E::zeta)},
                              4};
  return table;
}

template <>
const Table<StoredTask>& table_of() {
  using T = StoredTask;
  using S = TaskSettings;
  static const Table<T> table{
      "tasks",
      {column("task", Fit::task, &T::task),
       column("name", Fit::one_line, &T::name),
       column("parameters", Fit::any, &T::parameters),
       column("system", Fit::any, &T::system).added_in(4),
       column("integrator", Fit::any, &T::integrator).added_in(4),
       column("dt_seconds", Fit::any, &T::settings, &S::dt_seconds).added_in(4),
       column("start_low", Fit::each_state, &T::settings, &S::start_low).added_in(4),
       column("start_high", Fit::each_state, &T::settings, &S::start_high).added_in(4),
       column("goal", Fit::each_state, &T::settings, &S::goal).added_in(4),
       column("state_weights", Fit::each_state, &T::settings, &S::state_weights).added_in(4),
       column("action_weights", Fit::each_action, &T::settings, &S::action_weights).added_in(4),
       column("action_low", Fit::each_action, &T::settings, &S::action_low).added_in(4),
       column("action_high", Fit::each_action, &T::settings, &S::action_high).added_in(4),
       column("failure_bounds", Fit::each_state, &T::settings, &S::failure_bounds).added_in(4),
       column("failure_cost", Fit::any, &T::settings, &S::failure_cost).added_in(4),
       column("sigma", Fit::any, &T::settings, &S::sigma).added_in(4),
       column("noise_limit", Fit::any, &T::settings, &S::noise_limit).added_in(4),
       column("safe_set", Fit::not_negative, &T::safe_set).added_in(4),
       column("first_policy", Fit::each_parameter, &T::first_policy).added_in(4),
       column("description", Fit::any, &T::description).added_in(8)}};
  return table;
}

template <>
const Table<StoredSafeSet>& table_of() {
  using S = StoredSafeSet;
  static const Table<S> table{
      "safe_sets",
      {column("safe_set", Fit::not_negative, &S::safe_set),
       column("coefficients", Fit::any, &S::coefficients), column("limits", Fit::any, &S::limits),
       column("names", Fit::any, &S::names), column("slack_limit", Fit::positive, &S::slack_limit),
       column("inequalities", Fit::any, &S::inequalities)},
      4};
  return table;
}

template <>
const Table<StoredSetting>& table_of() {
  using S = StoredSetting;
  static const Table<S> table{
      "settings",
      {column("place", Fit::not_negative, &S::place), column("key", Fit::one_line, &S::key),
       column("value", Fit::any, &S::value)},
      4};
  return table;
}

template <>
const Table<StoredMachine>& table_of() {
  using M = StoredMachine;
  static const Table<M> table{
      "machines",
      {column("task", Fit::task, &M::task), column("definition", Fit::any, &M::definition),
       column("retired", Fit::any, &M::retired), column("notes", Fit::any, &M::notes)},
      5};
  return table;
}

template <>
const Table<StoredChange>& table_of() {
  using C = StoredChange;
  static const Table<C> table{
      "changes",
      {column("place", Fit::not_negative, &C::place), column("round", Fit::not_negative, &C::round),
       column("task", Fit::task, &C::task), column("what", Fit::one_line, &C::what),
       column("former_safe_set", Fit::any, &C::former_safe_set),
       column("former_definition", Fit::any, &C::former_definition)},
      5};
  return table;
}

template <>
const Table<StoredIssue>& table_of() {
  using I = StoredIssue;
  static const Table<I> table{
      "issues",
      {column("place", Fit::not_negative, &I::place), column("task", Fit::task, &I::task),
       column("round", Fit::not_negative, &I::round),
       column("fingerprint", Fit::one_line, &I::fingerprint),
       column("safe_set", Fit::not_negative, &I::safe_set), column("sigma", Fit::any, &I::sigma),
       column("parameters", Fit::each_parameter, &I::parameters),
       column("checksum", Fit::one_line, &I::checksum)},
      5};
  return table;
}

template <>
const Table<StoredObservation>& table_of() {
  using O = StoredObservation;
  static const Table<O> table{
      "observations",
      {column("round", Fit::positive, &O::round), column("id", Fit::any, &O::id),
       column("issue", Fit::not_negative, &O::issue), column("source", Fit::any, &O::source),
       column("digest", Fit::any, &O::digest), column("trajectories", Fit::size, &O::trajectories),
       column("cut_short", Fit::not_negative, &O::cut_short)},
      5};
  return table;
}

template <>
const Table<StoredRound>& table_of() {
  using R = StoredRound;
  static const Table<R> table{
      "rounds",
      {column("round", Fit::positive, &R::round),
       column("task", Fit::task, &R::task),
       column("visit", Fit::not_negative, &R::visit),
       column("status", Fit::any, &R::status),
       column("mean_cost", Fit::any, &R::mean_cost),
       column("loss_before", Fit::any, &R::loss_before),
       column("loss_after", Fit::any, &R::loss_after),
       column("step_kl", Fit::any, &R::step_kl),
       column("noise_share", Fit::any, &R::noise_share),
       column("agreement", Fit::any, &R::agreement).added_in(7),
       column("played", Fit::each_parameter, &R::played),
       column("unsafe", Fit::number_of_tasks, &R::unsafe),
       column("projection", Fit::any, &R::projection),
       column("basis_path", Fit::any, &R::basis_path),
       column("alternations", Fit::not_negative, &R::alternations),
       column("iterations", Fit::not_negative, &R::iterations),
       column("worst_margin", Fit::any, &R::worst_margin),
       column("worst_task", Fit::task_or_none, &R::worst_task),
       column("worst_row", Fit::any, &R::worst_row),
       column("retraction", Fit::any, &R::retraction),
       column("fallbacks", Fit::not_negative, &R::fallbacks).added_in(4),
       column("falls", Fit::not_negative, &R::falls).added_in(4),
       column("violations", Fit::not_negative, &R::violations).added_in(4),
       column("saturations", Fit::not_negative, &R::saturations).added_in(4)}};
  return table;
}

const Table<StoredRound>& times_table() {
  using R = StoredRound;
  static const Table<R> table{"timings",
                              {column("round", Fit::positive, &R::round),
                               column("rollout_seconds", Fit::any, &R::rollout_seconds),
                               column("learn_seconds", Fit::any, &R::learn_seconds),
                               column("projection_seconds", Fit::any, &R::projection_seconds)}};
  return table;
}

template <>
const Table<StoredEvaluation>& table_of() {
  using E = StoredEvaluation;
  static const Table<E> table{
      "evaluations",
      {column("round", Fit::not_negative, &E::round), column("costs", Fit::each_task, &E::costs),
       column("margins", Fit::each_task, &E::margins)}};
  return table;
}

template <>
const Table<StoredCertificate>& table_of() {
  using C = StoredCertificate;
  static const Table<C> table{
      "certificates",
      {column("round", Fit::positive, &C::round), column("fingerprint", Fit::any, &C::fingerprint),
       column("margins", Fit::each_task, &C::margins),
       column("worst_rows", Fit::each_task, &C::worst_rows),
       column("spectrum", Fit::each_column, &C::spectrum),
       column("spectrum_holds", Fit::any, &C::spectrum_holds)}};
  return table;
}

template <>
const Table<StoredRegret>& table_of() {
  using R = StoredRegret;
  static const Table<R> table{
      "regret",
      {column("round", Fit::positive, &R::round), column("surrogate", Fit::any, &R::surrogate),
       column("true_cost", Fit::any, &R::true_cost),
       column("bound", Fit::any, &R::bound).added_in(6),
       column("bound_prior", Fit::any, &R::bound_prior).added_in(6),
       column("bound_rounds", Fit::any, &R::bound_rounds).added_in(6),
       column("bound_off_leader", Fit::any, &R::bound_off_leader).added_in(6),
       column("bound_changes", Fit::any, &R::bound_changes).added_in(6),
       column("bound_logarithmic", Fit::any, &R::bound_logarithmic).added_in(6),
       column("bound_without_knowledge", Fit::any, &R::bound_without_knowledge).added_in(6)},
      2};
  return table;
}

template <>
const Table<StoredLemmas>& table_of() {
  using L = StoredLemmas;
  using V = LemmaValues;
  using Q = BoundedQuantity;
  constexpr auto kAny = Fit::any;
  constexpr auto kOf = &L::values;
  static const Table<L> table{
      "lemmas",
      {column("round", Fit::positive, &L::round),
       column("policy_gradient", kAny, kOf, &V::policy_gradient, &Q::measured),
       column("policy_gradient_bound", kAny, kOf, &V::policy_gradient, &Q::bound),
       column("policy_gradient_printed", kAny, kOf, &V::policy_gradient, &Q::printed),
       column("knowledge_gradient", kAny, kOf, &V::knowledge_gradient, &Q::measured),
       column("knowledge_gradient_bound", kAny, kOf, &V::knowledge_gradient, &Q::bound),
       column("knowledge_gradient_printed", kAny, kOf, &V::knowledge_gradient, &Q::printed),
       column("knowledge", kAny, kOf, &V::knowledge, &Q::measured),
       column("knowledge_bound", kAny, kOf, &V::knowledge, &Q::bound),
       column("knowledge_printed", kAny, kOf, &V::knowledge, &Q::printed),
       column("linearised", kAny, kOf, &V::linearised, &Q::measured),
       column("linearised_bound", kAny, kOf, &V::linearised, &Q::bound),
       column("linearised_printed", kAny, kOf, &V::linearised, &Q::printed),
       column("gamma1", kAny, kOf, &V::gamma1), column("gamma2", kAny, kOf, &V::gamma2),
       column("delta", kAny, kOf, &V::delta),
       column("printed_gamma1", kAny, kOf, &V::printed_gamma1),
       column("printed_gamma2", kAny, kOf, &V::printed_gamma2),
       column("excess", kAny, kOf, &V::excess)},
      3};
  return table;
}

template <>
const Table<StoredBeliefs>& table_of() {
  using B = StoredBeliefs;
  static const Table<B> table{"beliefs",
                              {column("round", Fit::positive, &B::round),
                               column("trust_in_mean", Fit::any, &B::trust_in_mean),
                               column("mean", Fit::each_parameter, &B::mean),
                               column("units", Fit::each_parameter, &B::units),
                               column("variances", Fit::each_parameter, &B::variances),
                               column("directions", Fit::directions, &B::directions),
                               column("readings", Fit::directions, &B::readings),
                               column("places", Fit::places, &B::places)},
                              7};
  return table;
}

template <>
const Table<StoredTaskBelief>& table_of() {
  using B = StoredTaskBelief;
  static const Table<B> table{
      "task_beliefs",
      {column("moment", Fit::positive, &B::moment), column("task", Fit::task, &B::task),
       column("visit", Fit::not_negative, &B::visit), column("mean", Fit::each_parameter, &B::mean),
       column("covariance", Fit::covariance, &B::covariance)},
      7};
  return table;
}

template <>
const Table<StoredChecksum>& table_of() {
  using C = StoredChecksum;
  static const Table<C> table{
      "checksums",
      {column("round", Fit::not_negative, &C::round), column("results", Fit::any, &C::results),
       column("times", Fit::any, &C::times)},
      4};
  return table;
}

template <>
const Table<StoredCheckpoint>& table_of() {
  using C = StoredCheckpoint;
  static const Table<C> table{
      "checkpoint",
      {column("id", Fit::only_one, &C::id), column("round", Fit::not_negative, &C::round),
       column("state", Fit::any, &C::state),
       column("checksum", Fit::any, &C::checksum).added_in(4)}};
  return table;
}

template <>
const Table<StoredKnowledge>& table_of() {
  using K = StoredKnowledge;
  constexpr auto kOf = &K::knowledge;
  static const Table<K> table{
      "knowledge",
      {column("id", Fit::only_one, &K::id), column("basis", Fit::basis, kOf, &Knowledge::basis),
       column("coefficients", Fit::coefficients, kOf, &Knowledge::coefficients),
       column("anchors", Fit::anchors, kOf, &Knowledge::anchors)},
      4};
  return table;
}

template <>
const Table<StoredPolicy>& table_of() {
  using P = StoredPolicy;
  static const Table<P> table{"policies",
                              {column("task", Fit::task, &P::task),
                               column("parameters", Fit::each_parameter, &P::parameters)}};
  return table;
}

}  // namespace lifeguard
