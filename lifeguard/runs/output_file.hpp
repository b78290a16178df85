#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lifeguard {

/// Something could not be written. The message names the file and the system's reason.
class OutputError : public std::runtime_error {
 public:
  /// `reason` is an errno.
  OutputError(const std::string& what, int reason);
  /// Nothing is wrong but that there is no room.
  bool disk_full() const { return disk_full_; }

 private:
  bool disk_full_;
};

/// Whether an errno means that there is no room: the disk, a quota or a limit on the file's size.
bool means_disk_full(int reason);

/// A file that is there whole or not at all: it is written under another name in the same folder,
/// which is made if it is not there, and renamed at the end. What is no plain file (a terminal,
/// /dev/null, a pipe) is written to directly.
class OutputFile {
 public:
  /// Throws OutputError, and InvalidInput for a run file, which is not replaced by something else.
  explicit OutputFile(const std::filesystem::path& path);
  /// Without finish() nothing stays.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// All is on the disk, under its name.
  void finish();

 private:
  void open_draft(const std::filesystem::path& folder);
  void flush();
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path shown_;  // as it was given
  std::filesystem::path path_;
  std::string draft_;  // empty: written to directly
  int file_ = -1;
  std::string buffer_;
};

/// An OutputFile of one text.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lifeguard
