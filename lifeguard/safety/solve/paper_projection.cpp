#include "lifeguard/safety/solve/paper_projection.hpp"

#include "lifeguard/safety/solve/paper_basis.hpp"

namespace lifeguard {

void PaperProjection::project(SafeSearch& search) {
  if (!search.start_from_last()) return;
  const ProjectionSettings& settings = search.settings();
  const Knowledge& present = search.present().knowledge;
  next_.knowledge = present;
  search.forget_failures();
  const ProjectionFault fault = search.fault(ProjectionStage::semidefinite_program);
  if (fault == ProjectionFault::failure ||
      paper_basis(present.coefficients, search.target().basis, present.basis, settings.p,
                  settings.q, next_.knowledge.basis,
                  search.deadline()) != PaperBasisStatus::solved) {
    search.note_failure();
  }
  corrupt(fault, next_.knowledge.basis);
  search.spectrum().impose(next_.knowledge.basis);
  if (search.fit_coefficients(next_)) {
    search.accept(next_);
    search.result().alternations = 1;
    search.result().status =
        search.failed() ? ProjectionStatus::solver_failed : ProjectionStatus::converged;
  } else {
    search.result().status = ProjectionStatus::kept_last;
  }
  if (search.failed() && search.deadline().passed()) {
    search.result().status = ProjectionStatus::time_limit;
  }
}

}  // namespace lifeguard
