#include "cli/fleet_desk.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/input_file.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/runs/run_table.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"

namespace lifeguard {
namespace {

/// How often the fleet's file is looked at.
constexpr std::chrono::seconds kLook{1};
constexpr std::size_t kLongestName = 200;

void require_name(std::string_view field, const std::string& name) {
  if (name.empty() || name.size() > kLongestName) {
    throw BadName(field, printable(name),
                  fmt::format("must have 1 to {} characters", kLongestName));
  }
  if (!is_utf8(name)) throw BadName(field, printable(as_utf8(name)), "must be UTF-8");
  for (const char c : name) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) continue;
    throw BadName(field, printable(name), "must be one line of plain text");
  }
}

}  // namespace

FleetDesk::FleetDesk(std::filesystem::path fleet_file, std::filesystem::path run_file)
    : fleet_file_(std::move(fleet_file)), run_file_(std::move(run_file)) {
  text_ = read_input_file("fleet", fleet_file_);
  config_ =
      std::make_unique<ExperimentConfig>(parse_config(text_, fleet_file_.filename().string()));
  open();
  next_look_ = Clock::now() + kLook;
}

FleetDesk::~FleetDesk() = default;

void FleetDesk::open() {
  fleet_.reset();  // which gives the file free
  if (opened_ && !std::filesystem::exists(run_file_)) {
    // A new one would forget everything, and count again what is sent again.
    throw RunFileError(fmt::format(
        "{} was deleted or renamed while it was served: put it back, or start again without it",
        run_file_.string()));
  }
  fleet_ = std::make_unique<FleetRun>(*config_, run_file_);
  opened_ = true;
}

void FleetDesk::look_for_edits() {
  if (Clock::now() < next_look_) return;
  next_look_ = Clock::now() + kLook;
  std::string text;
  try {
    text = read_input_file("fleet", fleet_file_);
  } catch (const InvalidInput&) {
    return;  // an editor may be replacing it
  }
  if (text == text_) return;
  text_ = text;
  try {
    auto edited =
        std::make_unique<ExperimentConfig>(parse_config(text, fleet_file_.filename().string()));
    std::swap(config_, edited);
    try {
      open();
    } catch (const InvalidInput&) {
      std::swap(config_, edited);
      open();
      throw;
    }
    problem_.clear();
    for (const auto& [machine, what] : fleet_->changes()) say("lifeguard: {} {}", machine, what);
  } catch (const InvalidInput& error) {
    problem_ = error.what();
    say("lifeguard: what the fleet's file says now is refused: {}", problem_);
  }
}

template <class Action>
auto FleetDesk::with_fleet(const Action& action) {
  const std::scoped_lock lock(mutex_);
  if (fleet_ == nullptr) open();
  look_for_edits();
  try {
    return action(*fleet_);
  } catch (const InvalidInput&) {
    throw;  // nothing has changed
  } catch (...) {
    fleet_.reset();
    throw;
  }
}

nlohmann::ordered_json FleetDesk::machines() {
  return with_fleet([&](FleetRun& fleet) {
    nlohmann::ordered_json json;
    json["name"] = config_->name;
    json["rounds"] = fleet.rounds_done();
    json["steps"] = config_->steps;
    json["machines"] = fleet.active_machines();
    if (!problem_.empty()) json["problem"] = problem_;
    return json;
  });
}

nlohmann::ordered_json FleetDesk::policy(const std::string& machine) {
  require_name("machine", machine);
  return with_fleet([&](FleetRun& fleet) {
    nlohmann::ordered_json json = policy_to_json(fleet.policy(machine));
    if (!problem_.empty()) json["problem"] = problem_;
    return json;
  });
}

nlohmann::ordered_json FleetDesk::observe(const std::string& machine, const std::string& id,
                                          std::string_view text, RecordingFormat format,
                                          const std::string& sender) {
  require_name("machine", machine);
  require_name("id", id);
  const Recording recording = read_recording(text, format, "body");
  Fingerprint digest;
  digest.add(text);
  const ObservationOrigin origin{id, sender, digest.hex()};
  return with_fleet([&](FleetRun& fleet) {
    return observed_to_json(fleet.observe(machine, recording, origin), machine);
  });
}

}  // namespace lifeguard
