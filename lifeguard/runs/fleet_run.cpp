#include "lifeguard/runs/fleet_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <tuple>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/incidents.hpp"
#include "lifeguard/runs/number_list.hpp"
#include "lifeguard/runs/run_checksums.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_table.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"
#include "lifeguard/systems/absent_system.hpp"
#include "lifeguard/systems/signal_text.hpp"
#include "lifeguard/systems/task_settings.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// A fleet has no last round.
constexpr int kUnlimitedRounds = 10000000;
/// How long to wait for a file that another process is writing.
constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(20);

/// Settings that may change while the fleet learns: they decide nothing that was learnt.
bool may_change(std::string_view key) {
  return key == "experiment.rounds" || key == "experiment.tasks" ||
         key == "experiment.trajectories" || key == "experiment.seeds" ||
         key == "experiment.methods" || key.starts_with("evaluation.");
}

OrderedJson json_of(double value) { return fmt::format("{}", value); }  // infinity as well
OrderedJson json_of(Integrator value) { return kIntegratorNames[static_cast<std::size_t>(value)]; }
OrderedJson json_of(const Eigen::VectorXd& values) {
  OrderedJson list = OrderedJson::array();
  for (const double value : values) list.push_back(json_of(value));
  return list;
}

/// As it was before there were lists, where it is the same for all actions.
OrderedJson json_of(const PerAction& value) {
  return value.is_common() ? json_of(value.of(0)) : json_of(value.each());
}

}  // namespace

std::string definition_of(const Machine& machine) {
  const StoredTask stored = stored_task(machine.task);
  OrderedJson json;
  json["system"] = stored.system;
  json["parameters"] = stored.parameters;
  OrderedJson settings;
  std::apply(
      [&](const auto&... setting) {
        ((settings[std::string(setting.key)] = json_of(machine.task.settings.*setting.field)), ...);
      },
      kTaskSettings);
  json["settings"] = std::move(settings);
  json["safe_set"] = machine.safe_set_toml;
  if (machine.first_gains) {
    json["first_gains"] = OrderedJson::array();
    for (Eigen::Index i = 0; i < machine.first_gains->rows(); ++i) {
      json["first_gains"].push_back(number_list(machine.first_gains->row(i)));
    }
  }
  if (machine.first_lqr_share) json["first_lqr_share"] = *machine.first_lqr_share;
  return json.dump();
}

