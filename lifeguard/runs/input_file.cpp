#include "lifeguard/runs/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lifeguard/core/check.hpp"

namespace lifeguard {
namespace {

/// Closed when it goes, unless it is standard input.
class InputDescriptor {
 public:
  explicit InputDescriptor(int number) : number_(number) {}
  ~InputDescriptor() {
    if (number_ > STDIN_FILENO) close(number_);
  }
  InputDescriptor(const InputDescriptor&) = delete;
  InputDescriptor& operator=(const InputDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void cannot_be_read(std::string_view field, const std::filesystem::path& path,
                                 std::string_view why) {
  throw InvalidInput(field, fmt::format("\"{}\"", path.string()),
                     fmt::format("must be a file that can be read ({})", why));
}

}  // namespace

std::string read_input_file(std::string_view field, const std::filesystem::path& path,
                            std::size_t most, bool standard_input) {
  const bool from_standard_input = standard_input && path == "-";
  // Opening a pipe to which nobody writes would wait for a writer; without waiting it is just
  // empty.
  const InputDescriptor file(
      from_standard_input ? STDIN_FILENO
                          : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat about {};
  if (file.number() < 0 || fstat(file.number(), &about) != 0) {
    cannot_be_read(field, path, std::strerror(errno));
  }
  if (S_ISDIR(about.st_mode)) cannot_be_read(field, path, std::strerror(EISDIR));
  std::string text;
  std::array<char, 1 << 16> part{};
  while (true) {
    const ssize_t count = read(file.number(), part.data(), part.size());
    if (count == 0) break;
    if (count > 0) {
      text.append(part.data(), static_cast<std::size_t>(count));
      require(text.size() <= most, field, fmt::format("\"{}\"", path.string()),
              fmt::format("must not have more than {} bytes", most));
    } else if (errno == EAGAIN) {  // a pipe whose writer is slow
      pollfd wait{file.number(), POLLIN, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      cannot_be_read(field, path, std::strerror(errno));
    }
  }
  const std::size_t zero = text.find('\0');
  require(zero == std::string::npos, field, fmt::format("\"{}\"", path.string()),
          fmt::format("must be a text; its byte {} is zero", zero));
  return text;
}

}  // namespace lifeguard
