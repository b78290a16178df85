#pragma once

#include <bit>
#include <cstdint>

namespace lifeguard {

/// e^x for x in [-700, 700], clamped to that range, with an error below 2e-16 of the result. The
/// library's exp fuses multiplications where the processor can, so its last bit depends on the
/// machine; this one uses only operations that round correctly.
inline double exponential(double x) {
  x = x < -700.0 ? -700.0 : x;
  x = x > 700.0 ? 700.0 : x;
  // Adding and subtracting 1.5 · 2^52 rounds to the nearest integer, which is then in the low bits.
  constexpr double kRound = 0x1.8p+52;
  const double shifted = x * 0x1.71547652b82fep+0 + kRound;  // 1 / ln 2
  const double k = shifted - kRound;
  const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;  // ln 2 in two parts
  double p = 1.0 / 6227020800.0;                                           // 1 / 13!
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double result = 1.0 + (r + r * r * p);
  const std::uint64_t power = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) + power);
}

}  // namespace lifeguard
