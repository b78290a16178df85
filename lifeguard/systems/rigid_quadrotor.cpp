#include "lifeguard/systems/rigid_quadrotor.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/acceleration_inclusion.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/interval.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard {

TaskSettings RigidQuadrotor::default_settings() {
  TaskSettings s = Quadrotor::default_settings();
  // Far from a pitch of π/2, where the angles end.
  s.failure_bounds.head(2).setConstant(1.2);
  return s;
}

RigidQuadrotor::operator System() const { return built_in(*this); }

std::vector<Family> RigidQuadrotor::families() {
  return {make_family(std::string(kName), RigidQuadrotor{}, quadrotor_family().ranges)};
}

LinearModel RigidQuadrotor::linearise(const Eigen::VectorXd& goal) const {
  const double sine = std::sin(goal(0)), cosine = std::cos(goal(0));
  const double tangent = std::tan(goal(1)), secant = 1 / std::cos(goal(1));
  LinearModel model = Quadrotor::linearise();
  model.a.topRightCorner(3, 3) << 1, sine * tangent, cosine * tangent,  //
      0, cosine, -sine,                                                 //
      0, sine * secant, cosine * secant;
  return model;
}

namespace {

using AngleMatrix = std::array<std::array<Interval, 3>, 3>;

/// The difference between the rates of the angles and those of the body, as a matrix on the latter,
/// for all angles up to these.
AngleMatrix kinematics_beyond_identity(double roll, double pitch) {
  const auto around_zero = [](double radius) { return Interval(-radius, radius); };
  const double sine = std::sin(roll), cosine = std::cos(roll);
  const double secant = 1 / std::cos(pitch);
  AngleMatrix e{};
  e[0][1] = around_zero(sine * std::tan(pitch));
  e[0][2] = around_zero(std::tan(pitch));
  e[1][1] = {cosine - 1, 0};
  e[1][2] = around_zero(sine);
  e[2][1] = around_zero(sine * secant);
  e[2][2] = {cosine - 1, secant - 1};
  return e;
}

/// The channels of a plant while it is being made: of those with the same factors that push the
/// same state, one.
class Channels {
 public:
  Channels(Eigen::Index states, Eigen::Index actions) : states_(states), actions_(actions) {}

  void add(Eigen::Index pushed, const Eigen::RowVectorXd& state_factor,
           const Eigen::RowVectorXd& action_factor, double radius) {
    if (radius == 0) return;
    for (Channel& known : list_) {
      if (known.pushed == pushed && known.state_factor == state_factor &&
          known.action_factor == action_factor) {
        known.radius += radius;
        return;
      }
    }
    list_.push_back({pushed, state_factor, action_factor, radius});
  }

  void append_to(UncertainPlant& plant) const {
    Eigen::Index next = plant.spreads.cols();
    const Eigen::Index all = next + static_cast<Eigen::Index>(list_.size());
    plant.spreads.conservativeResize(states_, all);
    plant.state_factors.conservativeResize(all, states_);
    plant.action_factors.conservativeResize(all, actions_);
    for (const Channel& channel : list_) {
      plant.spreads.col(next) = channel.radius * Eigen::VectorXd::Unit(states_, channel.pushed);
      plant.state_factors.row(next) = channel.state_factor;
      plant.action_factors.row(next) = channel.action_factor;
      ++next;
    }
  }

