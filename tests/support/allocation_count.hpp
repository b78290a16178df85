#pragma once

#include <cstdint>

namespace lifeguard::test_support {

/// Whether allocations are counted in this build (not under sanitizers, which have their own
/// allocators, and only with the GNU C library).
bool allocations_are_counted();

/// Allocations of the calling thread so far: malloc and its relatives, hence every form of operator
/// new and Eigen's own memory.
std::int64_t allocation_count();

}  // namespace lifeguard::test_support
