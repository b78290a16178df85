#include "cli/run_folder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/report/report_run.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {
namespace {

Answer text_of(const nlohmann::ordered_json& json) {
  return std::make_shared<const std::string>(json.dump());
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
    const RunReader reader(real);  // a file that is no run is an error now, not a page without runs
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
    const RunReader reader(real);
    const RunHeader& header = reader.header();
    state.experiment = header.config.name;
    state.method = header.method;
    state.seed = header.config.seed;
    state.rounds_done = header.rounds_done;
    state.rounds_planned = header.config.rounds;
    state.finished = header.finished;
    const bool same = known != runs_.end() && known->second.experiment == state.experiment &&
                      known->second.method == state.method && known->second.seed == state.seed &&
                      known->second.rounds_done <= state.rounds_done;
    const auto snapshot = snapshots_.find(name);
    if (snapshot != snapshots_.end() && snapshot->second && same) {
      snapshot->second->read_on(reader);
    } else {  // another run under the same name is read anew when it is asked for
      snapshots_.erase(name);
      remembered_.erase(name);
    }
  } catch (const RunFileError&) {
    return std::nullopt;  // no run, or one that is just being created
  }
  return state;
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
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const auto& [name, state] : runs_) {
    runs.push_back({{"name", name},
                    {"experiment", state.experiment},
                    {"method", state.method},
                    {"seed", state.seed},
                    {"rounds_done", state.rounds_done},
                    {"rounds_planned", state.rounds_planned},
                    {"finished", state.finished}});
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
  Answer& answer = reports_[{run, since}];
  if (!answer) {
    const auto start = Clock::now();
    answer = build(run, since);
    spent_ += Clock::now() - start;
  }
  return answer;
}

Answer RunFolder::build(const std::string& run, long since) {
  std::vector<const RunSnapshot*> wanted;
  for (const auto& [name, state] : runs_) {
    if (!run.empty() && name != run) continue;
    std::shared_ptr<RunSnapshot>& snapshot = snapshots_[name];
    if (!snapshot) snapshot = std::make_shared<RunSnapshot>(RunReader(state.path));
    wanted.push_back(snapshot.get());
  }
  if (!run.empty()) {
    std::deque<long>& known = remembered_[run];
    const long round = wanted.front()->header.rounds_done;
    if (known.empty() || known.back() != round) known.push_back(round);
    if (known.size() > kRemembered) known.pop_front();
  }
  return text_of(report_of(wanted, since));
}

}  // namespace lifeguard
