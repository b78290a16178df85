#pragma once

#include <filesystem>
#include <utility>

namespace lifeguard {

/// One process at a time writes a file: whoever holds its claim. Another one's attempt fails at
/// once, readers do not notice, and the claim of a killed process is gone with it. It also knows
/// whether the file is still the one that was claimed.
class FileClaim {
 public:
  /// Throws RunFileError if another holds it.
  static FileClaim on_existing(const std::filesystem::path& path);
  /// The file is made if it is not there, and is empty afterwards.
  static FileClaim on_new(const std::filesystem::path& path);
  ~FileClaim();
  FileClaim(FileClaim&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileClaim& operator=(FileClaim&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }

  /// Whether this name still stands for the claimed file.
  bool holds(const std::filesystem::path& path) const;

 private:
  FileClaim(const std::filesystem::path& path, int flags);
  int file_ = -1;
};

/// Gives a file another name, which must be free. Throws RunFileExists if it is not.
void rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace lifeguard
