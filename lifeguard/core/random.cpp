#include "lifeguard/core/random.hpp"

#include <Random123/philox.h>

#include "lifeguard/core/lane_math.hpp"

namespace lifeguard {

std::array<std::uint32_t, 4> CounterRandom::words(std::uint32_t block) const {
  const r123::Philox4x32::ctr_type counter = {{block, static_cast<std::uint32_t>(stream_),
                                               static_cast<std::uint32_t>(index_),
                                               static_cast<std::uint32_t>(index_ >> 32)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const auto result = r123::Philox4x32()(counter, key);
  return {result[0], result[1], result[2], result[3]};
}

std::array<double, 4> CounterRandom::uniforms(std::uint32_t block) const {
  std::array<double, 4> result{};
  const auto w = words(block);
  for (int i = 0; i < 4; ++i) result[i] = (w[i] + 0.5) * 0x1p-32;
  return result;
}

std::array<double, 4> CounterRandom::normals(std::uint32_t block) const {
  const auto w = words(block);
  std::array<double, 4> result{};
  for (int pair = 0; pair < 4; pair += 2) {
    const double u = (w[pair] + 0.5) * 0x1p-32;
    const double r = ((w[pair + 1] & 0x3FFFFFFFu) + 0.5) * 0x1p-30 - 0.5;
    double along = 0;
    double across = 0;
    HWY_NAMESPACE::box_muller(u, r, along, across);
    // Bits 31 and 30 turn the result to one of four axes, as random_axis does on vectors.
    if ((w[pair + 1] >> 31) != 0) along = -along;
    const bool swap = ((w[pair + 1] >> 30) & 1u) != 0;
    result[pair] = swap ? across : along;
    result[pair + 1] = swap ? along : across;
  }
  return result;
}

std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t child) {
  const auto w = CounterRandom(seed, RandomStream::derived_seed, child).words(0);
  return (std::uint64_t{w[1]} << 32) | w[0];
}

}  // namespace lifeguard