namespace {

void require_plain(std::string_view field, const std::string& text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  require(is_utf8(text) && std::none_of(text.begin(), text.end(), control), field, as_utf8(text),
          "must be one line of plain text, in UTF-8");
}

/// What a policy sees and does: its gains mean nothing to a machine with other signals.
void require_same_signals(const Task& task, const Task& known) {
  const SystemDescription now = describe(task.system);
  const SystemDescription before = describe(known.system);
  for (const auto& [field, own, others] : {std::tuple("inputs", now.inputs(), before.inputs()),
                                           std::tuple("actions", now.actions, before.actions)}) {
    require(own == others, fmt::format("machine \"{}\": {}", task.name, field), signals_text(own),
            fmt::format("must stay {} as long as the fleet learns", signals_text(others)));
  }
}

/// What is refused of a batch, with the signal that its column is: "action \"torque [N m]\"
/// (trajectory 5, step 6, column 1)" for "action (trajectory 5, step 6, column 1)" or "actions[1]".
InvalidInput with_signal(const InvalidInput& error, const Task& task, const Features& features) {
  const SystemDescription system = describe(task.system);
  const auto number_after = [&](std::string_view text) {
    const std::size_t at = error.field().find(text);
    return at == std::string::npos
               ? std::string::npos
               : std::strtoul(error.field().c_str() + at + text.size(), nullptr, 10);
  };
  const auto named = [&](std::string_view kind, const std::vector<Signal>& signals,
                         std::size_t place, std::string_view rest) {
    if (place >= signals.size()) return error;
    return InvalidInput(fmt::format("{} \"{}\"{}", kind, signal_text(signals[place]), rest),
                        error.value(), error.rule());
  };
  const std::string_view field = error.field();
  if (field.starts_with("actions[")) return named("action", system.actions, number_after("["), "");
  for (const auto& [kind, signals] :
       {std::pair(std::string_view("action"), system.actions),
        std::pair(std::string_view("feature"), system.inputs(features))}) {
    if (!field.starts_with(fmt::format("{} (", kind))) continue;
    return named(kind, signals, number_after("column "), field.substr(kind.size()));
  }
  return error;
}

/// In how many of the recorded trajectories something happened that a safe machine never does, the
/// state after the last action included.
Incidents incidents_of(const Recording& recording, const Task& task,
                       const Eigen::VectorXd& limits) {
  const SystemDescription system = describe(task.system);
  const auto place_in = [](const std::vector<Signal>& signals, const std::string& name) {
    return std::find_if(signals.begin(), signals.end(),
                        [&](const Signal& s) { return s.name == name; }) -
           signals.begin();
  };
  Incidents found;
  for (const RecordedTrajectory& t : recording.trajectories) {
    const bool fell = t.end == EndReason::failed;
    bool left = fell;
    for (std::size_t s = 0; s < system.states.size() && task.own_features() == 0; ++s) {
      const auto i = static_cast<Eigen::Index>(s);
      const auto row = t.states.row(place_in(recording.states, system.states[s].name));
      left = left || (row.array() - task.settings.goal(i)).abs().maxCoeff() > limits(i);
    }
    bool cut = false;
    for (std::size_t a = 0; a < system.actions.size() && t.steps() > 0; ++a) {
      const auto i = static_cast<Eigen::Index>(a);
      const auto row = t.actions.row(place_in(recording.actions, system.actions[a].name));
      cut = cut || row.maxCoeff() > task.settings.action_high(i) ||
            row.minCoeff() < task.settings.action_low(i);
    }
    found.falls += fell ? 1 : 0;
    found.violations += left ? 1 : 0;
    found.saturations += cut ? 1 : 0;
  }
  return found;
}

/// The texts of a fleet's file, in the order in which they are read.
std::vector<StoredText> with_observed(std::vector<StoredText> texts) {
  texts.push_back({std::string(kObserved), "true"});
  std::sort(texts.begin(), texts.end(),
            [](const StoredText& a, const StoredText& b) { return a.key < b.key; });
  return texts;
}

/// Experiment, settings and texts, which speak of no single machine.
void describe_fleet(const ExperimentConfig& fleet, RunDescription& description) {
  RunDescription now = describe(fleet, {}, Eigen::MatrixXd(), description.experiment.k);
  now.experiment.tasks = static_cast<int>(description.tasks.size());
  description.experiment = now.experiment;
  description.settings = std::move(now.settings);
  description.texts = with_observed(std::move(now.texts));
}

ExperimentConfig with_unlimited_rounds(ExperimentConfig fleet) {
  fleet.rounds = kUnlimitedRounds;
  return fleet;
}

/// A run whose learner has been told of all tasks, before its first round.
std::unique_ptr<Run> new_run(const ExperimentConfig& fleet, DrawnTasks drawn,
                             const LongWork& work) {
  std::unique_ptr<PolicyLearner> made = make_learner(fleet, drawn, work);
  std::unique_ptr<Learner> learner(dynamic_cast<Learner*>(made.release()));
  return std::make_unique<Run>(fleet, std::move(drawn), std::move(learner));
}

}  // namespace

std::unique_ptr<Run> run_of(const ExperimentConfig& config, const RunDescription& stored) {
  const ExperimentConfig fleet = with_unlimited_rounds(config);
  DrawnTasks drawn = drawn_tasks_of(fleet, stored);
  const Task& first = drawn.tasks.front();
  auto learner = std::make_unique<Learner>(feature_count(first, fleet.features), first.actions(),
                                           fleet.learner());
  return std::make_unique<Run>(fleet, std::move(drawn), std::move(learner));
}

