#include "lifeguard/systems/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/built_in_systems.hpp"

namespace lifeguard {
namespace {

struct RegisteredSystem {
  std::string name;
  System system;
  std::vector<Family> families;
};

class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(System system, std::vector<Family> families) {
    validate_system(system);
    RegisteredSystem entry{system_name(system), std::move(system), std::move(families)};
    require(!entry.name.empty() && entry.name != "custom", "system", entry.name,
            "must have a name of its own (kName) to be registered");
    if (entry.families.empty()) {
      entry.families.push_back(make_family(entry.name, entry.system, {}));
    }
    require(entry.families.front().name == entry.name, "families[0].name",
            entry.families.front().name, fmt::format("must be the system's name, {}", entry.name));
    const std::scoped_lock lock(mutex_);
    require(find(entry.name) == nullptr, "system", entry.name,
            "is taken: another system has this name");
    for (std::size_t i = 0; i < entry.families.size(); ++i) {
      const Family& family = entry.families[i];
      const std::string field = fmt::format("families[{}]", i);
      require(system_name(family.nominal) == entry.name, field + ".nominal",
              system_name(family.nominal), fmt::format("must be a {}", entry.name));
      const auto same_name = [&](const Family& f) { return f.name == family.name; };
      require(std::count_if(entry.families.begin(), entry.families.end(), same_name) == 1 &&
                  find_family(family.name) == nullptr,
              field + ".name", family.name, "is taken: another family has this name");
      family.validate();
    }
    systems_.push_back(std::move(entry));
  }

  std::vector<std::string> names() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    for (const RegisteredSystem& s : systems_) names.push_back(s.name);
    return names;
  }
  /// The families that have their system's name first.
  std::vector<std::string> names_of_families() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    for (const RegisteredSystem& s : systems_) names.push_back(s.name);
    for (const RegisteredSystem& s : systems_) {
      for (std::size_t i = 1; i < s.families.size(); ++i) names.push_back(s.families[i].name);
    }
    return names;
  }
  std::optional<System> system(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const RegisteredSystem* found = find(name);
    return found == nullptr ? std::nullopt : std::optional(found->system);
  }
  std::optional<Family> family(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const Family* found = find_family(name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

 private:
  Registry() {
    BuiltInSystems::for_each([this]<class S>() { add(S{}, S::families()); });
  }
  const RegisteredSystem* find(std::string_view name) const {
    const auto found = std::find_if(systems_.begin(), systems_.end(),
                                    [&](const RegisteredSystem& s) { return s.name == name; });
    return found == systems_.end() ? nullptr : &*found;
  }
  const Family* find_family(std::string_view name) const {
    for (const RegisteredSystem& s : systems_) {
      for (const Family& family : s.families) {
        if (family.name == name) return &family;
      }
    }
    return nullptr;
  }

  mutable std::mutex mutex_;
  std::vector<RegisteredSystem> systems_;
};

}  // namespace

void register_system(System system, std::vector<Family> families) {
  Registry::instance().add(std::move(system), std::move(families));
}

std::vector<std::string> system_names() { return Registry::instance().names(); }

System system_by_name(std::string_view name) {
  std::optional<System> found = Registry::instance().system(name);
  if (found) return *std::move(found);
  throw InvalidInput("system", name,
                     fmt::format("must be one of {}", fmt::join(system_names(), ", ")));
}

std::vector<std::string> family_names() { return Registry::instance().names_of_families(); }

Family family_by_name(std::string_view name) {
  std::optional<Family> found = Registry::instance().family(name);
  if (found) return *std::move(found);
  throw InvalidInput("family", name,
                     fmt::format("must be one of {}", fmt::join(family_names(), ", ")));
}

}  // namespace lifeguard
