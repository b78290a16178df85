#include "lifeguard/runs/run_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "lifeguard/version.hpp"

namespace lifeguard {

void throw_run_file_error(const std::filesystem::path& path, const SQLite::Exception& error) {
  const int code = error.getErrorCode() & 0xff;
  const auto say = [&](const char* meaning) {
    return fmt::format("{} {} ({})", path.string(), meaning, error.what());
  };
  switch (code) {
    case SQLITE_NOTADB:
      throw NotARunFile(say("is not a run file"));
    case SQLITE_FULL:
      throw RunFileFull(say("cannot grow: the disk is full"));
    case SQLITE_IOERR:
      throw RunFileError(say("cannot be read or written"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw RunFileError(say("is being written by another process"));
    case SQLITE_CONSTRAINT:
      throw RunFileError(say("already has this round: is another process writing it?"));
    case SQLITE_CANTOPEN:
      throw RunFileError(say("cannot be opened"));
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // a table or column is missing
    case SQLITE_AUTH:   // a view in its place
    case SQLITE_SCHEMA:
    case SQLITE_FORMAT:
      throw DamagedRunFile(say("is damaged"));
    default:
      throw RunFileError(say("cannot be used"));
  }
}

int pragma_value(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

void distrust(SQLite::Database& database) {
  sqlite3* handle = database.getHandle();
  // To ask for it once more would prepare every statement of the database anew.
  int views = 1;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, -1, &views);
  if (views == 0) return;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  database.exec("PRAGMA cell_size_check = ON");
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

int checked_version(SQLite::Database& database, const std::filesystem::path& path) {
  if (pragma_value(database, "application_id") != kRunApplicationId) {
    throw NotARunFile(path.string() + " is not a run file: it is another program's database");
  }
  const int version = pragma_value(database, "user_version");
  if (version < 1 || version > kSchemaVersion) {
    throw NotARunFile(fmt::format(
        "{} has schema version {}; this lifeguard ({}) knows 1 to {}. A newer lifeguard wrote it.",
        path.string(), version, kVersion, kSchemaVersion));
  }
  return version;
}

}  // namespace lifeguard
