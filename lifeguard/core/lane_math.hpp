// Arithmetic that is written once and runs on one double or on a vector of doubles, with the same
// bits in every lane of every instruction set: only IEEE operations that round correctly (+ - * /,
// square root and the fused multiply-add), each written out. Highway's own contrib/math fuses where
// the processor can, so its results depend on the machine; that is why it is not used here.
//
// Compiled once per target: include it from a file that foreach_target.h re-includes, or from a
// plain source file for the double versions.

#if defined(LIFEGUARD_CORE_LANE_MATH_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_CORE_LANE_MATH_HPP
#undef LIFEGUARD_CORE_LANE_MATH_HPP
#else
#define LIFEGUARD_CORE_LANE_MATH_HPP
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
  friend HWY_INLINE Lanes operator-(Lanes a) { return Lanes(hn::Neg(a.v)); }
  HWY_INLINE Lanes& operator+=(Lanes b) { return *this = *this + b; }
  HWY_INLINE Lanes& operator-=(Lanes b) { return *this = *this - b; }
  HWY_INLINE Lanes& operator*=(Lanes b) { return *this = *this * b; }
  HWY_INLINE Lanes& operator/=(Lanes b) { return *this = *this / b; }
};

/// What a comparison of vectors gives: a yes or no for each lane, as a bool is for a double.
/// Combine them by & and |, which bool has too, and ask them by select().
struct LaneCondition {
  hn::Mask<DoubleTag> m;

  friend HWY_INLINE LaneCondition operator&(LaneCondition a, LaneCondition b) {
    return {hn::And(a.m, b.m)};
  }
  friend HWY_INLINE LaneCondition operator|(LaneCondition a, LaneCondition b) {
    return {hn::Or(a.m, b.m)};
  }
};
HWY_INLINE LaneCondition operator<(Lanes a, Lanes b) { return {hn::Lt(a.v, b.v)}; }
HWY_INLINE LaneCondition operator<=(Lanes a, Lanes b) { return {hn::Le(a.v, b.v)}; }
HWY_INLINE LaneCondition operator>(Lanes a, Lanes b) { return {hn::Gt(a.v, b.v)}; }
HWY_INLINE LaneCondition operator>=(Lanes a, Lanes b) { return {hn::Ge(a.v, b.v)}; }

/// a where the condition holds, else b. Both are computed.
HWY_INLINE Lanes select(LaneCondition condition, Lanes a, Lanes b) {
  return Lanes(hn::IfThenElse(condition.m, a.v, b.v));
}
HWY_INLINE double select(bool condition, double a, double b) { return condition ? a : b; }

/// A vector kept in memory. Loads and stores are explicit, because a copy of a struct may be done
/// in halves, which the next load of the whole has to wait for.
struct StoredLanes {
  HWY_ALIGN double values[hn::MaxLanes(DoubleTag())];

  HWY_INLINE operator Lanes() const { return Lanes::load(values); }  // NOLINT: it is one
  HWY_INLINE StoredLanes& operator=(Lanes x) {
    x.store(values);
    return *this;
  }
};

/// Two vectors side by side: twice as many independent operations for long dependency chains.
struct LanePair {
  Lanes a, b;

  HWY_INLINE LanePair() = default;
  HWY_INLINE LanePair(double x) : a(x), b(x) {}  // NOLINT: doubles broadcast
  HWY_INLINE LanePair(Lanes first, Lanes second) : a(first), b(second) {}

  friend HWY_INLINE LanePair operator+(LanePair x, LanePair y) { return {x.a + y.a, x.b + y.b}; }
  friend HWY_INLINE LanePair operator-(LanePair x, LanePair y) { return {x.a - y.a, x.b - y.b}; }
  friend HWY_INLINE LanePair operator*(LanePair x, LanePair y) { return {x.a * y.a, x.b * y.b}; }
  friend HWY_INLINE LanePair operator/(LanePair x, LanePair y) { return {x.a / y.a, x.b / y.b}; }
};

/// a b + c, rounded once, on every target.
HWY_INLINE Lanes multiply_add(Lanes a, Lanes b, Lanes c) {
#if HWY_NATIVE_FMA
  return Lanes(hn::MulAdd(a.v, b.v, c.v));
#else
  StoredLanes x, y, z;
  x = a;
  y = b;
  z = c;
  for (std::size_t i = 0; i < hn::MaxLanes(DoubleTag()); ++i) {
    z.values[i] = std::fma(x.values[i], y.values[i], z.values[i]);
  }
  return z;
#endif
}
HWY_INLINE LanePair multiply_add(LanePair x, LanePair y, LanePair z) {
  return {multiply_add(x.a, y.a, z.a), multiply_add(x.b, y.b, z.b)};
}
HWY_INLINE double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }

HWY_INLINE Lanes square_root(Lanes a) { return Lanes(hn::Sqrt(a.v)); }
HWY_INLINE LanePair square_root(LanePair x) { return {square_root(x.a), square_root(x.b)}; }
HWY_INLINE double square_root(double a) { return std::sqrt(a); }

HWY_INLINE Lanes magnitude(Lanes a) { return Lanes(hn::Abs(a.v)); }
HWY_INLINE double magnitude(double a) { return std::fabs(a); }

/// Rounds to the nearest integer, ties to even.
HWY_INLINE Lanes nearest(Lanes a) { return Lanes(hn::Round(a.v)); }
HWY_INLINE double nearest(double a) { return std::nearbyint(a); }

