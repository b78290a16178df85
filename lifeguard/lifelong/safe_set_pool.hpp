#pragma once

#include <string>
#include <unordered_map>

#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Equal safe sets, stored once.
class SafeSetPool {
 public:
  /// The set as it was stored first; copies of it share their memory.
  SafeSet stored(const SafeSet& set);

 private:
  std::unordered_map<std::string, SafeSet> sets_;  // by their fingerprints
  std::size_t forget_at_ = 64;
};

}  // namespace lifeguard
