#include "lifeguard/safety/solve/spectral_clip.hpp"

#include <algorithm>
#include <cmath>

namespace lifeguard {

namespace {

constexpr double kOrthogonal = 1e-15;
constexpr int kSweeps = 40;
// Below this part of the lower limit a singular value has no reliable direction to be lifted along.
constexpr double kNoDirection = 1e-9;

}  // namespace

// One-sided Jacobi (Hestenes 1958): turns pairs of columns of left_ until all are orthogonal, and
// right_ with them. It finds small singular values to full relative accuracy, which the
// eigenvalues of XᵀX alone do not, and is quick when the columns are nearly orthogonal already.
bool SpectralClip::rotate_columns() {
  const Eigen::Index k = left_.cols();
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool rotated = false;
    for (Eigen::Index i = 0; i < k; ++i) values_[i] = left_.col(i).squaredNorm();
    for (Eigen::Index i = 0; i + 1 < k; ++i) {
      for (Eigen::Index j = i + 1; j < k; ++j) {
        const double product = left_.col(i).dot(left_.col(j));
        if (!(std::fabs(product) > kOrthogonal * std::sqrt(values_[i] * values_[j]))) continue;
        rotated = true;
        const double zeta = (values_[j] - values_[i]) / (2 * product);
        const double tangent =
            std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent);
        const double sine = cosine * tangent;
        values_[i] = std::max(0.0, values_[i] - tangent * product);
        values_[j] += tangent * product;
        for (Eigen::MatrixXd* matrix : {&left_, &right_}) {
          double* a = matrix->col(i).data();
          double* b = matrix->col(j).data();
          for (Eigen::Index r = 0; r < matrix->rows(); ++r) {
            const double first = a[r];
            const double second = b[r];
            a[r] = cosine * first - sine * second;
            b[r] = sine * first + cosine * second;
          }
        }
      }
    }
    if (!rotated) return true;
  }
  return false;
}

bool SpectralClip::compute(const Eigen::MatrixXd& x, double low, double high) {
  const Eigen::Index k = x.cols();
  clipped_ = false;
  gram_.noalias() = x.transpose() * x;
  const double trace = gram_.trace();
  if (!std::isfinite(trace)) return false;
  if (trace <= static_cast<double>(k) * high * high) {
    shifted_ = gram_;
    shifted_.diagonal().array() -= low * low;
    cholesky_.compute(shifted_);
    if (cholesky_.info() == Eigen::Success) {
      shifted_ = -gram_;
      shifted_.diagonal().array() += high * high;
      cholesky_.compute(shifted_);
      if (cholesky_.info() == Eigen::Success) {
        result_ = x;
        return true;
      }
    }
  }

  clipped_ = true;
  values_.resize(k);
  if (!warm_) {
    eigen_.compute(gram_);
    if (eigen_.info() != Eigen::Success) return false;
    right_ = eigen_.eigenvectors();
  }
  left_.noalias() = x * right_;
  warm_ = rotate_columns();
  if (!warm_) return false;
  values_ = left_.colwise().norm();
  if (!(values_.minCoeff() > kNoDirection * low)) {
    warm_ = false;
    return false;
  }
  limited_ = values_.cwiseMax(low).cwiseMin(high);
  ratio_ = limited_.cwiseQuotient(values_);
  left_.array().rowwise() /= values_.transpose().array();
  entry_weights_.resize(k, k);
  transposed_entry_weights_.resize(k, k);
  for (Eigen::Index j = 0; j < k; ++j) {
    for (Eigen::Index i = 0; i < k; ++i) {
      const double gap = values_[i] - values_[j];
      const bool inside = values_[i] > low && values_[i] < high;
      const double gamma = std::fabs(gap) > 1e-9 * values_[i] ? (limited_[i] - limited_[j]) / gap
                                                              : (inside ? 1.0 : 0.0);
      const double omega = (limited_[i] + limited_[j]) / (values_[i] + values_[j]);
      entry_weights_(i, j) = 0.5 * (gamma + omega);
      transposed_entry_weights_(i, j) = 0.5 * (gamma - omega);
    }
  }
  shifted_ = right_;
  shifted_.array().rowwise() *= limited_.transpose().array();
  result_.noalias() = left_ * shifted_.transpose();
  return true;
}

// With F = Uᵀ(a sᵀ)V = (Uᵀa)(Vᵀs)ᵀ the derivative acts on the symmetric part of F by
// Γ_ij = (f_i − f_j)/(σ_i − σ_j), on the skew part by Ω_ij = (f_i + f_j)/(σ_i + σ_j), and on what
// is orthogonal to U by f_j/σ_j.
double SpectralClip::metric(const Eigen::Ref<const Eigen::VectorXd>& vs,
                            const Eigen::Ref<const Eigen::VectorXd>& vt, Eigen::MatrixXd& inner) {
  direction_product_ = vs.cwiseProduct(vt);
  const double outer = ratio_.dot(direction_product_);
  inner = transposed_entry_weights_;
  inner.array().colwise() *= vt.array();
  inner.array().rowwise() *= vs.transpose().array();
  inner.diagonal().noalias() += entry_weights_ * direction_product_;
  inner.diagonal().array() -= outer;
  return outer;
}

}  // namespace lifeguard
