#include "cli/options.hpp"

#include <filesystem>
#include <set>
#include <system_error>

namespace lifeguard {

CLI::Option* add_threads(CLI::App& app, int& threads) {
  return add_number(app, "--threads", threads, 0, 1024,
                    "0 uses all cores; results do not depend on it");
}

CLI::Option* add_path(CLI::App& app, const std::string& name, std::string& path,
                      const std::string& description) {
  const CLI::Validator not_empty(
      [](const std::string& text) {
        return text.empty() ? std::string("must not be empty") : std::string();
      },
      "");
  return app.add_option(name, path, description)->check(not_empty);
}

void require_distinct_files(std::string_view field, const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> seen;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    std::error_code error;
    std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
    if (error) real = path;
    require(seen.insert(std::filesystem::absolute(real, error)).second, field,
            fmt::format("\"{}\"", path), "must not be given twice");
  }
}

}  // namespace lifeguard
