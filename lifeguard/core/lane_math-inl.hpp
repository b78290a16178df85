// Arithmetic that is written once and runs on one double or on a vector of doubles, with the same
// bits in every lane of every instruction set: only IEEE operations that round correctly (+ - * /
// and square root), no fused multiply-add, no library calls. Highway's own contrib/math fuses where
// the processor can, so its results depend on the machine; that is why it is not used here.
//
// Compiled once per target: include it from a file that foreach_target.h re-includes, or from a
// plain source file for the double versions.

#if defined(LIFEGUARD_CORE_LANE_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_CORE_LANE_MATH_INL_HPP
#undef LIFEGUARD_CORE_LANE_MATH_INL_HPP
#else
#define LIFEGUARD_CORE_LANE_MATH_INL_HPP
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DoubleTag = hn::ScalableTag<double>;
using WordTag = hn::RebindToUnsigned<DoubleTag>;  // one 64-bit word beside each double
using WordVec = hn::Vec<WordTag>;

/// A vector of doubles, one trajectory in each lane.
struct Lanes {
  hn::Vec<DoubleTag> v;

  HWY_INLINE Lanes() : v(hn::Zero(DoubleTag())) {}
  HWY_INLINE Lanes(double x) : v(hn::Set(DoubleTag(), x)) {}  // NOLINT: doubles broadcast
  HWY_INLINE explicit Lanes(hn::Vec<DoubleTag> x) : v(x) {}
  static HWY_INLINE Lanes load(const double* p) { return Lanes(hn::Load(DoubleTag(), p)); }
  HWY_INLINE void store(double* p) const { hn::Store(v, DoubleTag(), p); }

  friend HWY_INLINE Lanes operator+(Lanes a, Lanes b) { return Lanes(hn::Add(a.v, b.v)); }
  friend HWY_INLINE Lanes operator-(Lanes a, Lanes b) { return Lanes(hn::Sub(a.v, b.v)); }
  friend HWY_INLINE Lanes operator*(Lanes a, Lanes b) { return Lanes(hn::Mul(a.v, b.v)); }
  friend HWY_INLINE Lanes operator/(Lanes a, Lanes b) { return Lanes(hn::Div(a.v, b.v)); }
};

HWY_INLINE Lanes square_root(Lanes a) { return Lanes(hn::Sqrt(a.v)); }
HWY_INLINE double square_root(double a) { return std::sqrt(a); }

HWY_INLINE Lanes magnitude(Lanes a) { return Lanes(hn::Abs(a.v)); }
HWY_INLINE double magnitude(double a) { return std::fabs(a); }

/// Rounds to the nearest integer, ties to even.
HWY_INLINE Lanes nearest(Lanes a) { return Lanes(hn::Round(a.v)); }
HWY_INLINE double nearest(double a) { return std::nearbyint(a); }

/// Limits a to [low, high]; a NaN becomes low or high, whichever the processor prefers, so check
/// for NaN before.
HWY_INLINE Lanes limited(Lanes a, Lanes low, Lanes high) {
  return Lanes(hn::Min(hn::Max(a.v, low.v), high.v));
}
HWY_INLINE double limited(double a, double low, double high) {
  const double raised = a > low ? a : low;
  return raised < high ? raised : high;
}

/// sin(x) and cos(x) for an x already reduced to [-π/4, π/4], by their Taylor series; the first
/// term left out is below 5e-17.
template <class Real>
HWY_INLINE void reduced_sine_cosine(Real x, Real& sine, Real& cosine) {
  const Real z = x * x;
  Real s = Real(-1.0 / 1307674368000.0);  // 1 / 15!
  s = s * z + Real(1.0 / 6227020800.0);
  s = s * z - Real(1.0 / 39916800.0);
  s = s * z + Real(1.0 / 362880.0);
  s = s * z - Real(1.0 / 5040.0);
  s = s * z + Real(1.0 / 120.0);
  s = s * z - Real(1.0 / 6.0);
  sine = x + x * (z * s);
  Real c = Real(1.0 / 20922789888000.0);  // 1 / 16!
  c = c * z - Real(1.0 / 87178291200.0);
  c = c * z + Real(1.0 / 479001600.0);
  c = c * z - Real(1.0 / 3628800.0);
  c = c * z + Real(1.0 / 40320.0);
  c = c * z - Real(1.0 / 720.0);
  c = c * z + Real(1.0 / 24.0);
  c = c * z - Real(0.5);
  cosine = Real(1.0) + z * c;
}

