#include "lifeguard/safety/solve/exact_projection.hpp"

#include <algorithm>
#include <utility>

namespace lifeguard {

namespace {

// A first alternation that leaves more of the objective than this gained little.
constexpr double kLittleGain = 0.9;
// Before a descent alternation only has to find a good place to start from.
constexpr int kAlternationsBefore = 10;
constexpr double kGainBefore = 1e-3;
// Of all that short steps gained in an L-step, the least that one more of them is worth: the S-step
// is next.
constexpr double kLeastShare = 0.1;
// Left between the tangent planes' optimum and what is safe, as a part of the objective.
constexpr double kCurvedGap = 1e-6;
// How far inside of the present point a descent begins; when it ends above that point, nearer.
constexpr double kInside[] = {0.05, 1e-3, 1e-5};

}  // namespace

void ExactProjection::project(SafeSearch& search) {
  // What the steps would find as well, after more work: the target is safe as it is.
  if (search.target_is_finite() && !search.has_faults() && search.accept_target()) {
    search.result().status = ProjectionStatus::converged;
    return;
  }
  if (!search.start_from_last()) return;
  const ProjectionSettings& settings = search.settings();
  if (!settings.descend) {
    alternate(search, settings.max_alternations, settings.objective_tolerance);
    return;
  }
  alternate(search, std::min(settings.max_alternations, kAlternationsBefore),
            std::max(settings.objective_tolerance, kGainBefore));
  if (search.result().status != ProjectionStatus::time_limit && search.present().objective > 0) {
    descend(search);
  }
  // A descent knows curved constraints by their tangent planes. While its end, which these do not
  // hold back, is lower than what is safe, there are more to be found.
  ProjectionResult& result = search.result();
  for (int step = 0;
       search.is_curved() && result.status == ProjectionStatus::converged &&
       search.present().objective - descent_.objective() > kCurvedGap * search.present().objective;
       ++step) {
    if (step == kMostCuttingSteps) {
      result.status = ProjectionStatus::alternation_limit;
      break;
    }
    descend(search);
  }
}

void ExactProjection::alternate(SafeSearch& search, int most, double tolerance) {
  ProjectionResult& result = search.result();
  result.status = ProjectionStatus::alternation_limit;
  basis_step_.restart();
  for (int alternation = 0; alternation < most; ++alternation) {
    search.forget_failures();
    BasisPath path = solve_basis(search);
    bool safe = search.fit_coefficients(next_);
    if (alternation == 0 && path != BasisPath::inside && target_basis_is_better(search, safe)) {
      std::swap(direct_, next_);
      safe = true;
      path = BasisPath::direct;
    }
    const double before = search.present().objective;
    const bool lower = safe && next_.objective < before;
    if (lower) {
      search.accept(next_);
      ++result.alternations;
      result.basis_path = path;
    }
    if (search.deadline().passed()) {
      result.status = ProjectionStatus::time_limit;
      return;
    }
    if (!lower) {
      result.status = !search.failed()   ? ProjectionStatus::converged
                      : alternation == 0 ? ProjectionStatus::kept_last
                                         : ProjectionStatus::solver_failed;
      return;
    }
    if (before - search.present().objective <= tolerance * search.present().objective) {
      result.status =
          search.failed() ? ProjectionStatus::solver_failed : ProjectionStatus::converged;
      return;
    }
  }
}

// The L-step, into next_.
BasisPath ExactProjection::solve_basis(SafeSearch& search) {
  const Knowledge& present = search.present().knowledge;
  const auto [low, high] = search.spectrum().range(search.target().basis);
  next_.knowledge = present;
  const ProjectionFault fault = search.fault(ProjectionStage::basis_step);
  BasisPath path = BasisPath::kept;
  if (fault != ProjectionFault::failure) {
    path = basis_step_.solve({search.tasks(), present.coefficients, search.target().basis, low,
                              high, search.deadline(), kLeastShare},
                             present.basis, next_.knowledge.basis);
    search.result().basis_iterations += basis_step_.iterations();
  }
  corrupt(fault, next_.knowledge.basis);
  if (path == BasisPath::kept || fault != ProjectionFault::none) search.note_failure();
  return path;
}

// Some S is feasible for any L, so when an alternation gains little the target's own basis is tried
// too. Alternation cannot reach it while the old coefficients are in the way.
bool ExactProjection::target_basis_is_better(SafeSearch& search, bool next_is_safe) {
  const ProjectionPoint& present = search.present();
  if (next_is_safe && next_.objective < kLittleGain * present.objective) return false;
  direct_.knowledge = present.knowledge;
  direct_.knowledge.basis = search.target().basis;
  search.spectrum().impose(direct_.knowledge.basis);
  return search.fit_coefficients(direct_) && (!next_is_safe || direct_.objective < next_.objective);
}

// A descent may end in another valley than the present point's, above it. Then the present point is
// not known to be stationary, and the next descent begins nearer to it.
void ExactProjection::descend(SafeSearch& search) {
  ProjectionResult& result = search.result();
  result.status = ProjectionStatus::solver_failed;
  for (const double inside : kInside) {
    const JointDescent::Outcome outcome = descend_from(search, inside);
    if (outcome == JointDescent::Outcome::too_large) {
      result.status = ProjectionStatus::too_large;
    } else if (outcome == JointDescent::Outcome::time_limit) {
      result.status = ProjectionStatus::time_limit;
    } else if (outcome == JointDescent::Outcome::step_limit) {
      result.status = ProjectionStatus::alternation_limit;
    } else if (outcome == JointDescent::Outcome::stationary &&
               search.present().objective >= descent_.objective() - descent_.left_to_gain()) {
      result.status = ProjectionStatus::converged;
    } else {
      continue;
    }
    return;
  }
}

// Of the points on the way the lowest one that is verified stays.
JointDescent::Outcome ExactProjection::descend_from(SafeSearch& search, double inside) {
  const ProjectionSettings& settings = search.settings();
  ProjectionResult& result = search.result();
  const auto [low, high] = search.spectrum().range(search.target().basis);
  descent_.begin({&search.tasks(), &search.target(), settings.mu1, settings.mu2, low, high,
                  settings.margin, search.deadline()},
                 search.present().knowledge, inside, settings.objective_tolerance);
  JointDescent::Outcome outcome = JointDescent::Outcome::going_on;
  while (outcome == JointDescent::Outcome::going_on) {
    outcome = descent_.advance(settings.max_alternations - result.alternations);
    result.alternations += descent_.steps();
    next_.knowledge = descent_.point();
    next_.objective = search.objective(next_.knowledge);
    next_.retraction = 1;
    if (next_.objective < search.present().objective && search.is_safe(next_.knowledge)) {
      search.accept(next_);
    }
  }
  if (outcome == JointDescent::Outcome::stationary) {
    // Inside of what binds by the last weight: the S-step goes to the bounds themselves.
    next_.knowledge = descent_.point();
    if (search.fit_coefficients(next_) && next_.objective < search.present().objective) {
      search.accept(next_);
    }
  }
  return outcome;
}

}  // namespace lifeguard
