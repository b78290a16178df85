#include "lifeguard/runs/file_claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {

FileClaim::FileClaim(const std::filesystem::path& path, int flags)
    : file_(open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0666)) {
  if (file_ < 0) throw OutputError(fmt::format("{} cannot be written", path.string()), errno);
  // A file system without locks has none to offer; SQLite then finds two writers by itself.
  const bool taken = flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  // Between opening and locking its former holder may have given it another name.
  if (taken || !holds(path)) {
    close(file_);
    throw RunFileBusy(fmt::format(
        "{} is being written by another process; wait for it, or stop it first", path.string()));
  }
}

FileClaim FileClaim::on_existing(const std::filesystem::path& path) {
  return FileClaim(path, O_RDWR);
}

FileClaim FileClaim::on_new(const std::filesystem::path& path) {
  FileClaim claim(path, O_RDWR | O_CREAT);
  if (ftruncate(claim.file_, 0) != 0) {
    throw OutputError(fmt::format("{} cannot be written", path.string()), errno);
  }
  return claim;
}

FileClaim::~FileClaim() {
  if (file_ >= 0) close(file_);
}

bool FileClaim::holds(const std::filesystem::path& path) const {
  struct stat claimed {};
  struct stat named {};
  return fstat(file_, &claimed) == 0 && stat(path.c_str(), &named) == 0 &&
         claimed.st_dev == named.st_dev && claimed.st_ino == named.st_ino;
}

void rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to) {
  int result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {  // not on this file system
    errno = EEXIST;
    result = std::filesystem::exists(to) ? -1 : std::rename(from.c_str(), to.c_str());
  }
  if (result == 0) return;
  if (errno == EEXIST) {
    throw RunFileExists(
        fmt::format("{} exists already; resume it or choose another name", to.string()));
  }
  throw OutputError(fmt::format("{} cannot be written", to.string()), errno);
}

}  // namespace lifeguard
