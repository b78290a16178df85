#include "lifeguard/runs/run_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/regret/true_cost.hpp"
#include "lifeguard/runs/certificate_json.hpp"
#include "lifeguard/runs/closed_loop_json.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/followed_tasks.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_beliefs.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/absent_system.hpp"
#include "lifeguard/systems/signal_text.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

// More of the same kind says nothing new.
constexpr std::size_t kMostFindings = 20;

// What is drawn or evaluated again on another computer, with another library of functions, may
// differ in the last digits. That is no damage: damage to the last digit is the checksums' to find.
constexpr double kDrawnAgain = 1e-9;
constexpr double kEvaluatedAgain = 1e-6;

bool close(double a, double b, double tolerance, double unit = 0) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= tolerance * (std::max(std::abs(a), std::abs(b)) + unit);
}

/// The closed loops of a set as a certificate has them; null if there are none.
nlohmann::json closed_loops_json(const SafeSet& set) {
  nlohmann::json json;
  for (const auto& closed_loop : set.closed_loops())
    json.push_back(nlohmann::json(closed_loop_json(*closed_loop)));
  return nlohmann::json::parse(json.dump());  // as text it has no infinity
}

/// Whether no variance of a stored covariance is negative; if one is, where.
bool variances_hold(const Eigen::VectorXd& lower_half, Eigen::Index size, Eigen::Index& place) {
  place = 0;
  for (Eigen::Index c = 0; c < size; place += size - c++) {
    if (!(lower_half(place) >= 0)) return false;
  }
  return true;
}

/// The row of a round in rows ordered by it; null if there is none.
template <class Row>
const Row* row_of(const std::vector<Row>& rows, long round) {
  const auto found = std::lower_bound(rows.begin(), rows.end(), round,
                                      [](const Row& row, long r) { return row.round < r; });
  return found != rows.end() && found->round == round ? &*found : nullptr;
}

