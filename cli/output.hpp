#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lifeguard {

/// Standard streams that are closed become ones that cannot be used, so that no file that is opened
/// later takes their place and gets what was meant for them. The first thing that main() does.
void reserve_standard_streams();

/// Text for standard output. Nothing is thrown if it cannot be written, since work that is under
/// way must not end for that: finish_output() says so in the end.
void write_output(std::string_view text);
template <typename... T>
void put(fmt::format_string<T...> format, T&&... values) {
  write_output(fmt::format(format, std::forward<T>(values)...));
}
/// With a line break at the end. Text that is not UTF-8, of file names for example, is made so.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// What has been printed is seen by whoever reads.
void flush_output();
/// Flushes for the last time, and says on standard error if anything was lost. The exit code:
/// `code`, or what stands for lost output if that was kDone. A reader that has gone away loses
/// nothing.
int finish_output(int code);

/// A message on standard error, with a line break. Never fails. Control characters, which file
/// names and damaged files may hold, are shown and not obeyed.
void write_message(std::string_view text);
template <typename... T>
void say(fmt::format_string<T...> format, T&&... values) {
  write_message(fmt::format(format, std::forward<T>(values)...));
}

/// The same just before the process is ended, whatever its other threads are doing: does not wait.
void write_last_message(std::string_view text);

/// One line on standard error that the next one or a message replaces. Only for terminals.
void show_moving_line(std::string_view text);
/// The moving line stays where it is.
void end_moving_line();

/// What may be shown of a text from outside: control characters as \x1b, and not too long.
std::string printable(std::string_view text);

}  // namespace lifeguard
