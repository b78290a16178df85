#include "lifeguard/lifelong/learner.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <istream>
#include <ostream>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"

namespace lifeguard {

namespace {

const LearnerSettings& checked(const LearnerSettings& settings, int parameters) {
  settings.validate(parameters);
  return settings;
}

int columns(const LearnerSettings& settings, int parameters) {
  return settings.basis_size == 0 ? parameters : settings.basis_size;
}

/// An enumeration as its number, in both directions.
template <class Archive, class Enum>
void enum_field(Archive& archive, std::string_view name, Enum& value, int count) {
  int number = static_cast<int>(value);
  archive.field(name, number);
  require(number >= 0 && number < count, name, number, "must be a known choice");
  value = static_cast<Enum>(number);
}

/// The settings as they are saved and loaded.
template <class Archive>
void describe(Archive& archive, BaseLearnerSettings& s) {
  enum_field(archive, "method", s.method, 5);
  archive.field("cost_to_go", s.advantages.cost_to_go);
  archive.field("discount", s.advantages.discount);
  archive.field("trace", s.advantages.trace);
  archive.field("step_mean", s.advantages.step_mean);
  archive.field("state_baseline", s.advantages.state_baseline);
  archive.field("baseline_sweeps", s.advantages.baseline_sweeps);
  archive.field("baseline_stride", s.advantages.baseline_stride);
  archive.field("normalise", s.advantages.normalise);
  enum_field(archive, "step_rule", s.step.rule, 4);
  archive.field("size", s.step.size);
  archive.field("trust_region", s.step.trust_region);
  archive.field("decay", s.step.decay);
  enum_field(archive, "shrinkage", s.step.shrinkage, 3);
  archive.field("shrinkage_floor", s.step.shrinkage_floor);
  archive.field("line_search_trajectories", s.step.line_search_trajectories);
  archive.field("line_search_candidates", s.step.line_search_candidates);
  archive.field("line_search_effective_share", s.step.line_search_effective_share);
  enum_field(archive, "loss_scale", s.loss_scale, 2);
  archive.field("temperature", s.temperature);
  archive.field("relative_damping", s.relative_damping);
}

template <class Archive>
void describe(Archive& archive, LearnerSettings& s) {
  describe(archive, s.round.base_learner);
  archive.field("failure_horizon", s.round.adaptation.failure_horizon);
  archive.field("trust_region_per_step", s.round.adaptation.trust_region_per_step);
  archive.field("sure_noise_share", s.round.adaptation.sure_noise_share);
  archive.field("newton_limit", s.round.adaptation.newton_limit);
  archive.field("basis_size", s.basis_size);
  archive.field("zeta", s.zeta);
  enum_field(archive, "update", s.update, 2);
  archive.field("initial_share", s.linearised.initial_share);
  archive.field("share_decay", s.linearised.share_decay);
  archive.field("minimum_share", s.linearised.minimum_share);
  archive.field("own_memory", s.linearised.own_memory);
  archive.field("retreat_factor", s.linearised.retreat_factor);
  enum_field(archive, "step", s.alternation.step, 3);
  enum_field(archive, "rate", s.alternation.rate, 2);
  archive.field("rate_scale", s.alternation.rate_scale);
  archive.field("alternations", s.alternation.alternations);
  archive.field("all_coefficients", s.alternation.all_coefficients);
  archive.field("eta", s.regularisation.eta);
  archive.field("mu1", s.regularisation.mu1);
  archive.field("mu2", s.regularisation.mu2);
  archive.field("mean_weight", s.regularisation.mean_weight);
  archive.field("memory", s.memory);
  enum_field(archive, "projection", s.projection.mode, 3);
  archive.field("p", s.projection.p);
  archive.field("q", s.projection.q);
  archive.field("projection_mu1", s.projection.mu1);
  archive.field("projection_mu2", s.projection.mu2);
  archive.field("max_alternations", s.projection.max_alternations);
  archive.field("objective_tolerance", s.projection.objective_tolerance);
  archive.field("margin", s.projection.margin);
  archive.field("descend", s.projection.descend);
  archive.field("none_limits_spectrum", s.projection.none_limits_spectrum);
  archive.field("require_bounded_sets", s.require_bounded_sets);
}

bool is_finite(const Knowledge& knowledge) {
  return knowledge.basis.allFinite() && knowledge.coefficients.allFinite();
}

/// A batch's mean cost is surely no further than this many standard errors from the expected one.
constexpr double kSureErrors = 2.0;

double surely_below(const RoundLoss& loss) {
  return loss.mean_cost + kSureErrors * loss.cost_error;
}
double surely_above(const RoundLoss& loss) {
  return loss.mean_cost - kSureErrors * loss.cost_error;
}

constexpr const char* kFormat = "lifeguard learner 2";

}  // namespace

void LearnerSettings::validate(int parameters) const {
  require(basis_size >= 0 && basis_size <= parameters, "basis_size", basis_size,
          "must lie between 0 and the number of policy parameters");
  require_positive("zeta", zeta);
  round.validate();
  linearised.validate();
  alternation.validate();
  regularisation.validate();
  require(memory >= 0 && memory <= 1, "memory", memory, "must lie in [0, 1]");
}

Learner::Learner(int features, int actions, const LearnerSettings& settings)
    : PolicyLearner(features, actions, settings.round),
      settings_(checked(settings, features * actions)),
      safeguard_(settings.projection),
      knowledge_(features * actions, columns(settings, features * actions), settings.zeta),
      next_(knowledge_),
      next_loss_(features, features * actions),
      next_gradient_(features, features * actions),
      metric_factor_(features, features),
      policy_(features * actions),
      step_(features * actions),
      own_step_(features * actions),
      linearised_(features * actions, columns(settings, features * actions)),
      alternation_(features, actions, columns(settings, features * actions)) {}

Eigen::VectorXd Learner::choose_anchor_for(std::string_view id, const SafeSet& safe_set,
                                           const std::optional<Eigen::VectorXd>& given) const {
  const std::string field = fmt::format("safe set of task \"{}\"", id);
  require_size(field, safe_set.parameters(), parameters());
  if (given) require_size("anchor", given->size(), parameters());
  if (settings_.require_bounded_sets) {
    const BoundednessResult bounded = check_boundedness(safe_set);
    require(bounded.status == BoundednessStatus::bounded, field, "unbounded",
            "must be bounded, since require_bounded_sets is on");
  }
  const Anchor anchor = choose_anchor(safe_set, given);
  require(anchor.source != AnchorSource::none, field, to_string(anchor.feasibility.status),
          anchor.feasibility.message());
  return anchor.parameters;
}

void Learner::add_task(const std::string& id, const SafeSet& safe_set, double sigma,
                       const std::optional<Eigen::VectorXd>& anchor) {
  PolicyLearner::add_task(id, choose_anchor_for(id, safe_set, anchor), sigma, &safe_set);
}

void Learner::append_task(const Eigen::VectorXd& anchor, const SafeSet* safe_set) {
  safeguard_.add_task(safe_set != nullptr ? *safe_set : SafeSet(parameters()), anchor);
  // The new task starts at the mean of the known coefficients, or as close to it as is safe. What
  // is verified already, s = 0, is the point to start from.
  Knowledge last = knowledge_;
  last.add_task(anchor);
  Knowledge wanted = last;
  last.coefficients.rightCols(1).setZero();
  try {
    safeguard_.protect(last, wanted);
  } catch (...) {
    safeguard_.remove_last_task();
    throw;
  }
  next_ = wanted;
  knowledge_ = std::move(wanted);
  losses_.emplace_back(features(), parameters());
  gradients_.emplace_back(features(), parameters());
  lowest_costs_.conservativeResize(tasks() + 1);
  lowest_costs_(tasks()) = kInfinity;
  takes_part_.conservativeResize(tasks() + 1);
  takes_part_(tasks()) = 1;
  lowest_policies_.conservativeResize(parameters(), tasks() + 1);
  lowest_policies_.col(tasks()) = anchor;
}

void Learner::set_safe_set(std::string_view id, const SafeSet& safe_set,
                           const std::optional<Eigen::VectorXd>& anchor) {
  const int task = index(id);
  const Eigen::VectorXd old_anchor = knowledge_.anchors.col(task);
  const Eigen::VectorXd new_anchor =
      choose_anchor_for(id, safe_set, anchor ? anchor : std::optional(old_anchor));
  // The policy stays where it was, as far as L reaches from the new anchor and the set allows.
  Knowledge wanted = knowledge_;
  wanted.anchors.col(task) = new_anchor;
  if (new_anchor != old_anchor) {
    wanted.coefficients.col(task) +=
        wanted.basis.colPivHouseholderQr().solve(old_anchor - new_anchor);
  }
  Knowledge last = wanted;
  last.coefficients.col(task).setZero();
  const SafeSet old_set = safeguard_.safe_sets()[task];
  safeguard_.replace_task(task, safe_set, new_anchor);
  try {
    safeguard_.protect(last, wanted);
  } catch (...) {
    safeguard_.replace_task(task, old_set, old_anchor);
    throw;
  }
  knowledge_ = std::move(wanted);
}

void Learner::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  knowledge_.policy_parameters(task, alpha);
  // The knowledge was verified when it was made. This is the last look at the very numbers that
  // leave; the anchor is strictly safe whatever happened.
  if (!safeguard_.allows(task, alpha)) alpha = knowledge_.anchors.col(task);
}

