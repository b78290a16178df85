#include "lifeguard/safety/solve/projection.hpp"

#include <chrono>
#include <utility>

#include "lifeguard/safety/solve/exact_projection.hpp"
#include "lifeguard/safety/solve/no_projection.hpp"
#include "lifeguard/safety/solve/paper_projection.hpp"
#include "lifeguard/safety/solve/safe_search.hpp"

namespace lifeguard {

namespace {

std::unique_ptr<ProjectionMethod> make_method(ProjectionMode mode) {
  switch (mode) {
    case ProjectionMode::exact:
      return std::make_unique<ExactProjection>();
    case ProjectionMode::paper:
      return std::make_unique<PaperProjection>();
    case ProjectionMode::none:
      return std::make_unique<NoProjection>();
  }
  return nullptr;
}

}  // namespace

Projection::Projection(const ProjectionSettings& settings)
    : settings_(settings),
      search_(std::make_unique<SafeSearch>(settings)),
      method_(make_method(settings.mode)) {}

Projection::~Projection() = default;
Projection::Projection(Projection&&) noexcept = default;
Projection& Projection::operator=(Projection&&) noexcept = default;

void Projection::inject_faults(FaultInjection faults) { search_->inject_faults(std::move(faults)); }

const ProjectionResult& Projection::project(const SafetyProblem& problem, const Knowledge& target,
                                            const Knowledge& last) {
  const auto start = std::chrono::steady_clock::now();
  search_->begin(problem, target, last);
  method_->project(*search_);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  search_->result().seconds = elapsed.count();
  return search_->finish();
}

}  // namespace lifeguard