 private:
  struct Channel {
    Eigen::Index pushed;
    Eigen::RowVectorXd state_factor;
    Eigen::RowVectorXd action_factor;
    double radius;
  };
  Eigen::Index states_;
  Eigen::Index actions_;
  std::vector<Channel> list_;
};

/// What turns the angles: a body rate, of the old state or of the new one, as the plant of the
/// simple model knows it. Times any number in ±radius it pushes an angle.
void add_uncertain_push(const UncertainPlant& simple, bool new_rates, int angle, int rate,
                        double radius, Channels& channels) {
  const Eigen::Index row = 3 + rate;
  const Eigen::Index n = simple.states(), m = simple.actions();
  const Eigen::RowVectorXd no_state = Eigen::RowVectorXd::Zero(n);
  const Eigen::RowVectorXd no_action = Eigen::RowVectorXd::Zero(m);
  if (!new_rates) {
    channels.add(angle, Eigen::RowVectorXd::Unit(n, row), no_action, radius);
    return;
  }
  // The new rate is a mean of the corners' rows, which lies about their centre, and the channels'
  // parts.
  Eigen::RowVectorXd a_low = simple.corners.front().a.row(row), a_high = a_low;
  Eigen::RowVectorXd b_low = simple.corners.front().b.row(row), b_high = b_low;
  for (const UncertainPlant::Corner& corner : simple.corners) {
    a_low = a_low.cwiseMin(corner.a.row(row));
    a_high = a_high.cwiseMax(corner.a.row(row));
    b_low = b_low.cwiseMin(corner.b.row(row));
    b_high = b_high.cwiseMax(corner.b.row(row));
  }
  channels.add(angle, 0.5 * (a_low + a_high), 0.5 * (b_low + b_high), radius);
  for (Eigen::Index s = 0; s < n; ++s) {
    channels.add(angle, Eigen::RowVectorXd::Unit(n, s), no_action,
                 radius * 0.5 * (a_high(s) - a_low(s)));
  }
  for (Eigen::Index a = 0; a < m; ++a) {
    channels.add(angle, no_state, Eigen::RowVectorXd::Unit(m, a),
                 radius * 0.5 * (b_high(a) - b_low(a)));
  }
  for (int j = 0; j < simple.channels(); ++j) {
    channels.add(angle, simple.state_factors.row(j), simple.action_factors.row(j),
                 radius * std::fabs(simple.spreads(row, j)));
  }
}

}  // namespace

UncertainPlant RigidQuadrotor::inclusion(const TaskSettings& task,
                                         const InclusionSettings& settings) const {
  std::array<double, 2> tilt{};
  for (const int angle : {0, 1}) {
    require(task.goal(angle) == 0, indexed("goal", angle), task.goal(angle),
            "must be 0: the inclusion is about a level attitude");
    const double limit = limit_for_coefficients(settings, settings.state_limits(angle));
    require(limit < std::numbers::pi / 2, indexed("state_limits", angle), limit,
            "must be below π/2, where the angles end, for a statement about the nonlinear machine");
    tilt[static_cast<std::size_t>(angle)] = limit;
  }
  // The simple model's step has the new body rates. Its angles turn at the body's rates; what the
  // kinematics E(φ, θ) add to that is dt (E - 1) times these rates: its centre is known, and its
  // radius makes channels.
  const UncertainPlant simple = Quadrotor::inclusion(task, settings);
  const AngleMatrix beyond = kinematics_beyond_identity(tilt[0], tilt[1]);
  const bool new_rates = task.integrator == Integrator::semi_implicit_euler;
  Eigen::Matrix3d centre;
  for (Eigen::Index i = 0; i < 3; ++i) {
    for (Eigen::Index k = 0; k < 3; ++k) {
      centre(i, k) = beyond[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)].centre();
    }
  }
  centre *= task.dt_seconds;
  UncertainPlant plant = simple;
  for (UncertainPlant::Corner& corner : plant.corners) {
    if (new_rates) {
      corner.a.topRows(3) += centre * corner.a.bottomRows(3);
      corner.b.topRows(3) += centre * corner.b.bottomRows(3);
    } else {
      corner.a.topRightCorner(3, 3) += centre;
    }
  }
  if (new_rates) plant.spreads.topRows(3) += centre * simple.spreads.bottomRows(3);
  Channels channels(kStates, kActions);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      const Interval& entry = beyond[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
      add_uncertain_push(simple, new_rates, i, k, task.dt_seconds * entry.radius(), channels);
    }
  }
  channels.append_to(plant);
  return plant;
}

}  // namespace lifeguard