RoundStatus Learner::update(int task, const RoundLoss& loss, SafeguardRecord& safeguard) {
  next_ = knowledge_;
  const RoundStatus status = settings_.update == UpdateRule::linearised
                                 ? solve_linearised(task, loss)
                                 : solve_alternating(task, loss);
  if (status != RoundStatus::ok) return status;
  safeguard = safeguard_.protect(knowledge_, next_);
  // From here on nothing can fail.
  if (surely_below(loss) < lowest_costs_(task)) {
    lowest_costs_(task) = surely_below(loss);
    knowledge_.policy_parameters(task, lowest_policies_.col(task));
  }
  std::swap(knowledge_, next_);
  if (settings_.update == UpdateRule::alternating) {
    std::swap(losses_[task], next_loss_);
  } else {
    std::swap(gradients_[task], next_gradient_);
    takes_part_(task) = next_takes_part_;
  }
  return RoundStatus::ok;
}

RoundStatus Learner::solve_linearised(int task, const RoundLoss& loss) {
  next_gradient_ = gradients_[task];
  next_takes_part_ = takes_part_(task);
  steps_.setZero(parameters(), tasks());
  knowledge_.policy_parameters(task, policy_);
  const bool led_astray = astray(task, loss);
  if (led_astray || lost(task, loss)) {
    if (!led_astray) next_takes_part_ = 0;
    next_gradient_.forget();
    steps_.col(task) =
        (led_astray ? lowest_policies_.col(task) : knowledge_.anchors.col(task)) - policy_;
  } else {
    const double share = takes_part_(task) * settings_.linearised.share(rounds(), tasks());
    step_ = loss.target - policy_;
    for (int t = 0; t < tasks(); ++t) steps_.col(t) = takes_part_(t) * share * step_;
    if (next_gradient_.add(settings_.linearised.own_memory, loss) &&
        next_gradient_.step(step_radius(loss), shrinkage_floor(), metric_factor_, own_step_)) {
      step_ = share * step_ + (1 - share) * own_step_;
    }
    steps_.col(task) = step_;
  }
  if (settings_.projection.mode != ProjectionMode::none) limit_steps(loss.curvature);
  const bool solved =
      linearised_.update(loss.curvature, steps_, task, next_) == LinearisedStatus::ok &&
      is_finite(next_);
  return solved ? RoundStatus::ok : RoundStatus::singular;
}