/// Rounds down to an integer.
HWY_INLINE Lanes rounded_down(Lanes a) { return Lanes(hn::Floor(a.v)); }
HWY_INLINE double rounded_down(double a) { return std::floor(a); }

/// Limits a to [low, high]; a NaN becomes low or high, whichever the processor prefers, so check
/// for NaN before.
HWY_INLINE Lanes limited(Lanes a, Lanes low, Lanes high) {
  return Lanes(hn::Min(hn::Max(a.v, low.v), high.v));
}
HWY_INLINE double limited(double a, double low, double high) {
  const double raised = a > low ? a : low;
  return raised < high ? raised : high;
}

/// sin(π/2 r) and cos(π/2 r) for |r| ≤ 1/2, by polynomials in r² that interpolate at Chebyshev
/// points; errors 4e-17 (relative) and 1e-16.
template <class Real>
HWY_INLINE void quarter_sine_cosine(Real r, Real& sine, Real& cosine) {
  const Real z = r * r;
  Real s = Real(0x1.e3f38399551bfp-25);
  Real c = Real(0x1.f3dbcea61b1a4p-22);
  s = multiply_add(s, z, Real(-0x1.e30071afc3e59p-19));
  c = multiply_add(c, z, Real(-0x1.a6c9c1be9eb49p-16));
  s = multiply_add(s, z, Real(0x1.50782fda12d96p-13));
  c = multiply_add(c, z, Real(0x1.e1f4fb60281f6p-11));
  s = multiply_add(s, z, Real(-0x1.32d2cce2e5b19p-8));
  c = multiply_add(c, z, Real(-0x1.55d3c7dbfd139p-6));
  s = multiply_add(s, z, Real(0x1.466bc677587f8p-4));
  c = multiply_add(c, z, Real(0x1.03c1f081b0780p-2));
  s = multiply_add(s, z, Real(-0x1.4abbce625be41p-1));
  c = multiply_add(c, z, Real(-0x1.3bd3cc9be458bp+0));
  sine = multiply_add(s, z, Real(0x1.921fb54442d18p+0)) * r;
  cosine = multiply_add(c, z, Real(1.0));
}

/// Turns (sine, cosine) by `quarters` quarter turns, quarters an integer of any size.
HWY_INLINE void turn_quarters(Lanes quarters, Lanes& sine, Lanes& cosine) {
  const Lanes q =
      multiply_add(Lanes(-4.0), nearest(quarters * Lanes(0.25)), quarters);  // -2, -1, 0, 1 or 2
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

/// sin(x) and cos(x), with an error below (2 |x| + 2) 2⁻⁵³: little more than that of rounding x.
template <class Real>
HWY_INLINE void sine_cosine(Real x, Real& sine, Real& cosine) {
  const Real turns = x * Real(0x1.45f306dc9c883p-1);  // 2/π: in quarter turns
  const Real quarters = nearest(turns);
  quarter_sine_cosine(turns - quarters, sine, cosine);
  turn_quarters(quarters, sine, cosine);
}

/// One of the two; where both are needed, or the other elsewhere in the same step, the compiler
/// computes what they share once.
template <class Real>
HWY_INLINE Real sine(Real x) {
  Real s, c;
  sine_cosine(x, s, c);
  return s;
}
template <class Real>
HWY_INLINE Real cosine(Real x) {
  Real s, c;
  sine_cosine(x, s, c);
  return c;
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
HWY_INLINE void split_binary(LanePair x, LanePair& mantissa, LanePair& exponent) {
  split_binary(x.a, mantissa.a, exponent.a);
  split_binary(x.b, mantissa.b, exponent.b);
}
HWY_INLINE void split_binary(double x, double& mantissa, double& exponent) {
  const std::uint64_t bits =
      std::bit_cast<std::uint64_t>(x) + (0x3FF0000000000000ull - 0x3FE6A09E667F3BCDull);
  exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull);
}

/// ln(x) for positive normal x: ln m = 2 artanh(s) with s = (m - 1) / (m + 1), by a polynomial in
/// s² that interpolates 2 artanh(s) / s at Chebyshev points; relative error
/// below 7e-16.
template <class Real>
HWY_INLINE Real natural_log(Real x) {
  Real mantissa, exponent;
  split_binary(x, mantissa, exponent);
  const Real s = (mantissa - Real(1.0)) / (mantissa + Real(1.0));
  const Real z = s * s;
  Real p = Real(0x1.58d5d4a93822dp-3);
  p = multiply_add(p, z, Real(0x1.732320a9c93b0p-3));
  p = multiply_add(p, z, Real(0x1.c722cceee92f4p-3));
  p = multiply_add(p, z, Real(0x1.249240b87155dp-2));
  p = multiply_add(p, z, Real(0x1.999999a435066p-2));
  p = multiply_add(p, z, Real(0x1.5555555552d50p-1));
  p = multiply_add(p, z, Real(2.0));
  return multiply_add(exponent, Real(0x1.62e42fefa39efp-1), s * p);
}

/// Box and Muller (1958): the length √(-2 ln u) and, for an angle of r in [-1/2, 1/2] quarter
/// turns, the coordinates along and across the axis. Choosing the axis at random out of the four
/// (see random_axis) makes the two coordinates independent standard normals.
template <class Real>
HWY_INLINE void box_muller(Real u, Real r, Real& along, Real& across) {
  const Real length = square_root(Real(-2.0) * natural_log(u));
  Real sine, cosine;
  quarter_sine_cosine(r, sine, cosine);
  along = length * cosine;
  across = length * sine;
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
