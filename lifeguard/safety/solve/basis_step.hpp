#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/least_distance.hpp"
#include "lifeguard/safety/solve/spectral_clip.hpp"

namespace lifeguard {

/// Which part of the cascade gave the basis.
enum class BasisPath {
  not_run,
  inside,       // the target itself is feasible
  rows,         // rows or balls bind, the spectrum does not: a least-distance program
  spectrum,     // the spectrum binds: the dual was solved, the result is the global optimum
  short_steps,  // the dual has a gap for this target: proximal steps, a stationary point
  kept,         // the solver failed: the basis it started from
  direct,       // not this step: the projection took the target with its spectrum limited
};

/// One task's share of a basis step. Pointers stay the caller's.
struct BasisStepTask {
  const Eigen::MatrixXd* rows;         // A, m × d
  const Eigen::VectorXd* row_lengths;  // ‖a_i‖
  const Eigen::VectorXd* bounds;       // r > 0
  double slack_limit;                  // c > ‖r‖, may be infinite
};

/// The L-step:
///   min ‖L − L̃‖²  with  A_t L s_t ≤ r_t  and  ‖r_t − A_t L s_t‖ ≤ c_t  for all t,
///                       low ≤ σ_i(L) ≤ high.
///
/// The set of spectra is not convex, yet for given multipliers λ ≥ 0 of the linear rows N the
/// Lagrangian ½‖L − L̃‖² + λᵀ(Nᵀ L − r) has the global minimiser Π(L̃ − Nλ) (SpectralClip). So the
/// dual function is known in closed form, concave, with gradient Nᵀ L − r and Hessian −Nᵀ DΠ N, and
/// is maximised by Newton's method over a small working set of rows, each step a DualActiveSet
/// program. If the maximiser's L is feasible it is the global optimum of the non-convex program. If
/// there is a gap (far targets), the same method is run on nearer targets L + h(L̃ − L), which are
/// proximal steps: the distance falls with each. Balls enter as tangent planes, rank-one like rows.
class BasisStep {
 public:
  /// Forgets the multipliers of the last solution, where solve() begins otherwise. Only speed and
  /// last bits depend on it.
  void restart() { remembered_.clear(); }

  /// `start` is feasible (up to rounding) and has its spectrum in [low, high]; `solution` is never
  /// farther from the target, has its spectrum inside up to rounding, and obeys the rows up to
  /// violation(). Column t of `coefficients` is s_t.
  BasisPath solve(const std::vector<BasisStepTask>& tasks, const Eigen::MatrixXd& coefficients,
                  const Eigen::MatrixXd& target, const Eigen::MatrixXd& start, double low,
                  double high, Eigen::MatrixXd& solution, bool fail_solver = false);

  /// Newton steps of the last call.
  long iterations() const { return iterations_; }
  /// The largest violation in the last solution, relative to the row's bound.
  double violation() const { return violation_; }

 private:
  struct Row {
    int task;
    int row;  // -1: a tangent plane of the ball
    double bound;
    double multiplier;
    double violation;  // at the present basis
  };

  enum class Patience { short_of_a_stall, full };
  bool maximise_dual(const Eigen::MatrixXd& target, double low, double high, Patience patience);
  bool stationary(const Eigen::MatrixXd& target, const Eigen::MatrixXd& start, double low,
                  double high);
  bool short_steps(const Eigen::MatrixXd& target, double low, double high,
                   Eigen::MatrixXd& solution);
  bool load_point(const Eigen::MatrixXd& target, double low, double high);
  bool newton_step(const Eigen::MatrixXd& target, double low, double high);
  void collect_violated();
  void seed_working_set(const Eigen::MatrixXd& start);
  void recall_multipliers();
  void add_row(int task, int row, double bound, double length);
  void arrange_rows();
  void fill_gram();
  bool solve_model();
  double gap() const;
  double dual_value(const Eigen::MatrixXd& target) const;

  const std::vector<BasisStepTask>* tasks_ = nullptr;
  Eigen::MatrixXd directions_;  // s_t / ‖s_t‖, or 0
  Eigen::VectorXd lengths_;     // ‖s_t‖
  Eigen::MatrixXd direction_products_;
  SpectralClip clip_;         // its result is the present basis
  Eigen::MatrixXd policies_;  // present basis times directions
  std::vector<Row> working_;
  std::vector<Row> remembered_;  // rows that bound in the last solution
  Eigen::MatrixXd normals_;      // unit a of the working rows, one in each column
  DualActiveSet set_;
  double ridge_ = 0;  // added to DΠ where it is singular
  Eigen::MatrixXd sorted_normals_;
  std::vector<Row> sorted_;
  struct Group {
    int task;
    Eigen::Index first, count;
  };
  std::vector<Group> groups_;  // the working rows of each task
  Eigen::MatrixXd rotated_normals_;
  Eigen::MatrixXd rotated_directions_;
  Eigen::MatrixXd inner_;
  Eigen::MatrixXd inner_normals_;
  // Over the working rows; larger than needed, so that they do not grow again and again.
  Eigen::MatrixXd gram_;
  Eigen::VectorXd constant_;  // violations at λ = 0 in the model
  Eigen::VectorXd model_;
  Eigen::VectorXd old_;
  Eigen::VectorXd new_;
  Eigen::VectorXd image_;
  Eigen::VectorXd slack_;
  Eigen::VectorXd cut_;    // the normal of the row to be added
  Eigen::MatrixXd point_;  // L̃ − Nλ
  Eigen::MatrixXd near_target_;
  // What binds at the start, for stationary().
  CoefficientStep tangent_;
  RowMajorMatrix planes_;
  Eigen::VectorXd plane_bounds_;
  long iterations_ = 0;
  double work_ = 0;
  double violation_ = 0;
};

}  // namespace lifeguard
