#include "lifeguard/runs/run_view.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/systems/absent_system.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

template <typename Row>
void append(std::vector<Row>& rows, std::vector<Row> more) {
  rows.insert(rows.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

template <typename Row>
long next_round(const std::vector<Row>& rows) {
  return rows.empty() ? RunReader::kFirst : rows.back().round + 1;
}

[[noreturn]] void damaged_view(const RunReader& reader, const std::string& what) {
  throw DamagedRunFile(fmt::format("{} is damaged: {}", reader.path().string(), what));
}

bool same_run(const RunHeader& a, const RunHeader& b) {
  return a.schema_version == b.schema_version && a.lifeguard_version == b.lifeguard_version &&
         a.config_text == b.config_text && a.overrides == b.overrides;
}

}  // namespace

RunView::RunView(const std::filesystem::path& path) : RunView(RunReader(path)) {}

RunView::RunView(const RunReader& reader)
    : file(reader.path().filename().string()), header(reader.header()) {
  if (header.schema_version < 4) {
    fill_in_old_description(reader);
  } else {
    take(reader, reader.description());
    if (const std::optional<RunState> state = reader.state()) take(*state);
  }
  take_rows(reader);
}

bool RunView::constrained() const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](std::size_t place) { return safe_sets_[place].constrained(); });
}

const SafeSet& RunView::safe_set_played(const StoredRound& round) const {
  if (!header.observed) return safe_set(round.task);
  const auto row = static_cast<std::size_t>(round.round - 1);
  return safe_sets_[static_cast<std::size_t>(
      issues[static_cast<std::size_t>(observations[row].issue)].safe_set)];
}

const SafeSet& RunView::safe_set_after(long round, int task) const {
  // The first change after the round says what was before it.
  for (const StoredChange& change : changes) {
    if (change.task == task && change.round >= round && change.former_safe_set >= 0) {
      return safe_sets_[static_cast<std::size_t>(change.former_safe_set)];
    }
  }
  return safe_set(task);
}

std::vector<Task> RunView::absent() const {
  std::vector<Task> found;
  std::set<std::string> names;
  for (const Task& task : tasks) {
    if (is_absent(task.system) && names.insert(system_name(task.system)).second) {
      found.push_back(task);
    }
  }
  return found;
}

int RunView::tasks_after(long round) const {
  int count = static_cast<int>(tasks.size());
  for (const StoredChange& change : changes) {
    if (change.what == "added" && change.round >= round) --count;
  }
  return count;
}

Features RunView::features() const {
  const auto is_on = [&](std::string_view key) {
    return std::any_of(settings.begin(), settings.end(), [&](const auto& setting) {
      return setting.first == key && setting.second == "true";
    });
  };
  return {.bias = is_on("policy.bias"), .second_order = is_on("policy.second_order")};
}

void RunView::read_on(const RunReader& reader) {
  const RunHeader& now = reader.header();
  if (now.schema_version < 4 || now.observed || !same_run(header, now) ||
      now.rounds_done < header.rounds_done) {
    *this = RunView(reader);
    return;
  }
  header = now;
  if (const std::optional<RunState> state = reader.state()) take(*state);
  take_rows(reader);
}

void RunView::take_rows(const RunReader& reader) {
  append(rounds, reader.rounds(next_round(rounds)));
  append(evaluations, reader.evaluations(next_round(evaluations)));
  append(certificates, reader.certificates(next_round(certificates)));
  append(regrets, reader.regrets(next_round(regrets)));
  append(lemmas, reader.lemmas(next_round(lemmas)));
  append(beliefs, reader.beliefs(next_round(beliefs)));
  append(task_beliefs, reader.task_beliefs(task_beliefs.empty() ? RunReader::kFirst
                                                                : task_beliefs.back().moment + 1));
  certificate_json = reader.certificate_json();
  if (header.observed) fill_in_machines_added_later(reader);
  for (const StoredCertificate& certificate : certificates) {
    if (certificate.spectrum.size() != header.experiment.k) {
      damaged_view(
          reader, fmt::format("table certificates, round {}, column spectrum: has {} "
                              "numbers, must have {}",
                              certificate.round, certificate.spectrum.size(), header.experiment.k));
    }
  }
}

