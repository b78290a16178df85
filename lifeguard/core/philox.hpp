// Philox4x32-10 on vectors: each 64-bit lane holds one 32-bit word of the counter of one
// trajectory. Random123 has the same generator for one counter at a time, which CounterRandom
// uses; the tests compare rollouts with it to the bit.

#if defined(LIFEGUARD_CORE_PHILOX_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_CORE_PHILOX_HPP
#undef LIFEGUARD_CORE_PHILOX_HPP
#else
#define LIFEGUARD_CORE_PHILOX_HPP
#endif

#include <cstdint>

#include "lifeguard/core/lane_math.hpp"

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

/// The ten round keys of a seed, ready to use.
struct PhiloxKeys {
  WordVec first[10], second[10];

  explicit PhiloxKeys(std::uint64_t seed) {
    std::uint32_t key0 = static_cast<std::uint32_t>(seed);
    std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      first[round] = hn::Set(WordTag(), key0);
      second[round] = hn::Set(WordTag(), key1);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
  }
};

/// One vector of counters, and after ten rounds of random words; only the low 32 bits of each lane
/// count. Separate members, not an array, so that they live in registers.
struct PhiloxWords {
  WordVec w0, w1, w2, w3;

  HWY_INLINE void apply_round(WordVec key0, WordVec key1) {
    const WordVec product0 = multiply_low_halves(hn::Set(WordTag(), 0xD2511F53u), w0);
    const WordVec product1 = multiply_low_halves(hn::Set(WordTag(), 0xCD9E8D57u), w2);
    w0 = hn::Xor(hn::ShiftRight<32>(product1), hn::Xor(w1, key0));
    w2 = hn::Xor(hn::ShiftRight<32>(product0), hn::Xor(w3, key1));
    w1 = product1;
    w3 = product0;
  }
};

/// The integer in the low `kBits` bits of each lane, plus 1/2, divided by 2^kBits, exactly.
template <int kBits>
HWY_INLINE Lanes uniform_from_words(WordVec words) {
  const WordVec low = hn::And(words, hn::Set(WordTag(), (1ull << kBits) - 1));
  const WordVec biased = hn::Or(low, hn::Set(WordTag(), 0x4330000000000000ull));
  const Lanes integer = Lanes(hn::BitCast(DoubleTag(), biased)) - Lanes(4503599627370496.0 - 0.5);
  return integer * Lanes(1.0 / static_cast<double>(1ull << kBits));
}

/// Turns (along, across) to one of four axes: bit 31 chooses the sign of `along`, bit 30 whether
/// the two change places. The sign of `across` is random already.
HWY_INLINE void random_axis(WordVec word, Lanes& along, Lanes& across) {
  const DoubleTag d;
  const WordVec sign = hn::And(hn::ShiftLeft<32>(word), hn::Set(WordTag(), 1ull << 63));
  const auto signed_along = hn::Xor(along.v, hn::BitCast(d, sign));
  // As a mask from an integer comparison: the bits themselves may look like a NaN.
  const WordVec bit = hn::And(word, hn::Set(WordTag(), 1ull << 30));
  const auto keep = hn::RebindMask(d, hn::Eq(bit, hn::Zero(WordTag())));
  along = Lanes(hn::IfThenElse(keep, signed_along, across.v));
  across = Lanes(hn::IfThenElse(keep, across.v, signed_along));
}

/// Two standard normals for each trajectory of two vectors, from two random words of each.
HWY_INLINE void normals_from_words(WordVec length_a, WordVec angle_a, WordVec length_b,
                                   WordVec angle_b, LanePair& first, LanePair& second) {
  const LanePair u(uniform_from_words<32>(length_a), uniform_from_words<32>(length_b));
  const LanePair r(uniform_from_words<30>(angle_a), uniform_from_words<30>(angle_b));
  box_muller(u, r - LanePair(0.5), first, second);
  random_axis(angle_a, first.a, second.a);
  random_axis(angle_b, first.b, second.b);
}

/// Four standard normals for each trajectory of two vectors; CounterRandom::normals is the same for
/// one.
HWY_INLINE void philox_normals(const PhiloxKeys& keys, PhiloxWords a, PhiloxWords b,
                               LanePair* out) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    a.apply_round(keys.first[round], keys.second[round]);
    b.apply_round(keys.first[round], keys.second[round]);
  }
  normals_from_words(a.w0, a.w1, b.w0, b.w1, out[0], out[1]);
  normals_from_words(a.w2, a.w3, b.w2, b.w3, out[2], out[3]);
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
