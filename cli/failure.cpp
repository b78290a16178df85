#include "cli/failure.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/stop.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {
namespace {

/// Values may be whole tables of a file; what is wrong with them comes after.
std::string shortened(const std::string& value) {
  constexpr std::size_t kMost = 300;
  return value.size() <= kMost ? value : value.substr(0, kMost) + " ...";
}

std::string of_filesystem(const std::filesystem::filesystem_error& error) {
  const std::string& path = error.path2().empty() ? error.path1().string() : error.path2().string();
  return path.empty() ? error.code().message()
                      : fmt::format("{}: {}", path, error.code().message());
}

int code_of(const std::error_code& error) {
  return means_disk_full(error.value()) ? kDiskFull : kFailed;
}

}  // namespace

void end_without_room(const std::exception& error) {
  say("lifeguard: {}; make room, then do the same again: nothing of it was kept", error.what());
  throw Exit{kDiskFull};
}

int report_failure() {
  constexpr const char* kNoMemory =
      "lifeguard: not enough memory; fewer tasks, trajectories, steps or threads need less";
  try {
    throw;
  } catch (const Exit& exit) {
    return exit.code;
  } catch (const Stopped&) {
    return end_stopped();
  } catch (const InvalidInput& error) {
    say("lifeguard: {} = {}: {}", error.field(), shortened(error.value()), error.rule());
    return kInvalidInput;
  } catch (const NotARunFile& error) {
    say("lifeguard: {}", error.what());
    return kInvalidInput;
  } catch (const RunFileFull& error) {
    say("lifeguard: {}; make room, then `lifeguard resume` or the same comparison goes on",
        error.what());
    return kDiskFull;
  } catch (const OutputError& error) {
    say("lifeguard: {}", error.what());
    return error.disk_full() ? kDiskFull : kFailed;
  } catch (const std::bad_alloc&) {
    say(kNoMemory);
    return kFailed;
  } catch (const std::length_error&) {  // asked for more than any memory has
    say(kNoMemory);
    return kFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    say("lifeguard: {}", of_filesystem(error));
    return code_of(error.code());
  } catch (const std::system_error& error) {
    say("lifeguard: the system refused something: {}", error.code().message());
    return code_of(error.code());
  } catch (const std::logic_error& error) {
    say("lifeguard: this is a bug in lifeguard, please report it ({})", error.what());
    return kFailed;
  } catch (const nlohmann::json::exception& error) {
    say("lifeguard: this is a bug in lifeguard, please report it ({})", error.what());
    return kFailed;
  } catch (const std::exception& error) {
    say("lifeguard: {}", error.what());
    return kFailed;
  } catch (...) {
    say("lifeguard: this is a bug in lifeguard, please report it (something unknown was thrown)");
    return kFailed;
  }
}

}  // namespace lifeguard