RunDescription described_again(const ExperimentConfig& config, const RunDescription& stored) {
  const ExperimentConfig fleet = with_unlimited_rounds(config);
  RunDescription expected = stored;
  describe_fleet(fleet, expected);
  const std::vector<Machine> machines = machines_of(fleet);
  const auto absent = [](const Machine& machine) { return is_absent(machine.task.system); };
  const Eigen::VectorXd start = std::any_of(machines.begin(), machines.end(), absent)
                                    ? stored.tasks.front().first_policy
                                    : start_policy(fleet, machines.front().task);
  std::vector<bool> described(stored.tasks.size(), false);
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Machine& machine = machines[i];
    const auto task = std::find_if(
        expected.tasks.begin(), expected.tasks.end(),
        [&](const StoredTask& candidate) { return candidate.name == machine.task.name; });
    require(task != expected.tasks.end(), "machine", machine.task.name,
            "is in the configuration and not among the stored ones");
    const auto t = static_cast<std::size_t>(task - expected.tasks.begin());
    described[t] = true;
    if (absent(machine)) continue;  // nobody here can draw it again
    const DrawnTask drawn = draw_task(fleet, static_cast<int>(i), start, Machines::as_known);
    StoredTask again = stored_task(drawn.task);
    again.task = task->task;
    again.safe_set = task->safe_set;
    again.first_policy = task->first_policy;
    std::vector<StoredSafeSet> sets;
    SafeSetPlaces(sets).place_of(drawn.safe_set);
    sets.front().safe_set = task->safe_set;
    expected.safe_sets[static_cast<std::size_t>(task->safe_set)] = std::move(sets.front());
    *task = std::move(again);
    require(t < expected.machines.size(), "machines", static_cast<double>(t), "must have one more");
    expected.machines[t] = {static_cast<int>(t), definition_of(machine), machine.retired,
                            machine.notes};
  }
  for (std::size_t t = 0; t < described.size() && t < expected.machines.size(); ++t) {
    if (!described[t]) expected.machines[t].retired = true;
  }
  return expected;
}

std::string policy_fingerprint(std::string_view machine, const Eigen::VectorXd& parameters,
                               const PerAction& sigma) {
  Fingerprint hash;
  hash.add(machine);
  hash.add(parameters);
  if (sigma.is_common()) {
    hash.add(sigma.of(0));
  } else {
    hash.add(sigma.each());
  }
  return hash.hex();
}

OrderedJson observed_to_json(const ObservedRound& observed, const std::string& machine) {
  const StoredRound& round = observed.round;
  OrderedJson json;
  json["machine"] = machine;
  json["round"] = round.round;
  json["visit"] = round.visit;
  json["status"] = to_string(round.status);
  json["repeated"] = observed.repeated;
  json["trajectories"] = observed.observation.trajectories;
  json["cut_short"] = observed.observation.cut_short;
  json["mean_cost"] = round.mean_cost;
  json["falls"] = round.falls;
  json["violations"] = round.violations;
  json["saturations"] = round.saturations;
  json["unsafe_policies"] = round.unsafe;
  return json;
}

FleetRun::~FleetRun() = default;

std::filesystem::path FleetRun::default_run_file(const std::filesystem::path& fleet_file) {
  std::filesystem::path path = fleet_file;
  return path.replace_extension(".run");
}

FleetRun::FleetRun(const ExperimentConfig& fleet, std::filesystem::path run_file,
                   const LongWork& work)
    : fleet_(fleet), machines_(machines_of(fleet)), path_(std::move(run_file)) {
  require(base_method(fleet_) == LearnerSettings::kMethod, "experiment.method", fleet_.method,
          "must be \"learner\": no other method keeps policies safe");
  require(!fleet_.learner().cross_validate_k, "learner.cross_validate_k", "true",
          "cannot be chosen for machines outside: nobody can play them in advance");
  fleet_ = with_unlimited_rounds(std::move(fleet_));
  const auto patience_ends = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    try {
      if (std::filesystem::exists(path_)) {
        open(work);
      } else {
        create(work);
      }
      break;
    } catch (const RunFileExists&) {  // another process made it meanwhile: it is opened now
    } catch (const RunFileBusy&) {
      if (std::chrono::steady_clock::now() > patience_ends) throw;
      work.step("waiting for the run file", 0, 0);
      std::this_thread::sleep_for(kPause);
    }
  }
}

