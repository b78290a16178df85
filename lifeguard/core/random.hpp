#pragma once

#include <array>
#include <cstdint>

namespace lifeguard {

/// What a draw is for. Streams of one seed never overlap.
enum class RandomStream : std::uint32_t {
  start_state = 0,   // counter.index = trajectory
  exploration = 1,   // counter.index = trajectory, counter.block = (step * actions + action) / 4
  parameters = 2,    // counter.index = task
  derived_seed = 3,  // children of a seed
  schedule = 4,      // counter.index = round
  user = 5,
};

/// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy
/// as 1, 2, 3", SC 2011). Every number is a pure function of (seed, stream, index, block), so any
/// thread or machine can compute any part of a sequence, in any order, to the same bit.
///
/// A uniform is (w + 1/2) / 2^32 for a 32-bit word w: never 0 and never 1. A pair of normals comes
/// from a pair of words by Box and Muller, so a normal is at most 6.77 standard deviations.
class CounterRandom {
 public:
  /// The sequence `index` of a stream; making one costs nothing.
  CounterRandom(std::uint64_t seed, RandomStream stream, std::uint64_t index)
      : seed_(seed), stream_(stream), index_(index) {}

  /// The four numbers of a block: words, uniforms in (0, 1), or standard normals.
  std::array<std::uint32_t, 4> words(std::uint32_t block) const;
  std::array<double, 4> uniforms(std::uint32_t block) const;
  std::array<double, 4> normals(std::uint32_t block) const;

  /// The n-th uniform of this sequence; use one of the block forms in a hot loop.
  double uniform(std::uint32_t n) const { return uniforms(n / 4)[n % 4]; }
  double uniform(std::uint32_t n, double low, double high) const {
    return low + (high - low) * uniform(n);
  }
  double normal(std::uint32_t n) const { return normals(n / 4)[n % 4]; }

 private:
  std::uint64_t seed_;
  RandomStream stream_;
  std::uint64_t index_;
};

/// An independent seed for a part of a computation, e.g. derive_seed(run_seed, round).
std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t child);

}  // namespace lifeguard
