#include "lifeguard/runs/json_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/shallow_json.hpp"

namespace lifeguard {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownCharacters = 60;

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return result;
}

/// Closes what it opened; standard input stays open.
class InputFile {
 public:
  explicit InputFile(const std::string& name)
      : descriptor_(name == "-" ? STDIN_FILENO
                                // A pipe that nobody writes to must not keep open() waiting.
                                : ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~InputFile() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void cannot_read(const std::string& name, int error) {
  throw InvalidInput("FILE", name,
                     fmt::format("must be a file that can be read, or - for standard input ({})",
                                 std::generic_category().message(error)));
}

/// Whether something can be read, be it the end.
bool wait_for_input(int descriptor, const Deadline& deadline) {
  while (!deadline.passed()) {
    pollfd poll_entry{descriptor, POLLIN, 0};
    const double most = 100;  // milliseconds
    const int ready =
        ::poll(&poll_entry, 1, static_cast<int>(std::min(most, 1 + 1e3 * deadline.seconds_left())));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
  return false;
}

/// Builds the value while the parser reads, and knows where it is.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(const InputLimits& limits) : limits_(limits) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& digits) override {
    const auto mantissa_end = digits.find_first_of("eE");
    const bool zero = digits.substr(0, mantissa_end).find_first_of("123456789") == string_t::npos;
    if (!std::isfinite(value) || (value == 0 && !zero)) {
      prepare();
      throw_not_a_double(digits);
    }
    return add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool key(string_t& key) override {
    Json& object = *open_.back();
    open_keys_.back() = key;
    require(!object.contains(key), path(), "another value", "must be given once only");
    place_ = &object[key];
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t /*position*/, const std::string& token,
                   const Json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      prepare();
      throw_not_a_double(token);
    }
    std::string what = complaint_of(error);  // "parse error at line 1, column 2: …; last read: …"
    what.resize(std::min<std::size_t>({what.size(), what.find("; last read"), 200}));
    throw InvalidInput("input", printable(what), "must be JSON");
  }

 private:
  // Of the value that is being read.
  std::string path() const {
    std::string result;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i]->is_array()) {
        result += fmt::format("[{}]", open_[i]->size() - 1);
      } else {
        const std::string key = printable(open_keys_[i].substr(0, kShownCharacters));
        result += result.empty() ? key : "." + key;
      }
    }
    return result.empty() ? "input" : result;
  }

  [[noreturn]] void throw_not_a_double(const std::string& digits) const {
    throw InvalidInput(path(), digits.substr(0, kShownCharacters),
                       "must be a number that a double can hold");
  }

  // Makes the place for the next value.
  void prepare() {
    require(++values_ <= limits_.values, "input",
            fmt::format("more than {} values", limits_.values),
            fmt::format("must have at most {}", limits_.values));
    if (open_.empty()) {
      place_ = &root_;
    } else if (open_.back()->is_array()) {
      place_ = &open_.back()->emplace_back();
    }
  }
  template <class Value>
  bool add(Value&& value) {
    prepare();
    *place_ = std::forward<Value>(value);
    return true;
  }
  bool open(Json&& value) {
    prepare();
    require(open_.size() < limits_.depth, path(), "another list or object",
            fmt::format("must not be nested deeper than {}", limits_.depth));
    *place_ = std::move(value);
    open_.push_back(place_);
    open_keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    open_keys_.pop_back();
    return true;
  }

  InputLimits limits_;
  Json root_;
  Json* place_ = nullptr;               // of the next value
  std::vector<Json*> open_;             // lists and objects around it
  std::vector<std::string> open_keys_;  // the present key of each object, "" for a list
  std::size_t values_ = 0;
};

// Stops when there is enough; the depth of what parse_json() gives is limited.
void show(const Json& value, std::string& text) {
  if (text.size() > kShownCharacters) return;
  if (value.is_array()) {
    text += '[';
    for (std::size_t i = 0; i < value.size() && text.size() <= kShownCharacters; ++i) {
      if (i > 0) text += ',';
      show(value[i], text);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    bool first = true;
    for (const auto& [key, entry] : value.items()) {
      if (text.size() > kShownCharacters) break;
      if (!first) text += ',';
      first = false;
      text += shown(std::string_view(key)) + ":";
      show(entry, text);
    }
    text += '}';
  } else if (value.is_string()) {
    text += shown(std::string_view(value.get_ref<const std::string&>()));
  } else {
    text += value.dump();
  }
}

std::string cut(std::string text) {
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters - 3) + "...";
  return text;
}

}  // namespace

std::string shown(const Json& value) {
  std::string text;
  show(value, text);
  return cut(std::move(text));
}

std::string shown(std::string_view text) {
  const bool whole = text.size() <= kShownCharacters;
  return Json(std::string(whole ? text : text.substr(0, kShownCharacters)))
             .dump(-1, ' ', true, Json::error_handler_t::replace) +
         (whole ? "" : "...");
}

std::string read_input(const std::string& name, const InputLimits& limits,
                       const Deadline& deadline) {
  const InputFile file(name);
  struct stat status {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0) cannot_read(name, errno);
  if (S_ISDIR(status.st_mode)) cannot_read(name, EISDIR);
  const bool patient = S_ISREG(status.st_mode) || ::isatty(file.descriptor()) == 1;
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (true) {
    require(patient || wait_for_input(file.descriptor(), deadline), "FILE", name,
            "must be there, to its end, before the time is over");
    const ssize_t count = ::read(file.descriptor(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) cannot_read(name, errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    require(text.size() <= limits.bytes, "FILE", name,
            fmt::format("must have at most {} bytes", limits.bytes));
  }
}

Json parse_json(std::string_view text, const InputLimits& limits) {
  require(text.size() <= limits.bytes, "input", fmt::format("{} bytes", text.size()),
          fmt::format("must have at most {} bytes", limits.bytes));
  JsonBuilder builder(limits);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace lifeguard