/// Turns (sine, cosine) by `quarters` quarter turns, quarters an integer of any size.
HWY_INLINE void turn_quarters(Lanes quarters, Lanes& sine, Lanes& cosine) {
  const Lanes q = quarters - Lanes(4.0) * nearest(quarters * Lanes(0.25));  // -2, -1, 0, 1 or 2
  const auto odd = hn::Eq(hn::Abs(q.v), hn::Set(DoubleTag(), 1.0));
  const Lanes s(hn::IfThenElse(odd, cosine.v, sine.v));
  const Lanes c(hn::IfThenElse(odd, sine.v, cosine.v));
  // The sine changes sign for q = 2, -2 and -1, the cosine for 2, -2 and 1.
  const auto two = hn::Eq(hn::Abs(q.v), hn::Set(DoubleTag(), 2.0));
  const auto negative_sine = hn::Or(two, hn::Eq(q.v, hn::Set(DoubleTag(), -1.0)));
  const auto negative_cosine = hn::Or(two, hn::Eq(q.v, hn::Set(DoubleTag(), 1.0)));
  sine = Lanes(hn::IfThenElse(negative_sine, hn::Neg(s.v), s.v));
  cosine = Lanes(hn::IfThenElse(negative_cosine, hn::Neg(c.v), c.v));
}
HWY_INLINE void turn_quarters(double quarters, double& sine, double& cosine) {
  const double q = quarters - 4.0 * nearest(quarters * 0.25);
  const bool odd = std::fabs(q) == 1.0;
  const double s = odd ? cosine : sine;
  const double c = odd ? sine : cosine;
  const bool two = std::fabs(q) == 2.0;
  sine = two || q == -1.0 ? -s : s;
  cosine = two || q == 1.0 ? -c : c;
}

/// sin(x) and cos(x), error below 1e-15 for |x| < 1e5 (Cody and Waite's reduction with π/2 in three
/// parts of 33 bits, whose products with the quarter count are exact).
template <class Real>
HWY_INLINE void sine_cosine(Real x, Real& sine, Real& cosine) {
  const Real quarters = nearest(x * Real(0x1.45f306dc9c883p-1));  // 2/π
  Real r = x - quarters * Real(0x1.921fb544p+0);
  r = r - quarters * Real(0x1.0b4611a6p-34);
  r = r - quarters * Real(0x1.3198a2e037073p-69);
  reduced_sine_cosine(r, sine, cosine);
  turn_quarters(quarters, sine, cosine);
}

/// Splits a positive normal x = m 2^e with m in [1/√2, √2).
HWY_INLINE void split_binary(Lanes x, Lanes& mantissa, Lanes& exponent) {
  const WordTag words;
  const DoubleTag doubles;
  // Adding the distance from 1/√2 to 1/2 in the bit pattern moves the split point to 1/√2.
  const WordVec offset = hn::Set(words, 0x3FF0000000000000ull - 0x3FE6A09E667F3BCDull);
  const WordVec bits = hn::Add(hn::BitCast(words, x.v), offset);
  // An integer below 2^52 placed into the mantissa of 2^52 becomes that integer plus 2^52.
  const WordVec biased = hn::Or(hn::ShiftRight<52>(bits), hn::Set(words, 0x4330000000000000ull));
  exponent = Lanes(hn::BitCast(doubles, biased)) - Lanes(4503599627370496.0 + 1023.0);
  const WordVec fraction = hn::And(bits, hn::Set(words, 0x000FFFFFFFFFFFFFull));
  mantissa = Lanes(hn::BitCast(doubles, hn::Add(fraction, hn::Set(words, 0x3FE6A09E667F3BCDull))));
}
HWY_INLINE void split_binary(double x, double& mantissa, double& exponent) {
  const std::uint64_t bits =
      std::bit_cast<std::uint64_t>(x) + (0x3FF0000000000000ull - 0x3FE6A09E667F3BCDull);
  exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull);
}

/// ln(x) for positive normal x: ln m = 2 artanh((m - 1) / (m + 1)), whose series is cut below
/// 3e-17.
template <class Real>
HWY_INLINE Real natural_log(Real x) {
  Real mantissa, exponent;
  split_binary(x, mantissa, exponent);
  const Real s = (mantissa - Real(1.0)) / (mantissa + Real(1.0));
  const Real z = s * s;
  Real series = Real(1.0 / 19.0);
  series = series * z + Real(1.0 / 17.0);
  series = series * z + Real(1.0 / 15.0);
  series = series * z + Real(1.0 / 13.0);
  series = series * z + Real(1.0 / 11.0);
  series = series * z + Real(1.0 / 9.0);
  series = series * z + Real(1.0 / 7.0);
  series = series * z + Real(1.0 / 5.0);
  series = series * z + Real(1.0 / 3.0);
  const Real log_mantissa = Real(2.0) * s + Real(2.0) * s * (z * series);
  return exponent * Real(0x1.62e42fefa39efp-1) + log_mantissa;
}

/// Two independent standard normals from two uniforms in (0, 1) (Box and Muller 1958).
template <class Real>
HWY_INLINE void box_muller(Real u1, Real u2, Real& first, Real& second) {
  const Real radius = square_root(Real(-2.0) * natural_log(u1));
  const Real turns = u2 * Real(4.0);  // in quarter turns
  const Real quarters = nearest(turns);
  Real sine, cosine;
  reduced_sine_cosine((turns - quarters) * Real(0x1.921fb54442d18p+0), sine, cosine);
  turn_quarters(quarters, sine, cosine);
  first = radius * cosine;
  second = radius * sine;
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
