#include "cli/run_folder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard {
namespace {

Answer text_of(const nlohmann::ordered_json& json) {
  // The name of a file may be any bytes.
  return std::make_shared<const std::string>(
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// Whoever looks at runs need not know where they lie.
std::string without_folder(std::string text, const std::filesystem::path& path,
                           const std::string& name) {
  const std::string full = path.string();
  for (std::size_t at = text.find(full); at != std::string::npos; at = text.find(full, at + 1)) {
    text.replace(at, full.size(), name);
  }
  return text;
}

}  // namespace

RunFolder::RunFolder(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  const bool folder = !error && std::filesystem::is_directory(real);
  require(folder || (!error && std::filesystem::is_regular_file(real)), "path", path.string(),
          "must be a run file or a folder");
  root_ = folder ? real : real.parent_path();
  shown_name_ = real.filename().string();
  if (!folder) {
    only_ = shown_name_;
    // A file that is no run is an error now, not a page without runs.
    const RunView view(real);
  }
}

std::optional<RunFolder::State> RunFolder::look(const std::filesystem::path& path) {
  std::error_code error;
  // A link may point anywhere; what it points to must lie in the folder itself.
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error || real.parent_path() != root_ || !std::filesystem::is_regular_file(real, error)) {
    return std::nullopt;
  }
  const std::string name = path.filename().string();
  State state;
  state.path = real;
  state.changed = std::filesystem::last_write_time(real, error);
  const auto known = runs_.find(name);
  if (known != runs_.end() && known->second.finished && known->second.changed == state.changed) {
    return known->second;
  }
  try {
    read_state(name, state);
  } catch (const std::exception& problem) {
    state.problem = without_folder(problem.what(), real, name);
    views_.erase(name);
    remembered_.erase(name);
  }
  return state;
}

void RunFolder::read_state(const std::string& name, State& state) {
  const RunReader reader(state.path);
  const StoredExperiment& experiment = reader.header().experiment;
  state.experiment = experiment.name;
  state.method = experiment.method;
  state.seed = experiment.seed;
  state.rounds_done = reader.header().rounds_done;
  state.rounds_planned = reader.header().observed ? state.rounds_done : experiment.rounds;
  state.finished = reader.header().finished;
  const auto known = runs_.find(name);
  const bool same = known != runs_.end() && known->second.experiment == state.experiment &&
                    known->second.method == state.method && known->second.seed == state.seed &&
                    known->second.rounds_done <= state.rounds_done;
  const auto view = views_.find(name);
  if (same && known->second.problem.empty()) {
    if (view != views_.end() && view->second) view->second->read_on(reader);
    return;
  }
  views_.erase(name);
  remembered_.erase(name);
  // Seen for the first time: what is wrong with it shows now. It is read again when it is asked
  // for.
  const RunView whole(reader);
}

void RunFolder::refresh() {
  const auto now = Clock::now();
  if (list_ && now < next_look_ + kIdle * spent_) return;
  spent_ = {};
  std::map<std::string, State> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root_, error)) {
    const std::string name = entry.path().filename().string();
    if (only_.empty() ? entry.path().extension() != ".run" : name != only_) continue;
    if (auto state = look(entry.path())) found.emplace(name, std::move(*state));
  }
  next_look_ = now + kRefresh;
  spent_ = Clock::now() - now;
  if (list_ && found == runs_) return;
  runs_ = std::move(found);
  reports_.clear();
  write_list();
}

void RunFolder::write_list() {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const auto& [name, state] : runs_) {
    nlohmann::ordered_json row = {{"name", name}};
    if (state.problem.empty()) {
      row["experiment"] = state.experiment;
      row["method"] = state.method;
      row["seed"] = state.seed;
      row["rounds_done"] = state.rounds_done;
      row["rounds_planned"] = state.rounds_planned;
      row["finished"] = state.finished;
    } else {
      row["problem"] = state.problem;
    }
    runs.push_back(std::move(row));
  }
  list_ = text_of({{"runs", runs}});
}

Answer RunFolder::list() {
  const std::lock_guard lock(mutex_);
  refresh();
  return list_;
}

Answer RunFolder::report(const std::string& run, long since) {
  const std::lock_guard lock(mutex_);
  refresh();
  if (run.empty() ? runs_.empty() : !runs_.contains(run)) return nullptr;
  const std::deque<long>& known = remembered_[run];
  if (std::find(known.begin(), known.end(), since) == known.end()) since = -1;
  const auto known_report = reports_.find({run, since});
  if (known_report != reports_.end()) return known_report->second;
  const auto start = Clock::now();
  Answer answer = build(run, since);
  reports_[{run, since}] = answer;
  spent_ += Clock::now() - start;
  return answer;
}

Answer RunFolder::build(const std::string& run, long since) {
  std::vector<const RunView*> wanted;
  bool found_problems = false;
  for (auto& [name, state] : runs_) {
    if (!run.empty() && name != run) continue;
    std::shared_ptr<RunView>& view = views_[name];
    try {
      if (state.problem.empty() && !view) view = std::make_shared<RunView>(state.path);
    } catch (const std::exception& problem) {  // its header could be read, not the rest
      state.problem = without_folder(problem.what(), state.path, name);
      found_problems = true;
    }
    if (state.problem.empty()) {
      wanted.push_back(view.get());
    } else if (!run.empty()) {
      if (found_problems) write_list();
      throw RunFileError(state.problem);
    }
  }
  if (found_problems) write_list();
  if (!run.empty()) {
    std::deque<long>& known = remembered_[run];
    const long round = wanted.front()->header.rounds_done;
    if (known.empty() || known.back() != round) known.push_back(round);
    if (known.size() > kRemembered) known.pop_front();
  }
  return text_of(report_of(wanted, since));
}

}  // namespace lifeguard