void Learner::limit_steps(const Eigen::MatrixXd& metric) {
  for (int t = 0; t < tasks(); ++t) {
    if (safe_sets()[t].rows() == 0) continue;
    knowledge_.policy_parameters(t, policy_);
    step_ = policy_ + steps_.col(t);
    const CoefficientPath path = metric_projection_.project(
        safe_sets()[t], knowledge_.anchors.col(t), metric, settings_.projection.margin, step_);
    if (path != CoefficientPath::inside) steps_.col(t) = step_ - policy_;
  }
}

bool Learner::far_above(double cost, double reference) const {
  return cost - reference > (settings_.linearised.retreat_factor - 1) * std::abs(reference);
}

bool Learner::astray(int task, const RoundLoss& loss) const {
  return far_above(surely_above(loss), lowest_costs_(task));
}

bool Learner::lost(int task, const RoundLoss& loss) const {
  if (takes_part_(task) == 0 || !(loss.noise_share >= 1)) return false;
  bool others = false;
  for (int t = 0; t < tasks(); ++t) {
    if (t == task || std::isinf(lowest_costs_(t))) continue;
    if (!far_above(surely_above(loss), lowest_costs_(t))) return false;
    others = true;
  }
  return others;
}

double Learner::step_radius(const RoundLoss& loss) const {
  // The base learner stepped by ½ΔᵀΓΔ = radius · shrinkage².
  const double shrinkage = std::max(shrinkage_floor(), 1 - loss.noise_share);
  double squares = 0;
  for (int start = 0; start < parameters(); start += features()) {
    const auto block = step_.segment(start, features());
    for (int j = 0; j < features(); ++j) squares += block(j) * loss.curvature.col(j).dot(block);
  }
  return 0.5 * squares / (shrinkage * shrinkage);
}

