#include "lifeguard/core/clipped_noise.hpp"

#include <cmath>
#include <numbers>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

double clipped_noise_deviation(double scale, double limit) {
  if (std::isinf(limit) || scale == 0) return scale;
  // With c = limit/s: E[clip(z, ±c)²] = P(|z| < c) - 2 c φ(c) + c² P(|z| > c).
  const double c = limit / scale;
  const double density = std::exp(-0.5 * c * c) / std::sqrt(2 * std::numbers::pi);
  const double outside = std::erfc(c / std::numbers::sqrt2);
  return scale * std::sqrt(std::fmax(0.0, 1 - outside - 2 * c * density + c * c * outside));
}

double exceed_probability(double scale, double limit, double draws) {
  if (scale == 0) return 0;
  // 1 - (1 - p)^draws, without the cancellation for small p.
  const double once = std::erfc(limit / scale / std::numbers::sqrt2);
  return -std::expm1(draws * std::log1p(-once));
}

double clipped_noise_scale(double deviation, double limit) {
  require(limit > 0, "noise_limit", limit, "must be greater than 0; infinity means none");
  require(deviation >= 0 && deviation < limit, "sigma", deviation,
          "must be less than the limit of the noise");
  if (std::isinf(limit) || deviation == 0) return deviation;
  // The deviation grows with s, from 0 to the limit.
  double low = deviation;
  double high = deviation;
  while (clipped_noise_deviation(high, limit) < deviation && high < 1e12 * limit) high *= 2;
  for (int i = 0; i < 200 && std::nextafter(low, high) < high; ++i) {
    const double middle = 0.5 * (low + high);
    (clipped_noise_deviation(middle, limit) < deviation ? low : high) = middle;
  }
  return high;
}

}  // namespace lifeguard