void FleetRun::create(const LongWork& work) {
  run_ = new_run(fleet_, draw_tasks(fleet_, work, Machines::as_known), work);
  description_ = run_->description();
  description_.texts = with_observed(std::move(description_.texts));
  for (std::size_t t = 0; t < machines_.size(); ++t) {
    const Machine& machine = machines_[t];
    description_.machines.push_back(
        {static_cast<int>(t), definition_of(machine), machine.retired, machine.notes});
  }
  writer_ = std::make_unique<RunWriter>(RunWriter::create(path_, description_));
  // Not before there is a file: another process may have made it, and this one then opens it.
  for (std::size_t t = 0; t < machines_.size(); ++t) {
    const Machine& machine = machines_[t];
    places_.emplace(machine.task.name, static_cast<int>(t));
    changes_.emplace_back(machine.task.name, machine.retired ? "retired" : "added");
  }
  writer_->make_durable();
  writer_->add(run_->evaluate_now());
  writer_->commit(run_->stored_state());
}

void FleetRun::open(const LongWork& work) {
  writer_ = std::make_unique<RunWriter>(RunWriter::open(path_));
  writer_->make_durable();
  const RunReader reader(path_);
  if (!reader.header().observed) {
    throw RunFileError(
        fmt::format("{} was played by `lifeguard run`; a fleet that learns from outside needs a "
                    "file of its own",
                    path_.string()));
  }
  description_ = reader.description();
  for (const auto& [key, value] : effective_values(fleet_)) {
    for (const StoredSetting& stored : description_.settings) {
      if (stored.key != key || stored.value == value || may_change(key)) continue;
      throw InvalidInput(key, value,
                         fmt::format("must stay {} as long as the fleet learns into {}",
                                     stored.value, path_.string()));
    }
  }
  const std::optional<RunState> state = reader.state();
  if (state) {
    run_ = run_of(fleet_, description_);
    try {
      run_->restore(state->state);
    } catch (const InvalidInput& error) {
      throw DamagedRunFile(fmt::format("{} is damaged: its state cannot be read ({})",
                                       path_.string(), error.what()));
    }
    if (run_->rounds_done() != state->round) {
      throw DamagedRunFile(fmt::format("{} is damaged: its state is after round {} and not {}",
                                       path_.string(), run_->rounds_done(), state->round));
    }
  } else {  // killed between the file's creation and its first commit
    run_ = new_run(fleet_, drawn_tasks_of(fleet_, description_), work);
    writer_->add(run_->evaluate_now());
    writer_->commit(run_->stored_state());
  }
  places_.clear();
  for (const StoredTask& task : description_.tasks) places_.emplace(task.name, task.task);
  issues_ = reader.issues();
  for (const StoredIssue& issue : issues_) {
    issue_places_[{issue.task, issue.fingerprint}] = issue.place;
  }
  for (const StoredObservation& o : reader.observations()) {
    if (!o.id.empty()) observations_.emplace(o.id, o);
    digests_.emplace(o.digest, o);
  }
  take_changes(work);
}

