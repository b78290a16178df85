#include "lifeguard/runs/run_check.hpp"

#include <fmt/format.h>

#include <string>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/check_beliefs.hpp"
#include "lifeguard/runs/check_certificates.hpp"
#include "lifeguard/runs/check_description.hpp"
#include "lifeguard/runs/check_last_state.hpp"
#include "lifeguard/runs/check_regret.hpp"
#include "lifeguard/runs/check_replay.hpp"
#include "lifeguard/runs/check_rounds.hpp"
#include "lifeguard/runs/checked_run.hpp"

namespace lifeguard {
namespace {

void check_content(CheckedRun& run) {
  check_description(run);
  check_rounds(run);
  check_certificates(run);
  check_regret(run);
  check_beliefs(run);
  check_counts(run);
  check_last_state(run);
  if (run.options.replay && !run.observed()) check_replay(run);
}

RunCheck checked(CheckedRun run) {
  try {
    if (const std::string damage = run.reader->integrity(); !damage.empty()) {
      run.find(fmt::format("the file is damaged: {}", damage));
      return run.result;
    }
    for (const std::string& finding : run.reader->foreign_parts()) run.find(finding);
    if (run.read()) {
      check_content(run);
    }
  } catch (const UnknownSystem& error) {
    // No verdict; but what was found before stands.
    if (run.result.findings.empty() && run.unsafe.empty()) throw;
    run.result.not_checked = error.what();
  } catch (const RunFileError& error) {
    run.find(error.what());
  } catch (const InvalidInput& error) {
    run.find(fmt::format("what is stored is refused: {}", error.what()));
  }
  run.result.findings.insert(run.result.findings.end(), run.unsafe.begin(), run.unsafe.end());
  return run.result;
}

}  // namespace

RunCheck check_run(const std::filesystem::path& path, const CheckOptions& options) {
  try {
    return checked(CheckedRun(path, options));
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
