#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>

#include "lifeguard/runs/run_file.hpp"

/// Internal, not installed: what the writer and the reader of run files do with SQLite.
namespace lifeguard {

/// "LIFG": how `file` and we tell a run from any other database.
inline constexpr int kRunApplicationId = 0x4c494647;

/// SQLite's complaint about a file, in the user's words.
[[noreturn]] void throw_run_file_error(const std::filesystem::path& path,
                                       const SQLite::Exception& error);

/// The number that a PRAGMA of this name answers.
int pragma_value(SQLite::Database& database, const char* name);

/// A database from elsewhere must not make us run anything: no triggers, no views, no functions of
/// its choice; and its pages are looked at before they are believed.
void distrust(SQLite::Database& database);

/// The schema version of a file that is a run; throws for any other.
int checked_version(SQLite::Database& database, const std::filesystem::path& path);

}  // namespace lifeguard