void FleetRun::take_changes(const LongWork& work) {
  // On a copy, and written in one transaction: a description that is refused changes nothing.
  RunDescription next = description_;
  const auto note = [&](int task, const std::string& what, long former_set,
                        const std::string& former) {
    next.changes.push_back({static_cast<long>(next.changes.size()), run_->rounds_done(), task, what,
                            former_set, former});
    changes_.emplace_back(next.tasks[static_cast<std::size_t>(task)].name, what);
  };
  SafeSetPlaces sets(next.safe_sets);
  const Eigen::VectorXd start = start_policy(fleet_, machines_.front().task);
  std::set<int> described;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const Machine& machine = machines_[i];
    work.step("comparing machines", static_cast<long>(i), static_cast<long>(machines_.size()));
    require_same_signals(machine.task, run_->drawn().tasks.front());
    const auto known = places_.find(machine.task.name);
    const std::string definition = definition_of(machine);
    if (known == places_.end()) {
      const DrawnTask drawn = draw_task(fleet_, static_cast<int>(i), start, Machines::as_known);
      run_->add_task(drawn);
      const int t = run_->config().tasks - 1;
      StoredTask& stored = next.tasks.emplace_back(stored_task(drawn.task));
      stored.task = t;
      stored.safe_set = sets.place_of(drawn.safe_set);
      stored.first_policy = run_->policies().col(t);
      next.machines.push_back({t, definition, machine.retired, machine.notes});
      places_.emplace(machine.task.name, t);
      described.insert(t);
      note(t, "added", -1, "");
      continue;
    }
    const int t = known->second;
    described.insert(t);
    StoredMachine& stored = next.machines[static_cast<std::size_t>(t)];
    StoredTask& task = next.tasks[static_cast<std::size_t>(t)];
    if (stored.definition != definition) {
      const DrawnTask drawn = draw_task(fleet_, static_cast<int>(i), start, Machines::as_known);
      run_->set_task(t, drawn);
      const long former = task.safe_set;
      StoredTask changed = stored_task(drawn.task);
      changed.task = t;
      changed.safe_set = sets.place_of(drawn.safe_set);
      changed.first_policy = task.first_policy;
      task = std::move(changed);
      note(t, "changed", former, stored.definition);
      stored.definition = definition;
    }
    if (stored.retired != machine.retired) {
      note(t, machine.retired ? "retired" : "returned", task.safe_set, stored.definition);
      stored.retired = machine.retired;
    }
    stored.notes = machine.notes;
  }
  for (StoredMachine& stored : next.machines) {
    if (stored.retired || described.contains(stored.task)) continue;
    note(stored.task, "retired", next.tasks[static_cast<std::size_t>(stored.task)].safe_set,
         stored.definition);
    stored.retired = true;
  }
  describe_fleet(fleet_, next);
  if (header_checksum(next) == header_checksum(description_)) return;
  description_ = std::move(next);
  writer_->replace(description_);
  writer_->commit(run_->stored_state());
}

int FleetRun::active_place(const std::string& machine) const {
  const auto found = places_.find(machine);
  if (found == places_.end()) {
    throw UnknownMachine("machine", machine,
                         fmt::format("must be one of: {}", fmt::join(active_machines(), ", ")));
  }
  if (description_.machines[static_cast<std::size_t>(found->second)].retired) {
    throw UnknownMachine("machine", machine, "is retired");
  }
  return found->second;
}

std::vector<std::string> FleetRun::active_machines() const {
  std::vector<std::string> names;
  for (const StoredMachine& machine : description_.machines) {
    if (!machine.retired) {
      names.push_back(description_.tasks[static_cast<std::size_t>(machine.task)].name);
    }
  }
  return names;
}

ExportedPolicy FleetRun::policy(const std::string& machine) {
  const int t = active_place(machine);
  const Task& task = run_->drawn().tasks[static_cast<std::size_t>(t)];
  const SafeSet& set = run_->drawn().safe_sets[static_cast<std::size_t>(t)];
  const GaussianPolicy policy = run_->learner().policy(machine);
  ExportedPolicy exported =
      export_policy({fleet_.name, fleet_.method, fleet_.seed, run_->rounds_done(), fleet_.features},
                    task, set, policy);
  if (!obeys_exactly(set, policy.parameters())) {
    throw RunFileError(fmt::format("the policy of {} is not proven safe", machine));
  }
  exported.steps = fleet_.steps;
  exported.fingerprint = policy_fingerprint(machine, policy.parameters(), policy.noise());
  const long safe_set = description_.tasks[static_cast<std::size_t>(t)].safe_set;
  const auto known = issue_places_.find({t, exported.fingerprint});
  if (known != issue_places_.end() &&
      issues_[static_cast<std::size_t>(known->second)].safe_set == safe_set) {
    return exported;
  }
  StoredIssue issue;
  issue.task = t;
  issue.round = run_->rounds_done();
  issue.fingerprint = exported.fingerprint;
  issue.safe_set = safe_set;
  issue.sigma = policy.noise();
  issue.parameters = policy.parameters();
  writer_->add(issue);
  writer_->commit();
  issue_places_[{t, issue.fingerprint}] = issue.place;
  issues_.push_back(std::move(issue));
  return exported;
}

