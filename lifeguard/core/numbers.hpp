#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace lifeguard {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// u = 2⁻⁵³: a rounded result is off by at most this part of it.
inline constexpr double kUnitRoundoff = 0x1p-53;

/// Memory that starts on a cache line, so that no vector load of a row crosses one.
template <class T>
struct CacheLineAllocator {
  /// What an allocator has.
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  /// What an allocator does; all of them are equal.
  template <class U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete(p, kAlignment); }
  /// Always.
  bool operator==(const CacheLineAllocator&) const { return true; }
};

/// A vector in such memory.
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace lifeguard