/// Both are JSON objects with the same keys and nearly the same numbers.
bool nearly_same_object(std::string_view a, std::string_view b) {
  try {
    const nlohmann::json x = shallow_json(std::string(a));
    const nlohmann::json y = shallow_json(std::string(b));
    if (!x.is_object() || !y.is_object() || x.size() != y.size()) return false;
    for (const auto& [key, value] : x.items()) {
      if (!y.contains(key) || !close(value.get<double>(), y.at(key).get<double>(), kDrawnAgain)) {
        return false;
      }
    }
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

class RunChecker {
 public:
  RunChecker(const std::filesystem::path& path, const CheckOptions& options)
      : options_(options), reader_(std::in_place, path, Checksums::ignore) {
    result_.method = reader_->header().experiment.method;
    result_.rounds = reader_->header().rounds_done;
  }

  RunCheck check() {
    try {
      if (const std::string damage = reader_->integrity(); !damage.empty()) {
        find(fmt::format("the file is damaged: {}", damage));
        return result_;
      }
      for (const std::string& finding : reader_->foreign_parts()) find(finding);
      if (read()) {
        check_description();
        check_content();
      }
    } catch (const UnknownSystem& error) {
      // No verdict; but what was found before stands.
      if (result_.findings.empty() && unsafe_.empty()) throw;
      result_.not_checked = error.what();
    } catch (const RunFileError& error) {
      find(error.what());
    } catch (const InvalidInput& error) {
      find(fmt::format("what is stored is refused: {}", error.what()));
    }
    result_.findings.insert(result_.findings.end(), unsafe_.begin(), unsafe_.end());
    return result_;
  }

 private:
  const RunHeader& header() const { return view_->header; }
  const StoredExperiment& experiment() const { return view_->header.experiment; }
  bool observed() const { return view_->header.observed; }
  int schema() const { return header().schema_version; }
  bool full() const { return result_.findings.size() >= kMostFindings; }

  /// With what the rows and gains in it mean.
  std::string explained(const std::string& finding) const {
    if (!view_ || view_->tasks.empty()) return finding;
    return with_row_meanings(finding, describe(view_->tasks.front().system), view_->features());
  }

  void find(const std::string& finding) {
    if (!full()) result_.findings.push_back(explained(finding));
  }

  /// A policy that was played and broke its constraints. Methods without constraints have many of
  /// them, which must not hide what else is found.
  void find_unsafe(const std::string& finding) {
    if (unsafe_.size() < kMostFindings) unsafe_.push_back(explained(finding));
  }

  /// Everything, so that the file is not held open while it is thought about.
  bool read() {
    if (options_.checksums == Checksums::verify && reader_->header().schema_version >= 4) {
      for (const std::string& finding : reader_->checksum_findings()) find(finding);
      result_.checksums_checked = true;
    }
    view_.emplace(*reader_);
    stored_state_ = reader_->state();
    evaluations_ = reader_->evaluations();
    checksums_ = reader_->checksums();
    if (schema() >= 4) {
      description_ = reader_->description();
    } else {
      description_.tasks = reader_->old_tasks();
    }
    absent_ = view_->absent();
    if (!absent_.empty()) {
      result_.not_checked = fmt::format(
          "{}: this program does not know the system \"{:.100}\"",
          observed() ? "machines and safe sets against the configuration"
                     : "tasks, safe sets and first policies against the configuration, and what "
                       "policies cost",
          system_name(absent_.front().system));
    }
    reader_.reset();
    try {
      config_ = header().config(absent_);
    } catch (const InvalidInput& error) {
      find(fmt::format("the configuration is refused: {}", error.what()));
      return false;
    }
    if (observed()) config_.rounds = experiment().rounds;
    if (!observed() && config_.tasks != static_cast<int>(view_->tasks.size())) {
      find(fmt::format("{} tasks are stored, the configuration has {}", view_->tasks.size(),
                       config_.tasks));
      return false;
    }
    return true;
  }

  // What is fixed before the first round, against what the configuration and the seed give.

  template <class Row>
  void compare(const Table<Row>& table, const Row& found, const Row& expected, double tolerance,
               std::string_view when) {
    for (const Column<Row>& column : table.columns) {
      if (column.since > schema()) continue;
      const Cell a = column.get(found);
      const Cell b = column.get(expected);
      const std::string what = difference(a, b, tolerance);
      if (what.empty()) continue;
      const auto* text = std::get_if<std::string_view>(&a);
      const auto* wanted = std::get_if<std::string_view>(&b);
      if (tolerance > 0 && text != nullptr && wanted != nullptr &&
          nearly_same_object(*text, *wanted)) {
        continue;
      }
      const Cell key = table.columns.front().get(expected);
      const std::string place =
          std::holds_alternative<std::int64_t>(key)
              ? fmt::format("{} {}", table.columns.front().name, std::get<std::int64_t>(key))
              : std::string(std::get<std::string_view>(key));
      find(
          fmt::format("{}table {}, {}, column {}: {}", when, table.name, place, column.name, what));
    }
  }

  template <class Row>
  void compare(const std::vector<Row>& found, const std::vector<Row>& expected, double tolerance,
               std::string_view when) {
    const Table<Row>& table = table_of<Row>();
    if (found.size() != expected.size()) {
      find(fmt::format("{}table {} has {} rows, must have {}", when, table.name, found.size(),
                       expected.size()));
    }
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      compare(table, found[i], expected[i], tolerance, when);
    }
  }

  void compare_description(const RunDescription& expected, double tolerance,
                           std::string_view when) {
    std::vector<StoredTask> tasks = expected.tasks;
    for (std::size_t t = 0; t < std::min(tasks.size(), description_.tasks.size()); ++t) {
      // A system may say the same in other words than it once did.
      const StoredTask& stored = description_.tasks[t];
      if (tolerance > 0 && stored.description != tasks[t].description &&
          same_signals(stored, tasks[t])) {
        tasks[t].description = stored.description;
      }
    }
    compare(description_.tasks, tasks, tolerance, when);
    if (schema() < 4) {
      if (experiment().method != expected.experiment.method) {
        find(fmt::format("{}the method is {} and not {}", when, expected.experiment.method,
                         experiment().method));
      }
      return;
    }
    compare(table_of<StoredExperiment>(), experiment(), expected.experiment, tolerance, when);
    compare(description_.safe_sets, expected.safe_sets, tolerance, when);
    if (header().lifeguard_version == kVersion && schema() == kSchemaVersion) {
      compare(description_.settings, expected.settings, 0, when);
    } else {
      compare_common_settings(expected.settings, when);
    }
    compare(description_.machines, expected.machines, 0, when);
    compare_texts(expected.texts, when);
  }

  /// Versions have different settings; what both know must be the same.
  void compare_common_settings(const std::vector<StoredSetting>& expected, std::string_view when) {
    std::map<std::string, std::string> known;
    for (const StoredSetting& setting : expected) known.emplace(setting.key, setting.value);
    for (const StoredSetting& setting : description_.settings) {
      const auto now = known.find(setting.key);
      if (now != known.end() && now->second != setting.value) {
        find(fmt::format("{}table settings, {}: is \"{}\" instead of \"{}\"", when, setting.key,
                         setting.value, now->second));
      }
    }
  }

  void compare_texts(const std::vector<StoredText>& expected, std::string_view when) {
    std::map<std::string, std::optional<std::string>> known;
    for (const StoredText& text : expected) known.emplace(text.key, text.value);
    known["lifeguard_version"] = header().lifeguard_version;
    known[std::string(kFinished)] = header().finished ? "true" : "false";
    known[std::string(kHeaderChecksum)] = header_checksum(description_, schema());
    if (header().finished) known[std::string(kCertificate)] = std::nullopt;
    if (observed()) known[std::string(kFirstHeader)] = std::nullopt;
    for (const StoredText& text : description_.texts) {
      const auto now = known.find(text.key);
      if (now == known.end()) {
        find(fmt::format("{}table meta has the key \"{}\", which is not known", when, text.key));
        continue;
      }
      if (now->second && *now->second != text.value) {
        find(fmt::format("{}table meta, {}: is not what it must be", when, text.key));
      }
      known.erase(now);
    }
    for (const auto& [key, value] : known) {
      find(fmt::format("{}table meta has no \"{}\"", when, key));
    }
  }

  void check_description() {
    if (observed()) {
      compare_description(described_again(config_, description_), kDrawnAgain, "");
      run_ = run_of(config_, description_);
    } else if (!absent_.empty()) {
      run_ = std::make_unique<Run>(config_, drawn_tasks_of(config_, description_));
      compare_description(run_->description(), kDrawnAgain, "");
    } else {
      run_ = std::make_unique<Run>(config_);
      compare_description(run_->description(), kDrawnAgain, "");
    }
    for (const SafeSet& set : view_->safe_sets()) {
      for (const auto& closed_loop : set.closed_loops()) {
        options_.work.step("proving closed loops", 0, 0);
        for (const ClosedLoopFinding& finding : check_closed_loop(*closed_loop)) {
          find_unsafe(fmt::format("a closed loop: {}", finding.message));
        }
      }
    }
  }

  void check_content() {
    if (observed()) check_issues();
    check_rounds();
    check_evaluations();
    check_certificates();
    check_regret();
    check_lemmas();
    check_beliefs();
    check_task_beliefs();
    check_counts();
    check_last_state();
    if (options_.replay && !observed()) play_again();
  }

  // Each round by itself, and its place.

  void check_rounds() {
    if (!observed() && header().rounds_done > config_.rounds) {
      find(fmt::format("{} rounds are done of {} planned", header().rounds_done, config_.rounds));
    }
    if (!observed() && header().finished != (header().rounds_done >= config_.rounds)) {
      find(fmt::format("after {} of {} rounds the run says it is {}finished", header().rounds_done,
                       config_.rounds, header().finished ? "" : "not "));
    }
    std::vector<long> visits(view_->tasks.size(), 0);
    long expected = 0;
    for (const StoredRound& round : view_->rounds) {
      options_.work.step("checking rounds", round.round, header().rounds_done);
      if (round.round != ++expected) {
        find(fmt::format("round {} is missing", expected));
        return;
      }
      if (observed()) {
        check_observation(round);
      } else if (round.task != scheduled_task(config_, round.round)) {
        find(fmt::format("round {}: is of task {}, must be of task {}", round.round, round.task,
                         scheduled_task(config_, round.round)));
      }
      const auto t = static_cast<std::size_t>(round.task);
      if (round.status == RoundStatus::ok || round.status == RoundStatus::no_signal) ++visits[t];
      if (round.visit != visits[t]) {
        find(fmt::format("round {}: is visit {} of its task, must be {}", round.round, round.visit,
                         visits[t]));
      }
      if (!observed() && round.round == 1 &&
          round.played != view_->first_policies.col(round.task)) {
        find("round 1: the policy that was played is not the task's first one");
      }
      check_safeguard(round);
      if (round.fallbacks > 0) {
        find(fmt::format(
            "round {}: {} times a policy that was proven safe was refused when it was handed out, "
            "and its anchor took its place",
            round.round, round.fallbacks));
      }
      ++result_.policies;
      for (const Finding& finding : check_policy(view_->safe_set_played(round), round.played)) {
        find_unsafe(
            fmt::format("round {}, {}: {}", round.round, view_->tasks[t].name, finding.message));
      }
    }
    if (expected != header().rounds_done) {
      find(fmt::format("{} rounds are stored, the state is after {}", expected,
                       header().rounds_done));
    }
  }

  // What only a run from outside has.

  /// Everything that was handed out is proven again, whether or not anybody played it.
  void check_issues() {
    for (const StoredIssue& issue : view_->issues) {
      options_.work.step("proving policies that were handed out", issue.place,
                         static_cast<long>(view_->issues.size()));
      const std::string& name = view_->tasks[static_cast<std::size_t>(issue.task)].name;
      if (issue.fingerprint != policy_fingerprint(name, issue.parameters, issue.sigma)) {
        find(fmt::format("table issues, place {}: has another fingerprint", issue.place));
      }
      const SafeSet& set = view_->safe_sets()[static_cast<std::size_t>(issue.safe_set)];
      for (const Finding& finding : check_policy(set, issue.parameters)) {
        find_unsafe(fmt::format("policy {} for {}: {}", issue.fingerprint, name, finding.message));
      }
      ++result_.issues;
    }
  }

  void check_observation(const StoredRound& round) {
    const StoredObservation& o = view_->observations[static_cast<std::size_t>(round.round - 1)];
    const StoredIssue& issue = view_->issues[static_cast<std::size_t>(o.issue)];
    if (round.played != issue.parameters) {
      find(fmt::format("round {}: the policy that was played is not the one handed out",
                       round.round));
    }
    if (!o.id.empty() && !observation_ids_.insert(o.id).second) {
      find(fmt::format("round {}: the observation \"{}\" was counted twice", round.round, o.id));
    }
    if (o.cut_short > o.trajectories) {
      find(fmt::format("round {}: more trajectories were cut short than there are", round.round));
    }
  }

  /// What was observed last of each task, up to a round.
  Eigen::VectorXd costs_after(long round) const {
    Eigen::VectorXd costs = Eigen::VectorXd::Constant(experiment().tasks, kNaN);
    for (const StoredRound& played : view_->rounds) {
      if (played.round <= round) costs(played.task) = played.mean_cost;
    }
    return costs;
  }

  void check_safeguard(const StoredRound& round) {
    if (round.projection.empty()) {
      if (!round.basis_path.empty() || round.alternations != 0 || round.iterations != 0 ||
          round.worst_task != -1 || !round.worst_row.empty() || !std::isnan(round.worst_margin) ||
          !std::isnan(round.retraction)) {
        find(fmt::format("round {}: says what a projection did that was not made", round.round));
      }
      return;
    }
    if (round.worst_row.empty()) return;
    if (round.worst_task < 0) {
      find(fmt::format("round {}: has a worst row of no task", round.round));
      return;
    }
    const std::vector<std::string>& names =
        view_->safe_set_after(round.round, round.worst_task).names();
    if (std::find(names.begin(), names.end(), round.worst_row) == names.end()) {
      find(fmt::format("round {}: the worst row \"{}\" is none of task {}", round.round,
                       round.worst_row, round.worst_task));
    }
  }

  /// The rows are of these rounds, all of them and no others.
  template <class Row>
  bool in_their_places(const std::vector<Row>& rows, const std::vector<long>& expected) {
    const std::string_view table = table_of<Row>().name;
    std::size_t i = 0;
    for (const long round : expected) {
      if (i < rows.size() && rows[i].round == round) {
        ++i;
        continue;
      }
      if (i < rows.size() && rows[i].round < round) {
        find(fmt::format("table {}, round {}: must not be there", table, rows[i].round));
      } else {
        find(fmt::format("table {}, round {}: is missing", table, round));
      }
      return false;
    }
    if (i < rows.size()) {
      find(fmt::format("table {}, round {}: must not be there", table, rows[i].round));
    }
    return i == rows.size();
  }

  std::vector<long> all_rounds(bool wanted) const {
    std::vector<long> rounds;
    for (std::size_t i = 1; wanted && i <= view_->rounds.size(); ++i) {
      rounds.push_back(static_cast<long>(i));
    }
    return rounds;
  }

  // What is said of policies, against those that are stored: the first ones, the last ones, and
  // after every round the one that the next round played.

  /// Calls visit(task, α) for each policy after the round that is known.
  template <class Visit>
  void known_policies_after(long round, const Visit& visit) const {
    if (observed()) {
      // Rounds may be of policies that were handed out long before, and machines begin when they
      // come: the last ones are known, unless the fleet has changed since.
      const bool changed = !view_->changes.empty() && view_->changes.back().round >= round;
      if (round != header().rounds_done || round == 0 || changed) return;
    }
    if (round == header().rounds_done || round == 0) {
      const Eigen::MatrixXd& all = round == 0 ? view_->first_policies : view_->policies;
      for (int t = 0; t < experiment().tasks; ++t) visit(t, Eigen::VectorXd(all.col(t)));
    } else if (const StoredRound* next = row_of(view_->rounds, round + 1)) {
      visit(next->task, next->played);
    }
  }

  void check_evaluations() {
    std::vector<long> expected;
    if (header().begun) {
      expected.push_back(0);
      const auto done = static_cast<long>(view_->rounds.size());
      for (long round = 1; round <= done;) {
        expected.push_back(round);
        const long next = next_evaluation(config_, round);
        if (next <= round) break;
        round = next;
      }
    }
    if (!in_their_places(evaluations_, expected)) return;
    for (const StoredEvaluation& evaluation : evaluations_) {
      if (absent_.empty()) ++result_.evaluations;
      if (observed()) {
        const long count = view_->tasks_after(evaluation.round);
        const Eigen::VectorXd costs = costs_after(evaluation.round).head(count);
        const auto same = [](double a, double b) {
          return a == b || (std::isnan(a) && std::isnan(b));
        };
        if (!std::equal(costs.begin(), costs.end(), evaluation.costs.begin(),
                        evaluation.costs.end(), same)) {
          find(fmt::format("the evaluation after round {}: its costs are not those last observed",
                           evaluation.round));
          continue;
        }
      }
      known_policies_after(evaluation.round, [&](int t, const Eigen::VectorXd& alpha) {
        const SafeSet& set = view_->safe_set(t);
        const Task& task = view_->tasks[static_cast<std::size_t>(t)];
        const double cost = observed() || is_absent(task.system)
                                ? evaluation.costs(t)
                                : evaluation_cost(config_, task, alpha);
        if (!close(evaluation.costs(t), cost, kEvaluatedAgain)) {
          find(fmt::format("the evaluation after round {}: task {} costs {} and not {}",
                           evaluation.round, t, cost, evaluation.costs(t)));
        }
        const double margin = margins(set, alpha).worst();
        if (!close(evaluation.margins(t), margin, kEvaluatedAgain, unit_of(set))) {
          find(fmt::format("the evaluation after round {}: task {} has the margin {} and not {}",
                           evaluation.round, t, margin, evaluation.margins(t)));
        }
      });
    }
  }

  /// The size of the numbers whose difference a margin is.
  static double unit_of(const SafeSet& set) {
    const double rows = set.rows() == 0 ? 0 : 1e-3 * (1 + set.limits().cwiseAbs().maxCoeff());
    return set.inequalities().empty() ? rows : std::max(1.0, rows);
  }

  bool has_certificates() const {
    return experiment().base_method == "learner" && view_->constrained();
  }

  void check_certificates() {
    if (!in_their_places(view_->certificates, all_rounds(has_certificates()))) return;
    for (const StoredCertificate& certificate : view_->certificates) check(certificate);
  }

  void check(const StoredCertificate& certificate) {
    const auto wrong = [&](const std::string& what) {
      find(fmt::format("the certificate of round {}: {}", certificate.round, what));
    };
    for (int t = 0; t < view_->tasks_after(certificate.round); ++t) {
      const int row = certificate.worst_rows[static_cast<std::size_t>(t)];
      const int rows = view_->safe_set_after(certificate.round, t).constraints();
      if (row < (rows > 0 ? 0 : -1) || row >= rows) {
        wrong(fmt::format("task {} has no row {}", t, row));
        return;
      }
      if (std::isnan(certificate.margins(t))) wrong(fmt::format("task {} has no margin", t));
    }
    check_spectrum(certificate, wrong);
    known_policies_after(certificate.round, [&](int t, const Eigen::VectorXd& alpha) {
      const SafeSet& set = view_->safe_set(t);
      const double claimed = certificate.margins(t);
      TaskCertificate claim;
      claim.worst_row = certificate.worst_rows[static_cast<std::size_t>(t)];
      claim.row_margin = claimed;
      claim.slack_margin = set.has_slack_limit() ? claimed : kInfinity;
      // Of a policy that is not safe another one may have been handed out.
      if (!(claimed > 0) || !set.constrained()) return;
      if (!claim_holds(set, alpha, claim)) {
        wrong(fmt::format("task {}: a margin of {} is claimed, which is more than there is", t,
                          claimed));
      }
      const Margins found = margins(set, alpha);
      if (!close(found.worst(), claimed, kEvaluatedAgain, unit_of(set))) {
        wrong(fmt::format("task {}: the margin is {} and not {}", t, found.worst(), claimed));
      }
      if (!close(found.rows(claim.worst_row), found.rows.minCoeff(), kEvaluatedAgain,
                 unit_of(set))) {
        wrong(fmt::format("task {}: \"{}\" is not the worst row", t, set.name(claim.worst_row)));
      }
    });
    const StoredEvaluation* evaluation = row_of(evaluations_, certificate.round);
    for (int t = 0; evaluation != nullptr && t < evaluation->margins.size(); ++t) {
      if (certificate.margins(t) > 0 &&
          !close(evaluation->margins(t), certificate.margins(t), kEvaluatedAgain,
                 unit_of(view_->safe_set_after(certificate.round, t)))) {
        wrong(fmt::format("task {} has another margin in the round's evaluation", t));
      }
    }
    const StoredRound* round = row_of(view_->rounds, certificate.round);
    if (round != nullptr && round->worst_task >= 0 && std::isfinite(round->worst_margin)) {
      // Of the visited task where no other one is touched by a round.
      const double least = config_.learner().update == UpdateRule::empirical_bayes
                               ? certificate.margins(round->worst_task)
                               : certificate.margins.minCoeff();
      if (!close(least, round->worst_margin, kEvaluatedAgain,
                 unit_of(view_->safe_set_after(round->round, round->worst_task)))) {
        wrong(
            fmt::format("the least margin is {}, the projection's {}", least, round->worst_margin));
      }
    }
  }

  template <class Wrong>
  void check_spectrum(const StoredCertificate& certificate, const Wrong& wrong) {
    const Eigen::VectorXd& spectrum = certificate.spectrum;
    if (spectrum.size() == 0) {
      wrong("there is no spectrum");
      return;
    }
    if (!std::is_sorted(spectrum.begin(), spectrum.end())) wrong("the spectrum does not ascend");
    constexpr double kRoom = 1e-6;
    const double least = spectrum.minCoeff();
    const double largest = spectrum.maxCoeff();
    const double p = experiment().p;
    const double q = experiment().q;
    const double rounding = 1e-12 * largest;  // of the eigenvalues, which are not what was proven
    const bool outside = !(least >= p * (1 - kRoom) - rounding && largest <= q * (1 + kRoom));
    const bool inside = least >= p * (1 + kRoom) + rounding && largest <= q * (1 - kRoom);
    if (certificate.spectrum_holds ? outside : inside) {
      wrong(fmt::format("the spectrum lies in [{}, {}] and is said {}to lie in [{}, {}]", least,
                        largest, certificate.spectrum_holds ? "" : "not ", p, q));
    }
  }

  void check_regret() {
    std::vector<long> expected;
    if (config_.regret) {
      for (const long round : log_spaced_rounds(config_.rounds, kRegretRounds)) {
        if (round <= static_cast<long>(view_->rounds.size())) expected.push_back(round);
      }
    }
    if (!in_their_places(view_->regrets, expected)) return;
    for (const StoredRegret& regret : view_->regrets) check_bound(regret);
  }

  /// The theorem of docs/theorem.md. The sums have rounding errors, of the size of what is added.
  void check_bound(const StoredRegret& regret) {
    if (schema() < 6) return;
    ++result_.bounds;
    const double size = std::abs(regret.surrogate) + std::abs(regret.bound_prior) +
                        std::abs(regret.bound_rounds) + std::abs(regret.bound_off_leader) +
                        std::abs(regret.bound_changes);
    constexpr double kRounding = 1e-9;
    const double terms = regret.bound_of_leader() + regret.bound_off_leader;
    // The comparator's interval is all that the bound has beside its terms.
    if (!(regret.bound >= terms - kRounding * size && regret.bound <= terms + 1e-3 * (1 + size))) {
      find(fmt::format("round {}: the bound of the regret is {} and its terms are {}", regret.round,
                       regret.bound, terms));
    }
    if (!(regret.surrogate <= regret.bound + kRounding * size)) {
      find(fmt::format("round {}: the regret {} is above its bound {}", regret.round,
                       regret.surrogate, regret.bound));
    }
    if (!(regret.bound_rounds >= 0)) {
      find(fmt::format("round {}: the rounds' part of the bound is {}", regret.round,
                       regret.bound_rounds));
    }
  }

  void check_lemmas() {
    // Files of the first schemas have no lemmas.
    const bool wanted = !observed() && schema() >= 3 && config_.regret &&
                        theorem_bounds(run_->learner()).has_value();
    if (!in_their_places(view_->lemmas, all_rounds(wanted))) return;
    for (const StoredLemmas& lemmas : view_->lemmas) {
      ++result_.lemmas;
      if (!lemmas.values.hold()) {
        find(fmt::format("round {}: a quantity of the regret theorem is above its bound",
                         lemmas.round));
      }
    }
  }

  // What empirical Bayes believes. It does from the first round on that taught it anything.

  bool has_beliefs() const {
    return schema() >= 7 && experiment().base_method == "learner" &&
           config_.learner().update == UpdateRule::empirical_bayes;
  }

  /// The first round after which there are beliefs; after the last one if there are none.
  long first_belief() const {
    const auto taught =
        std::find_if(view_->rounds.begin(), view_->rounds.end(),
                     [](const StoredRound& round) { return round.status == RoundStatus::ok; });
    return has_beliefs() && taught != view_->rounds.end() ? taught->round
                                                          : header().rounds_done + 1;
  }

  void check_beliefs() {
    const long first = first_belief();
    for (const StoredRound& round : view_->rounds) {
      const bool holds = round.round >= first ? round.agreement >= 0 && round.agreement <= 1
                                              : std::isnan(round.agreement);
      if (!holds) {
        find(fmt::format("round {}: the steps of different tasks are said to agree by {}",
                         round.round, round.agreement));
      }
    }
    std::vector<long> expected;
    for (const StoredEvaluation& evaluation : evaluations_) {
      if (evaluation.round >= first) expected.push_back(evaluation.round);
    }
    if (!in_their_places(view_->beliefs, expected)) return;
    for (const StoredBeliefs& beliefs : view_->beliefs) check(beliefs);
  }

  void check(const StoredBeliefs& beliefs) {
    const auto wrong = [&](const std::string& what) {
      find(fmt::format("the beliefs after round {}: {}", beliefs.round, what));
    };
    constexpr double kRounding = 1e-6;
    const Eigen::VectorXd& variances = beliefs.variances;
    if (!(beliefs.trust_in_mean >= 0 && beliefs.trust_in_mean <= 1)) {
      wrong(fmt::format("the trust in the mean is {}", beliefs.trust_in_mean));
    }
    if (!(beliefs.units.minCoeff() > 0)) wrong("a gain has no unit");
    if (!(variances.minCoeff() >= 0) ||
        !std::is_sorted(variances.begin(), variances.end(), std::greater<>())) {
      wrong("the variances do not descend to 0 or above");
    }
    const Eigen::Index count = beliefs.directions.cols();
    const Eigen::MatrixXd product = beliefs.readings.transpose() * beliefs.directions;
    if (!((product - Eigen::MatrixXd::Identity(count, count)).cwiseAbs().maxCoeff() < kRounding)) {
      wrong("the readings are not those of the directions");
    }
    const long tasks = observed() ? view_->tasks_after(beliefs.round) : experiment().tasks;
    const auto followed =
        static_cast<Eigen::Index>(followed_tasks(tasks, beliefs.mean.size()).size());
    if (beliefs.places.cols() != followed) {
      wrong(fmt::format("{} tasks are followed, must be {}", beliefs.places.cols(), followed));
      return;
    }
    for (Eigen::Index i = 0; i < followed; ++i) {
      const double a = beliefs.places(2, i);
      const double b = beliefs.places(3, i);
      const double c = beliefs.places(4, i);
      if (!(a >= 0 && c >= 0 && b * b <= a * c * (1 + kRounding))) {
        wrong(fmt::format("the {}th task that is followed has no covariance", i + 1));
      }
    }
  }

  /// Before the first round of a task and after some of them.
  void check_task_beliefs() {
    std::vector<StoredTaskBelief> expected;
    const long first = first_belief();
    for (const StoredRound& round : view_->rounds) {
      const bool counts = round.status == RoundStatus::ok || round.status == RoundStatus::no_signal;
      if (!counts || !is_followed(round.task, view_->parameters())) continue;
      if (round.visit == 1 && round.round > first) {
        expected.push_back({.moment = 2 * round.round - 1, .task = round.task, .visit = 0});
      }
      if (round.round >= first && is_followed_visit(round.visit)) {
        expected.push_back({.moment = 2 * round.round, .task = round.task, .visit = round.visit});
      }
    }
    const std::vector<StoredTaskBelief>& found = view_->task_beliefs;
    for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
      const bool missing =
          i >= found.size() || (i < expected.size() && expected[i].moment < found[i].moment);
      if (missing || i >= expected.size() || found[i].moment < expected[i].moment) {
        find(fmt::format("table task_beliefs, moment {}: {}",
                         missing ? expected[i].moment : found[i].moment,
                         missing ? "is missing" : "must not be there"));
        return;
      }
      if (found[i].task != expected[i].task || found[i].visit != expected[i].visit) {
        find(fmt::format(
            "table task_beliefs, moment {}: is of visit {} of task {}, must be of "
            "visit {} of task {}",
            found[i].moment, found[i].visit, found[i].task, expected[i].visit, expected[i].task));
      }
      if (Eigen::Index next = 0; !variances_hold(found[i].covariance, view_->parameters(), next)) {
        find(fmt::format("table task_beliefs, moment {}: the variance at place {} is negative",
                         found[i].moment, next));
      }
    }
  }

  /// The last ones, against the stored learner.
  void check_last_beliefs() {
    if (view_->beliefs.empty() || view_->beliefs.back().round != header().rounds_done) return;
    const auto restored =
        stored_beliefs(run_->learner(), run_->drawn().tasks, header().rounds_done);
    if (!restored) {
      find("the stored learner believes nothing");
      return;
    }
    // A machine that has come since is in the learner and not in what it believed then.
    if (observed() && restored->places.cols() != view_->beliefs.back().places.cols()) return;
    compare(table_of<StoredBeliefs>(), view_->beliefs.back(), *restored, kDrawnAgain,
            "the stored learner: ");
  }

  /// The number of unsafe policies after each round, against what proves policies safe or unsafe.
  void check_counts() {
    std::vector<bool> safe(view_->tasks.size());
    for (const StoredRound& round : view_->rounds) {
      const StoredCertificate* certificate = row_of(view_->certificates, round.round);
      const StoredEvaluation* evaluation = row_of(evaluations_, round.round);
      const bool grown_since = view_->tasks_after(round.round) < experiment().tasks;
      for (int t = 0; t < experiment().tasks; ++t) {
        safe[static_cast<std::size_t>(t)] =
            !view_->constrained() || (certificate != nullptr && certificate->margins(t) > 0) ||
            (evaluation != nullptr && t < evaluation->margins.size() &&
             evaluation->margins(t) >= 0) ||
            (grown_since && t >= view_->tasks_after(round.round));
      }
      long least = 0;
      known_policies_after(round.round, [&](int t, const Eigen::VectorXd& alpha) {
        const bool obeys = obeys_exactly(view_->safe_set(t), alpha);
        safe[static_cast<std::size_t>(t)] = obeys;
        least += obeys ? 0 : 1;
      });
      const long most = std::count(safe.begin(), safe.end(), false);
      if (round.unsafe < least || round.unsafe > most) {
        find(fmt::format(
            "round {}: {} policies are said to be unsafe, {} are", round.round, round.unsafe,
            least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most)));
      }
    }
  }

  // The last state: the certificate, the policies, and the learner that is stored.

  void check_last_state() {
    if (!stored_state_) return;
    if (stored_state_->round != header().rounds_done) find("the state is of another round");
    const bool same_version = header().lifeguard_version == kVersion && schema() == kSchemaVersion;
    try {
      run_->restore(stored_state_->state);
      if (run_->rounds_done() != header().rounds_done) {
        find(fmt::format("the stored learner is after round {} and not {}", run_->rounds_done(),
                         header().rounds_done));
      }
      const RunState restored = run_->stored_state();
      // An older file has policies only at its end, and no knowledge.
      if (schema() >= 4 || header().finished) {
        compare(stored_state_->policies, restored.policies, kDrawnAgain, "the stored learner: ");
      }
      if (stored_state_->knowledge && restored.knowledge) {
        compare(table_of<StoredKnowledge>(), *stored_state_->knowledge, *restored.knowledge, 0,
                "the stored learner: ");
      }
      check_last_beliefs();
    } catch (const InvalidInput& error) {
      // Another version's learner need not be understood.
      if (same_version) find(fmt::format("the stored learner is refused: {}", error.what()));
    }
    check_last_certificate();
  }

  void check_last_certificate() {
    const std::string& text = view_->certificate_json;
    const bool wanted = header().finished && experiment().base_method == "learner";
    if (text.empty() == wanted) {
      find(wanted ? "the last certificate is missing" : "there is a certificate of nothing");
    }
    if (text.empty()) return;
    try {
      const nlohmann::json json = shallow_json(text);
      const Certificate certificate = certificate_from_json(json);
      if (!view_->certificates.empty()) {
        compare(table_of<StoredCertificate>(), view_->certificates.back(),
                stored_certificate(header().rounds_done, certificate), 0,
                "the last certificate is another: ");
      }
      if (!view_->knowledge) return;
      const Knowledge& knowledge = *view_->knowledge;
      std::vector<Eigen::VectorXd> anchors;
      std::vector<SafeSet> sets;
      for (int t = 0; t < knowledge.tasks(); ++t) {
        anchors.emplace_back(knowledge.anchors.col(t));
        sets.push_back(view_->safe_set(t));
      }
      const SafetyView safety{knowledge.basis,
                              knowledge.coefficients,
                              anchors,
                              sets,
                              certificate.smallest_eigenvalue,
                              certificate.largest_eigenvalue};
      for (const Finding& finding : check_certificate(safety, certificate)) find(finding.message);
      for (std::size_t t = 0; t < certificate.tasks.size() && t < sets.size(); ++t) {
        const TaskCertificate& task = certificate.tasks[t];
        const std::string name = task.worst_row < 0 || task.worst_row >= sets[t].constraints()
                                     ? ""
                                     : sets[t].name(task.worst_row);
        if (json["tasks"][t].value("closed_loops", nlohmann::json()) !=
            closed_loops_json(sets[t])) {
          find(fmt::format("the last certificate: another closed loop of task {}", t));
        }
        if (task.worst_row_name != name) {
          find(fmt::format("the last certificate: row {} of task {} is \"{}\" and not \"{}\"",
                           task.worst_row, t, name, task.worst_row_name));
        }
      }
      result_.certificate_checked = true;
    } catch (const nlohmann::json::exception& error) {
      find(fmt::format("the certificate cannot be read: {}", complaint_of(error)));
    }
  }

  // Everything again.

  template <class Row>
  void compare_played(const std::vector<Row>& stored, const std::optional<Row>& played,
                      long round) {
    if (table_of<Row>().since > schema()) return;
    const Row* found = row_of(stored, round);
    if ((found != nullptr) != played.has_value()) {
      find(fmt::format("replay: table {}, round {}: is {}", table_of<Row>().name, round,
                       played ? "missing" : "not played"));
    } else if (found != nullptr) {
      compare(table_of<Row>(), *found, *played, 0, "replay: ");
    }
  }

  void play_again() {
    if (!absent_.empty()) {
      throw UnknownSystem(fmt::format(
          "{} cannot be played again: this program does not know its system \"{:.100}\"",
          view_->file, system_name(absent_.front().system)));
    }
    Run run(config_, options_.work);
    const RunDescription description = run.description();
    compare_description(description, 0, "replay: ");
    StoredChecksum chain;
    if (header().begun) {
      const StoredEvaluation first = run.evaluate_now();
      compare_played(view_->evaluations, std::optional(first), 0);
      chain = first_checksum(header_checksum(description, schema()), first);
      compare_chain(chain);
    }
    for (const StoredRound& stored : view_->rounds) {
      if (full() || run.finished()) break;
      options_.work.step("playing again", stored.round, header().rounds_done);
      const RoundOutcome& outcome = run.play();
      compare(table_of<StoredRound>(), stored, outcome.round, 0, "replay: ");
      compare_played(view_->evaluations, outcome.evaluation, outcome.round.round);
      compare_played(view_->certificates, outcome.certificate, outcome.round.round);
      compare_played(view_->regrets, outcome.regret, outcome.round.round);
      compare_played(view_->lemmas, outcome.lemmas, outcome.round.round);
      compare_played(view_->beliefs, outcome.beliefs, outcome.round.round);
      if (schema() >= table_of<StoredTaskBelief>().since) {
        compare(task_beliefs_of(outcome.round.round), outcome.task_beliefs, 0, "replay: ");
      }
      chain = next_checksum(chain, outcome, schema());
      compare_chain(chain);
    }
    if (stored_state_ && !full()) compare_last(run, chain);
    result_.replayed = true;
  }

  std::vector<StoredTaskBelief> task_beliefs_of(long round) const {
    std::vector<StoredTaskBelief> found;
    std::copy_if(view_->task_beliefs.begin(), view_->task_beliefs.end(), std::back_inserter(found),
                 [&](const StoredTaskBelief& belief) { return belief.round() == round; });
    return found;
  }

  void compare_chain(const StoredChecksum& played) {
    if (schema() < 4) return;
    const StoredChecksum* stored = row_of(checksums_, played.round);
    if (stored == nullptr || stored->results != played.results) {
      find(fmt::format("replay: the checksum of round {} differs", played.round));
    }
  }

  void compare_last(const Run& run, const StoredChecksum& chain) {
    const RunState played = run.stored_state();
    if (stored_state_->state != played.state) {
      find("replay: the state after the last round differs");
    }
    if (schema() >= 4 || header().finished) {
      compare(stored_state_->policies, played.policies, 0, "replay: ");
    }
    const std::string certificate = header().finished ? run.certificate_json() : "";
    if (view_->certificate_json != certificate) find("replay: the last certificate differs");
    if (schema() < 4) return;
    if (stored_state_->knowledge && played.knowledge) {
      compare(table_of<StoredKnowledge>(), *stored_state_->knowledge, *played.knowledge, 0,
              "replay: ");
    }
    if (stored_state_->checksum !=
        checkpoint_checksum(played, chain.results, header().finished, certificate)) {
      find("replay: the checksum of the state differs");
    }
  }

  CheckOptions options_;
  std::optional<RunReader> reader_;
  std::optional<RunView> view_;
  RunDescription description_;
  std::optional<RunState> stored_state_;
  std::vector<StoredChecksum> checksums_;
  ExperimentConfig config_;
  std::vector<StoredEvaluation> evaluations_;
  std::set<std::string> observation_ids_;
  std::vector<Task> absent_;  // of systems that are not registered here
  std::unique_ptr<Run> run_;  // what the configuration and the seed give
  RunCheck result_;
  std::vector<std::string> unsafe_;
};

}  // namespace

RunCheck check_run(const std::filesystem::path& path, const CheckOptions& options) {
  try {
    return RunChecker(path, options).check();
  } catch (const DamagedRunFile& error) {
    RunCheck result;
    result.findings.emplace_back(error.what());
    return result;
  }
}

RunCheck check_run(const std::filesystem::path& path, bool replay) {
  return check_run(path, CheckOptions{.replay = replay});
}

}  // namespace lifeguard