RoundStatus Learner::solve_alternating(int task, const RoundLoss& loss) {
  // q_t ← ρ q_t + l_j: the curvature adds up, and so does Γ_j α_j⁺.
  next_loss_.curvature = settings_.memory * losses_[task].curvature + loss.curvature;
  apply_curvature(loss.curvature, loss.target, next_loss_.linear);
  next_loss_.linear += settings_.memory * losses_[task].linear;
  std::swap(losses_[task], next_loss_);
  const AlternationStatus status = alternation_.update(
      settings_.alternation, settings_.regularisation, losses_, task, rounds() + 1, next_);
  std::swap(losses_[task], next_loss_);
  const bool solved = status == AlternationStatus::ok && is_finite(next_);
  return solved ? RoundStatus::ok : RoundStatus::singular;
}

void Learner::save(std::ostream& out) const {
  StateWriter writer(out);
  writer.field("format", std::string(kFormat));
  writer.field("features", features());
  writer.field("actions", actions());
  LearnerSettings settings = settings_;
  describe(writer, settings);
  writer.field("rounds", rounds());
  writer.field("tasks", tasks());
  writer.field("basis", knowledge_.basis);
  writer.field("coefficients", knowledge_.coefficients);
  writer.field("anchors", knowledge_.anchors);
  for (int t = 0; t < tasks(); ++t) {
    writer.field("task", task_states()[t].id);
    writer.field("sigma", task_states()[t].sigma);
    writer.field("visits", task_states()[t].visits);
    writer.field("curvature", losses_[t].curvature);
    writer.field("linear", losses_[t].linear);
    writer.field("gradient", gradients_[t].gradient);
    writer.field("metric", gradients_[t].metric);
    writer.field("weight", gradients_[t].weight);
    writer.field("noise", gradients_[t].noise);
    writer.field("takes_part", takes_part_(t) != 0);
    writer.field("lowest_cost", lowest_costs_(t));
    writer.field("lowest_policy", Eigen::VectorXd(lowest_policies_.col(t)));
    write_safe_set(writer, safe_sets()[t]);
  }
}

