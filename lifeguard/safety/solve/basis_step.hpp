#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/least_distance.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"
#include "lifeguard/safety/solve/spectral_clip.hpp"
#include "lifeguard/safety/solve/tightened_tasks.hpp"

namespace lifeguard {

/// What a basis step has to obey, and where it wants to go.
struct BasisStepProblem {
  const std::vector<TightenedTask>& tasks;
  const Eigen::MatrixXd& coefficients;  // S; column t is s_t
  const Eigen::MatrixXd& target;        // L̃
  double low, high;                     // of the singular values
  Deadline deadline = {};
  /// Short steps end when one gains less than this part of all of them together: where other steps
  /// follow, in S, it is not worth the time to go to the end in L first.
  double least_share = 0;
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
  /// Forgets the multipliers of the last solution, where solve() begins otherwise, and how long
  /// its short steps were. Speed depends on it, and where a search that is cut short ends.
  void restart() {
    remembered_rows_.clear();
    short_step_ = 0;
    longest_short_step_ = 1;
  }

  /// `start` is feasible (up to rounding) and has its spectrum in [low, high]; `solution` is never
  /// farther from the target, has its spectrum inside up to rounding, and obeys the rows up to
  /// violation().
  BasisPath solve(const BasisStepProblem& problem, const Eigen::MatrixXd& start,
                  Eigen::MatrixXd& solution);

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
  // The target is an argument where it may be a nearer one than the problem's.
  bool maximise_dual(const Eigen::MatrixXd& target, Patience patience);
  bool stationary(const Eigen::MatrixXd& start);
  bool short_steps(Eigen::MatrixXd& solution);
  bool load_point(const Eigen::MatrixXd& target);
  bool newton_step(const Eigen::MatrixXd& target);
  void collect_violated();
  void seed_working_set(const Eigen::MatrixXd& start);
  void recall_multipliers(double length);
  void remember_multipliers(double length);
  void add_row(int task, int row, double bound, double length);
  bool has_room() const;
  void arrange_rows();
  double direction_product(int left, int right) const;
  void fill_gram();
  bool solve_model();
  bool may_go_on() const;
  double gap() const;
  double dual_value(const Eigen::MatrixXd& target) const;

  const BasisStepProblem* problem_ = nullptr;
  Eigen::MatrixXd directions_;          // s_t / ‖s_t‖, or 0
  Eigen::VectorXd lengths_;             // ‖s_t‖
  Eigen::MatrixXd direction_products_;  // of all pairs, unless tasks are many
  SpectralClip clip_;                   // its result is the present basis
  Eigen::MatrixXd policies_;            // present basis times directions
  std::vector<Row> working_rows_;
  std::vector<Row> remembered_rows_;  // rows that bound in the last solution
  double remembered_length_ = 1;      // of the step that they are of: 1 goes to the target
  Eigen::MatrixXd normals_;           // unit a of the working rows, one in each column
  DualActiveSet active_set_;
  double ridge_ = 0;       // added to DΠ where it is singular
  double short_step_ = 0;  // the last h with which a short step came nearer
  double longest_short_step_ = 1;
  Eigen::MatrixXd sorted_normals_;
  std::vector<Row> sorted_rows_;
  struct Group {
    int task;
    Eigen::Index first, count;
  };
  std::vector<Group> groups_;        // the working rows of each task
  std::vector<Eigen::Index> place_;  // of each task's next row in the order by tasks
  Eigen::MatrixXd rotated_normals_;
  Eigen::MatrixXd rotated_directions_;
  Eigen::MatrixXd clip_metric_;
  Eigen::MatrixXd clip_metric_normals_;
  // Over the working rows; larger than needed, so that they do not grow again and again.
  Eigen::MatrixXd gram_;
  Eigen::VectorXd violations_at_zero_;  // violations at λ = 0 in the model
  Eigen::VectorXd model_violations_;
  Eigen::VectorXd old_multipliers_;
  Eigen::VectorXd new_multipliers_;
  Eigen::VectorXd image_;
  Eigen::VectorXd slack_;
  Eigen::VectorXd normal_;  // the normal of the row to be added
  Eigen::MatrixXd point_;   // L̃ − Nλ
  Eigen::MatrixXd near_target_;
  // What binds at the start, for stationary().
  CoefficientStep tangent_;
  RowMajorMatrix planes_;
  Eigen::VectorXd plane_bounds_;
  long iterations_ = 0;
  double operations_ = 0;
  double violation_ = 0;
};

}  // namespace lifeguard