const StoredIssue& FleetRun::issue_for(int task, const Recording& recording) const {
  require(
      !recording.policy.empty(), "policy", "(none)",
      "must be named: the fingerprint is in what `lifeguard policy` prints, and is written into "
      "the recording, or given with --policy");
  const auto found = issue_places_.find({task, recording.policy});
  require(found != issue_places_.end(), "policy", recording.policy,
          "must be the fingerprint of a policy that was handed out to this machine");
  return issues_[static_cast<std::size_t>(found->second)];
}

ObservedRound FleetRun::repeated(const StoredObservation& earlier) const {
  return {RunReader(path_).rounds(earlier.round).front(), earlier, true};
}

ObservedRound FleetRun::observe(const std::string& machine, const Recording& recording,
                                const ObservationOrigin& origin) {
  const int t = active_place(machine);
  require_plain("id", origin.id);
  if (const auto earlier = observations_.find(origin.id);
      !origin.id.empty() && earlier != observations_.end()) {
    if (earlier->second.digest != origin.digest) {
      throw TakenId(
          "id", origin.id,
          fmt::format("is that of other trajectories, which were round {}", earlier->second.round));
    }
    return repeated(earlier->second);
  }
  // The same data under another id say nothing new.
  if (const auto earlier = digests_.find(origin.digest);
      !origin.digest.empty() && earlier != digests_.end()) {
    return repeated(earlier->second);
  }
  require(recording.machine.empty() || recording.machine == machine, "machine", recording.machine,
          fmt::format("must be {}", machine));
  const Task& task = run_->drawn().tasks[static_cast<std::size_t>(t)];
  const StoredIssue& issue = issue_for(t, recording);
  const GaussianPolicy played =
      GaussianPolicy::from_parameters(issue.parameters, task.actions(), issue.sigma);
  const Trajectories batch = to_trajectories(recording, task, fleet_.features, fleet_.steps);
  require(batch.count() >= 2, "trajectories", static_cast<double>(batch.count()),
          "must be at least 2: one says nothing about what noise does");
  RoundOutcome outcome;
  try {
    outcome = run_->observe(t, played, batch);
  } catch (const InvalidInput& error) {
    throw with_signal(error, task, fleet_.features);
  }
  const Incidents incidents = incidents_of(recording, task, run_->drawn().state_limits(t));
  outcome.round.falls = incidents.falls;
  outcome.round.violations = incidents.violations;
  outcome.round.saturations = incidents.saturations;
  require(outcome.round.status != RoundStatus::no_noise, "actions", "the policy's mean",
          fmt::format("must have the exploration noise of the policy, sigma = {} ({}): without it "
                      "nothing can be learnt",
                      issue.sigma.text(), values_text(issue.sigma, describe(task.system).actions)));
  outcome.observation = StoredObservation{outcome.round.round,    origin.id,     issue.place,
                                          as_utf8(origin.source), origin.digest, batch.count(),
                                          batch.cut_short()};
  writer_->add(outcome);
  writer_->commit(run_->stored_state());
  if (!origin.id.empty()) observations_.emplace(origin.id, *outcome.observation);
  digests_.emplace(origin.digest, *outcome.observation);
  return {outcome.round, *outcome.observation, false};
}

}  // namespace lifeguard