void RunView::fill_in_machines_added_later(const RunReader& reader) {
  observations = reader.observations();
  issues = reader.issues();
  for (std::size_t i = 0; i < issues.size(); ++i) {
    if (issues[i].place != static_cast<long>(i) ||
        issues[i].safe_set >= static_cast<long>(safe_sets_.size())) {
      damaged_view(reader, fmt::format("table issues, place {}: is out of order, or its safe set "
                                       "is missing",
                                       issues[i].place));
    }
  }
  for (std::size_t i = 0; i < std::max(rounds.size(), observations.size()); ++i) {
    const bool fits =
        i < rounds.size() && i < observations.size() &&
        rounds[i].round == static_cast<long>(i) + 1 && observations[i].round == rounds[i].round &&
        observations[i].issue < static_cast<long>(issues.size()) &&
        issues[static_cast<std::size_t>(observations[i].issue)].task == rounds[i].task;
    if (!fits) {
      damaged_view(reader, fmt::format("round {} and its observation do not fit together", i + 1));
    }
  }
  const auto count = static_cast<Eigen::Index>(tasks.size());
  const auto grow = [&](Eigen::VectorXd& values, double missing) {
    const Eigen::Index known = values.size();
    values.conservativeResize(count);
    values.tail(count - known).setConstant(missing);
  };
  for (StoredEvaluation& evaluation : evaluations) {
    grow(evaluation.costs, kNaN);
    grow(evaluation.margins, kInfinity);
  }
  // Before the first trajectories nothing is known of what anything costs.
  std::erase_if(evaluations, [](const StoredEvaluation& e) { return std::isnan(e.mean_cost()); });
  for (StoredCertificate& certificate : certificates) {
    grow(certificate.margins, kInfinity);
    certificate.worst_rows.resize(tasks.size(), -1);
  }
}

void RunView::take(const RunReader& reader, const RunDescription& description) {
  const int parameters = description.experiment.features * description.experiment.actions;
  try {
    methods = shallow_json(description.experiment.methods).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    damaged_view(reader, fmt::format("table experiment, column methods: {}", complaint_of(error)));
  }
  machines = description.machines;
  changes = description.changes;
  for (const StoredChange& change : changes) {
    if (change.former_safe_set >= static_cast<long>(description.safe_sets.size())) {
      damaged_view(reader,
                   fmt::format("table changes, place {}: its safe set is missing", change.place));
    }
  }
  settings.clear();
  for (const StoredSetting& setting : description.settings) {
    settings.emplace_back(setting.key, setting.value);
  }
  std::string where;
  try {
    for (const StoredSafeSet& stored : description.safe_sets) {
      where = fmt::format("table safe_sets, safe_set {}", stored.safe_set);
      if (stored.safe_set != static_cast<long>(safe_sets_.size())) {
        damaged_view(reader, where + ": is out of order");
      }
      safe_sets_.push_back(safe_set_of(stored, parameters));
    }
    first_policies.resize(parameters, static_cast<long>(description.tasks.size()));
    for (const StoredTask& stored : description.tasks) {
      where = fmt::format("table tasks, task {}", stored.task);
      const auto place = static_cast<std::size_t>(stored.safe_set);
      if (place >= safe_sets_.size()) damaged_view(reader, where + ": its safe set is missing");
      first_policies.col(static_cast<long>(tasks.size())) = stored.first_policy;
      places_.push_back(place);
      // From schema 8 on the file says what there is to know of it.
      if (header.schema_version < 8 && !stored.system.empty()) {
        require_registered(reader, stored.system, "read");
      }
      const Task& task = tasks.emplace_back(task_of(stored));
      if (task.states() != description.experiment.states ||
          task.actions() != description.experiment.actions) {
        damaged_view(reader, where + ": its system has other states or actions");
      }
    }
  } catch (const InvalidInput& error) {
    damaged_view(reader, fmt::format("{}: {}", where, error.what()));
  }
  policies = first_policies;
}

void RunView::take(const RunState& state) {
  policies.resize(parameters(), static_cast<long>(state.policies.size()));
  for (std::size_t t = 0; t < state.policies.size(); ++t) {
    policies.col(static_cast<long>(t)) = state.policies[t].parameters;
  }
  knowledge.reset();
  if (state.knowledge) knowledge = state.knowledge->knowledge;
}

void RunView::fill_in_old_description(const RunReader& reader) {
  const std::size_t stored = reader.old_tasks().size();
  if (stored != static_cast<std::size_t>(header.experiment.tasks)) {
    damaged_view(reader, fmt::format("table tasks has {} rows, must have {}", stored,
                                     header.experiment.tasks));
  }
  try {
    Run run(header.config());
    RunDescription description = run.description();
    header.experiment.k = description.experiment.k;
    take(reader, description);
    std::optional<RunState> state = reader.state();
    if (!state) return;
    try {
      run.restore(state->state);
      state = run.stored_state();
    } catch (const InvalidInput&) {
      // A learner of another version. A finished run has its policies all the same.
      if (static_cast<int>(state->policies.size()) != header.experiment.tasks) throw;
    }
    take(*state);
  } catch (const InvalidInput& error) {
    throw RunFileError(fmt::format(
        "{} is of an older lifeguard ({}), and this one ({}) does not understand it: {}",
        reader.path().string(), header.lifeguard_version, kVersion, error.what()));
  }
}

}  // namespace lifeguard
