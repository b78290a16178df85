#pragma once

#include <Eigen/Core>

#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/solve/spectral_clip.hpp"

namespace lifeguard {

/// The singular values that solver steps may use.
struct SingularValueRange {
  double low, high;
};

/// p I ⪯ LᵀL ⪯ q I: proves it, and makes it true.
class SpectrumLimits {
 public:
  SpectrumLimits(double p, double q) : p_(p), q_(q) {}

  /// Proven, with all rounding errors counted. False for numbers that are not finite.
  bool hold(const Eigen::MatrixXd& basis);
  /// The nearest basis that hold() accepts, or one that can be proven if that one cannot. Numbers
  /// that are not finite give √((p + q)/2) on the diagonal.
  void impose(Eigen::MatrixXd& basis);
  /// √p and √q with room for the proof's rounding errors.
  SingularValueRange range(const Eigen::MatrixXd& basis) const;

 private:
  double p_, q_;
  SpectrumVerifier verifier_;
  SpectralClip clip_;
};

}  // namespace lifeguard
