#include "lifeguard/runs/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "lifeguard/core/check.hpp"

namespace lifeguard {
namespace {

/// Whether a file begins as every SQLite database does.
bool is_database(const std::filesystem::path& path) {
  constexpr std::string_view kBegin = "SQLite format 3";
  std::array<char, kBegin.size()> begin{};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t count = read(file, begin.data(), begin.size());
  close(file);
  return count == static_cast<ssize_t>(begin.size()) &&
         std::string_view(begin.data(), begin.size()) == kBegin;
}

}  // namespace

bool means_disk_full(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

OutputError::OutputError(const std::string& what, int reason)
    : std::runtime_error(fmt::format("{}: {}", what, std::strerror(reason))),
      disk_full_(means_disk_full(reason)) {}

void OutputFile::fail(int reason) const {
  throw OutputError(fmt::format("{} cannot be written", shown_.string()), reason);
}

OutputFile::OutputFile(const std::filesystem::path& path) : shown_(path), path_(path) {
  std::error_code error;
  // A link stays one: what it points to is replaced.
  for (int hops = 0; std::filesystem::is_symlink(path_, error) && hops < 40; ++hops) {
    const std::filesystem::path target = std::filesystem::read_symlink(path_, error);
    if (error) fail(error.value());
    path_ = path_.parent_path() / target;
  }
  struct stat there {};
  const bool exists = stat(path_.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) fail(errno);
  if (exists && S_ISDIR(there.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(there.st_mode)) {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file_ < 0) fail(errno);
    return;
  }
  require(!exists || !is_database(path_), "output", fmt::format("\"{}\"", shown_.string()),
          "must not be a run file or another database: it would be lost; choose another name");
  const std::filesystem::path folder = path_.parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, error);
    if (error) fail(error.value());
  }
  open_draft(folder);
  if (exists) fchmod(file_, there.st_mode & 07777);
}

/// A name that is free, whoever else writes into the folder.
void OutputFile::open_draft(const std::filesystem::path& folder) {
  static std::atomic<unsigned> count = 0;
  do {
    draft_ = (folder / fmt::format(".lifeguard-{}-{}", getpid(), ++count)).string();
    file_ = open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ >= 0) return;
  draft_.clear();
  fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  if (!draft_.empty()) unlink(draft_.c_str());
}

void OutputFile::write(std::string_view text) {
  constexpr std::size_t kBuffer = std::size_t{1} << 16;
  buffer_ += text;
  if (buffer_.size() >= kBuffer) flush();
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  buffer_.clear();
}

void OutputFile::finish() {
  flush();
  // Some file systems say only now that there was no room.
  if (fsync(file_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) fail(errno);
  if (draft_.empty()) return;
  if (rename(draft_.c_str(), path_.c_str()) != 0) fail(errno);
  draft_.clear();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace lifeguard
