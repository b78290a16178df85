#include "tests/support/allocation_count.hpp"

#include <cerrno>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LIFEGUARD_COUNTS_ALLOCATIONS 1
#else
#define LIFEGUARD_COUNTS_ALLOCATIONS 0
#endif

namespace {
thread_local std::int64_t allocations = 0;
}  // namespace

#if LIFEGUARD_COUNTS_ALLOCATIONS
// Definitions in the program take the place of the C library's, whose own ones stay reachable under
// these names.
extern "C" {
// NOLINTBEGIN: the names and signatures are the C library's.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  ++allocations;
  void* memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
// NOLINTEND
}
#endif

namespace lifeguard::test_support {

bool allocations_are_counted() { return LIFEGUARD_COUNTS_ALLOCATIONS != 0; }
std::int64_t allocation_count() { return allocations; }

}  // namespace lifeguard::test_support
