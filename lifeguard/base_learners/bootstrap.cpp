#include "lifeguard/base_learners/bootstrap.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

// Fits end when no B moves by more than this share of the range of v: the fit itself is less
// certain than that.
constexpr double kSettled = 1e-3;

/// One batch and the present state of its B and v.
class Bootstrap {
 public:
  Bootstrap(const Trajectories& t, double discount, int stride, const double* lengths,
            const std::vector<double>& live, double* returns, BootstrapWorkspace& w)
      : t_(t),
        discount_(discount),
        stride_(stride),
        lengths_(lengths),
        live_(live),
        returns_(returns),
        w_(w) {
    const auto steps = static_cast<std::size_t>(t.steps());
    w.bootstraps.assign(t.stride(), 0.0);
    w.values.assign(steps * t.stride(), 0.0);
    w.means.resize(steps);
    w.sums.resize(steps);
    w.powers.resize(steps + 1);
    w.powers[0] = 1.0;
    for (std::size_t d = 1; d <= steps; ++d) w.powers[d] = w.powers[d - 1] * discount;
  }

  void run() {
    move_bootstraps();
    for (int sweep = 0; sweep < kBootstrapSweeps; ++sweep) {
      fit(sweep == 0);
      if (!(move_bootstraps() > kSettled * (highest_ - lowest_))) return;
    }
  }

 private:
  bool is_cut(int i) const { return t_.end(i) == EndReason::cut_short && t_.length(i) > 0; }
  std::size_t at(int m, int i) const {
    return static_cast<std::size_t>(m) * t_.stride() + static_cast<std::size_t>(i);
  }

  /// v and its range, from the returns as they are now.
  void fit(bool first) {
    sum_rows(t_, returns_, lengths_, 1, w_.means.data());
    for (int m = 0; m < t_.steps(); ++m) w_.means[m] /= std::max(live_[m], 1.0);
    if (first) {
      w_.baseline.fit(t_, lengths_, stride_, true, returns_, w_.means.data());
    } else {
      w_.baseline.refit(t_, lengths_, returns_, w_.means.data());
    }
    w_.baseline.values(t_, lengths_, 1, w_.values.data(), w_.sums.data());
    lowest_ = kInfinity;
    highest_ = -kInfinity;
    for (int m = 0; m < t_.steps(); ++m) {
      for (int i = 0; i < t_.count(); ++i) {
        if (m >= t_.length(i)) continue;
        lowest_ = std::min(lowest_, w_.values[at(m, i)]);
        highest_ = std::max(highest_, w_.values[at(m, i)]);
      }
    }
    fitted_ = true;
  }

  /// v at the state that trajectory i was cut short in.
  double final_value(int i) const {
    if (!fitted_) return 0.0;
    const double value = w_.baseline.value([&](int f) { return t_.final_feature(i, f); });
    return std::min(std::max(value, lowest_), highest_);
  }

  /// κ: what a step costs beyond the change of v.
  double cost_beyond_values() const {
    double sum = 0, steps = 0;
    for (int m = 0; m < t_.steps(); ++m) {
      for (int i = 0; i < t_.count(); ++i) {
        if (m >= t_.length(i)) continue;
        const bool goes_on = m + 1 < t_.length(i);
        if (!goes_on && !is_cut(i)) continue;
        const double next = goes_on ? w_.values[at(m + 1, i)] : final_value(i);
        sum += t_.cost(i, m) + discount_ * next - w_.values[at(m, i)];
        steps += 1;
      }
    }
    return sum / steps;  // at least one trajectory was cut short after a step
  }

  /// V_L - v: the mean over those live at step L, or κ carried on.
  double offset(int step) const {
    if (live_[step] == 0) {
      double factor = 0;
      for (int d = 0; d < t_.steps() - step; ++d) factor += w_.powers[d];
      return cost_beyond_values() * factor;
    }
    double sum = 0;
    for (int j = 0; j < t_.count(); ++j) {
      if (step < t_.length(j)) sum += returns_[at(step, j)] - w_.values[at(step, j)];
    }
    return sum / live_[step];
  }

  /// Sets every B by the present v, from the last cut to the first, since returns of later cuts
  /// enter earlier ones. Returns the largest change.
  double move_bootstraps() {
    double largest = 0;
    for (int step = t_.steps() - 1; step > 0; --step) {
      bool known = false;
      double common = 0;
      for (int i = 0; i < t_.count(); ++i) {
        if (t_.length(i) != step || !is_cut(i)) continue;
        if (!known) common = offset(step);
        known = true;
        const double change = common + final_value(i) - w_.bootstraps[i];
        w_.bootstraps[i] += change;
        for (int m = 0; m < step; ++m) returns_[at(m, i)] += w_.powers[step - m] * change;
        largest = std::max(largest, std::abs(change));
      }
    }
    return largest;
  }

  const Trajectories& t_;
  const double discount_;
  const int stride_;
  const double* lengths_;
  const std::vector<double>& live_;
  double* returns_;
  BootstrapWorkspace& w_;
  double lowest_ = 0;
  double highest_ = 0;
  bool fitted_ = false;
};

}  // namespace

void bootstrap_returns(const Trajectories& trajectories, double discount, int stride,
                       const double* lengths, const std::vector<double>& live, double* returns,
                       BootstrapWorkspace& workspace) {
  if (trajectories.cut_short() == 0) return;
  Bootstrap(trajectories, discount, stride, lengths, live, returns, workspace).run();
}

}  // namespace lifeguard