Learner Learner::load(std::istream& in) {
  StateReader reader(in);
  std::string format;
  reader.field("format", format);
  require(format == kFormat, "format", format, "must be \"lifeguard learner 2\"");
  int features = 0;
  int actions = 0;
  reader.field("features", features);
  reader.field("actions", actions);
  LearnerSettings settings;
  describe(reader, settings);
  Learner learner(features, actions, settings);
  long rounds = 0;
  int tasks = 0;
  reader.field("rounds", rounds);
  reader.field("tasks", tasks);
  require(rounds >= 0, "rounds", static_cast<double>(rounds), "must not be negative");
  require(tasks >= 0, "tasks", tasks, "must not be negative");
  Knowledge knowledge;
  reader.field("basis", knowledge.basis);
  reader.field("coefficients", knowledge.coefficients);
  reader.field("anchors", knowledge.anchors);
  knowledge.validate();
  require_size("basis (rows)", knowledge.parameters(), learner.parameters());
  require_size("basis (columns)", knowledge.basis_size(), columns(settings, learner.parameters()));
  require_size("coefficients (columns)", knowledge.tasks(), tasks);
  learner.takes_part_.resize(tasks);
  learner.lowest_costs_.resize(tasks);
  learner.lowest_policies_.resize(learner.parameters(), tasks);
  std::vector<TaskState> states;
  for (int t = 0; t < tasks; ++t) {
    TaskState& state = states.emplace_back();
    SummedLoss& loss = learner.losses_.emplace_back();
    GradientMemory& gradient = learner.gradients_.emplace_back();
    reader.field("task", state.id);
    reader.field("sigma", state.sigma);
    reader.field("visits", state.visits);
    reader.field("curvature", loss.curvature);
    reader.field("linear", loss.linear);
    reader.field("gradient", gradient.gradient);
    reader.field("metric", gradient.metric);
    reader.field("weight", gradient.weight);
    reader.field("noise", gradient.noise);
    bool takes_part = true;
    reader.field("takes_part", takes_part);
    learner.takes_part_(t) = takes_part ? 1 : 0;
    reader.field("lowest_cost", learner.lowest_costs_(t));
    Eigen::VectorXd lowest_policy;
    reader.field("lowest_policy", lowest_policy);
    require_size("lowest_policy", lowest_policy.size(), learner.parameters());
    learner.lowest_policies_.col(t) = lowest_policy;
    require(!std::isnan(learner.lowest_costs_(t)), "lowest_cost", learner.lowest_costs_(t),
            "must be a number");
    require_positive("sigma", state.sigma);
    require(state.visits >= 0, "visits", static_cast<double>(state.visits), "must not be negative");
    require(loss.curvature.rows() == features && loss.curvature.cols() == features, "curvature",
            static_cast<double>(loss.curvature.rows()), "must have one row for each feature");
    require_size("linear", loss.linear.size(), learner.parameters());
    require(gradient.metric.rows() == features && gradient.metric.cols() == features, "metric",
            static_cast<double>(gradient.metric.rows()), "must have one row for each feature");
    require_size("gradient", gradient.gradient.size(), learner.parameters());
    require_not_negative("weight", gradient.weight);
    require_not_negative("noise", gradient.noise);
    learner.safeguard_.add_task(read_safe_set(reader, learner.parameters()),
                                knowledge.anchors.col(t));
  }
  learner.restore_tasks(std::move(states), rounds);
  if (settings.projection.mode != ProjectionMode::none) {
    const Certificate certificate = learner.safeguard_.certify(knowledge);
    for (int t = 0; t < tasks; ++t) {
      require(certificate.tasks[t].safe(), fmt::format("policy of task {}", t), "unsafe",
              fmt::format("must obey \"{}\"", certificate.tasks[t].worst_row_name));
    }
    require(certificate.spectrum_holds, "basis", "spectrum", "must lie between p and q");
  }
  learner.knowledge_ = knowledge;
  learner.next_ = std::move(knowledge);
  return learner;
}

void Learner::read_state(std::istream& in) {
  Learner loaded = load(in);
  require(loaded.settings_ == settings_, "settings", "(others)", "must be those of this learner");
  require(loaded.features() == features() && loaded.actions() == actions() &&
              loaded.safe_sets() == safe_sets(),
          "tasks", "(others)", "must be those of this learner");
  for (int t = 0; t < tasks(); ++t) {
    require(loaded.task_states()[t].id == task_states()[t].id, "task", loaded.task_states()[t].id,
            fmt::format("must be \"{}\"", task_states()[t].id));
  }
  *this = std::move(loaded);
}

}  // namespace lifeguard
