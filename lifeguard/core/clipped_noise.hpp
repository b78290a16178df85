#pragma once

namespace lifeguard {

/// Exploration noise that never exceeds a limit: clip(s z, ±limit) with z standard normal. The
/// standard deviation σ is that of the noise as it is played, so s is a little larger.
///
/// Policy gradients divide E[C ε] by σ². For any symmetric noise that is exact as long as the cost
/// C is a quadratic function of the action; only where it is not does clipped noise weigh the ends
/// of its range differently than unclipped noise would.

/// s, for which clip(s z, ±limit) has this deviation. Throws InvalidInput unless
/// 0 ≤ deviation < limit: noise that is at most `limit` cannot deviate by more.
double clipped_noise_scale(double deviation, double limit);

/// The deviation of clip(s z, ±limit).
double clipped_noise_deviation(double scale, double limit);

/// The probability that at least one of so many independent draws of s z lies outside ±limit.
double exceed_probability(double scale, double limit, double draws);

}  // namespace lifeguard
