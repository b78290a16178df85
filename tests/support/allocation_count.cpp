#include "tests/support/allocation_count.hpp"

#include <atomic>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<long> count{0};
}

// glibc lets a program replace malloc, and still offers its own under these names.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

extern "C" void* malloc(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

namespace lifeguard {
long allocation_count() { return count.load(); }
}  // namespace lifeguard

#else

namespace lifeguard {
long allocation_count() { return -1; }
}  // namespace lifeguard

#endif
