// Philox4x32-10 on vectors: each 64-bit lane holds one 32-bit word of the counter of one
// trajectory. Random123 has the same generator for one counter at a time; the tests compare the two
// word by word.

#if defined(LIFEGUARD_CORE_PHILOX_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_CORE_PHILOX_INL_HPP
#undef LIFEGUARD_CORE_PHILOX_INL_HPP
#else
#define LIFEGUARD_CORE_PHILOX_INL_HPP
#endif

#include <cstdint>

#include "lifeguard/core/lane_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

/// The product of the low 32 bits of each 64-bit lane, all 64 bits of it.
HWY_INLINE WordVec multiply_low_halves(WordVec a, WordVec b) {
#if HWY_TARGET == HWY_SCALAR  // one lane has no even and odd halves
  return hn::Set(WordTag(), (hn::GetLane(a) & 0xFFFFFFFFu) * (hn::GetLane(b) & 0xFFFFFFFFu));
#else
  const hn::Repartition<std::uint32_t, WordTag> halves;
  return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
#endif
}

/// Turns the counter words c0..c3 into random words; only the low 32 bits of each lane count.
HWY_INLINE void philox(std::uint64_t seed, WordVec& c0, WordVec& c1, WordVec& c2, WordVec& c3) {
  const WordTag words;
  const WordVec multiplier0 = hn::Set(words, 0xD2511F53u);
  const WordVec multiplier1 = hn::Set(words, 0xCD9E8D57u);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const WordVec product0 = multiply_low_halves(multiplier0, c0);
    const WordVec product1 = multiply_low_halves(multiplier1, c2);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), c1), hn::Set(words, key0));
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), c3), hn::Set(words, key1));
    c1 = product1;
    c3 = product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// (w + 1/2) / 2^32 for the low 32 bits w of each lane, exactly.
HWY_INLINE Lanes uniform_from_words(WordVec w) {
  const WordTag words;
  const WordVec low = hn::And(w, hn::Set(words, 0xFFFFFFFFull));
  const WordVec biased = hn::Or(low, hn::Set(words, 0x4330000000000000ull));
  const Lanes integer = Lanes(hn::BitCast(DoubleTag(), biased)) - Lanes(4503599627370496.0);
  return (integer + Lanes(0.5)) * Lanes(0x1p-32);
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
