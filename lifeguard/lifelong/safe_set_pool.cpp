#include "lifeguard/lifelong/safe_set_pool.hpp"

#include <algorithm>

#include "lifeguard/safety/prove/fingerprint.hpp"
#include "lifeguard/safety/prove/set_fingerprint.hpp"

namespace lifeguard {

SafeSet SafeSetPool::stored(const SafeSet& set) {
  if (sets_.size() >= forget_at_) {
    // Sets that no task has any more, since its constraints changed.
    std::erase_if(sets_, [](const auto& entry) { return !entry.second.is_shared(); });
    forget_at_ = std::max<std::size_t>(64, 2 * sets_.size());
  }
  Fingerprint hash;
  hash.add(static_cast<double>(set.parameters()));
  add_set(hash, set);
  const SafeSet& found = sets_.emplace(hash.hex(), set).first->second;
  return found == set ? found : set;
}

}  // namespace lifeguard
