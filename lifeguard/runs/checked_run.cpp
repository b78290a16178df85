#include "lifeguard/runs/checked_run.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {

bool nearly_equal(double a, double b, double tolerance, double unit) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= tolerance * (std::max(std::abs(a), std::abs(b)) + unit);
}

bool nearly_same_object(std::string_view a, std::string_view b) {
  try {
    const nlohmann::json x = shallow_json(std::string(a));
    const nlohmann::json y = shallow_json(std::string(b));
    if (!x.is_object() || !y.is_object() || x.size() != y.size()) return false;
    for (const auto& [key, value] : x.items()) {
      if (!y.contains(key) ||
          !nearly_equal(value.get<double>(), y.at(key).get<double>(), kDrawnAgain)) {
        return false;
      }
    }
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

CheckedRun::CheckedRun(const std::filesystem::path& path, const CheckOptions& how)
    : options(how), reader(std::in_place, path, Checksums::ignore) {
  result.method = reader->header().experiment.method;
  result.rounds = reader->header().rounds_done;
}

std::string CheckedRun::explained(const std::string& finding) const {
  if (!view || view->tasks.empty()) return finding;
  return with_row_meanings(finding, describe(view->tasks.front().system), view->features());
}

void CheckedRun::find(const std::string& finding) {
  if (!full()) result.findings.push_back(explained(finding));
}

void CheckedRun::find_unsafe(const std::string& finding) {
  if (unsafe.size() < kMostFindings) unsafe.push_back(explained(finding));
}

bool CheckedRun::read() {
  if (options.checksums == Checksums::verify && reader->header().schema_version >= 4) {
    for (const std::string& finding : reader->checksum_findings()) find(finding);
    result.checksums_checked = true;
  }
  view.emplace(*reader);
  state = reader->state();
  evaluations = reader->evaluations();
  checksums = reader->checksums();
  if (schema() >= 4) {
    description = reader->description();
  } else {
    description.tasks = reader->old_tasks();
  }
  absent = view->absent();
  if (!absent.empty()) {
    result.not_checked = fmt::format(
        "{}: this program does not know the system \"{:.100}\"",
        observed() ? "machines and safe sets against the configuration"
                   : "tasks, safe sets and first policies against the configuration, and what "
                     "policies cost",
        system_name(absent.front().system));
  }
  reader.reset();
  try {
    config = header().config(absent);
  } catch (const InvalidInput& error) {
    find(fmt::format("the configuration is refused: {}", error.what()));
    return false;
  }
  if (observed()) config.rounds = experiment().rounds;
  if (!observed() && config.tasks != static_cast<int>(view->tasks.size())) {
    find(fmt::format("{} tasks are stored, the configuration has {}", view->tasks.size(),
                     config.tasks));
    return false;
  }
  return true;
}

}  // namespace lifeguard
