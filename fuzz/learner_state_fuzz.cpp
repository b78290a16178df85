// Whatever bytes are given as the state of a learner, of any method, or of a regret ledger: they
// are refused with InvalidInput and change nothing, or they are read, and then written to the same
// text whenever they are read again. The policies of a safe learner that was read are safe, by the
// checker in exact arithmetic.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard::learner_state_fuzz {

constexpr int kFeatures = 2;
constexpr int kActions = 1;
// What is tried is what is read. A ledger looks for a policy inside every safe set it reads, and
// what was read is written, read again and checked in exact arithmetic; both take ten times as
// long: of so many inputs one goes through it, chosen by its bytes.
constexpr std::size_t kLedgerShare = 64;
constexpr std::size_t kAgainShare = 16;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "learner_state_fuzz: %s\n", what);
  std::abort();
}

template <class Saved>
std::string saved(const Saved& value) {
  std::ostringstream out;
  value.save(out);
  return out.str();
}

template <class Saved>
Saved loaded(const std::string& text) {
  std::istringstream in(text);
  return Saved::load(in);
}

void require_safe(const Learner& learner) {
  if (learner.settings().projection.mode == ProjectionMode::none) return;
  Eigen::VectorXd alpha(learner.parameters());
  for (int t = 0; t < learner.tasks(); ++t) {
    learner.policy_parameters(t, alpha);
    if (!check_policy(learner.safe_sets()[static_cast<std::size_t>(t)], alpha).empty()) {
      fail("an unsafe policy was read");
    }
  }
  if (learner.fallbacks() > 0) fail("what was verified is refused when it is handed out");
}

template <class Saved>
void try_to_load(const std::string& text, bool again_as_well) {
  try {
    const Saved value = loaded<Saved>(text);
    if (!again_as_well) return;
    if constexpr (std::is_same_v<Saved, Learner>) require_safe(value);
    const std::string again = saved(value);
    if (saved(loaded<Saved>(again)) != again) fail("what was read is written differently");
  } catch (const InvalidInput&) {
    // What the documentation says of a file that save() did not write.
  }
}

std::string state_of(const PolicyLearner& learner) {
  std::ostringstream out;
  learner.write_state(out);
  return out.str();
}

void try_to_read(const Methods& methods, std::string_view method, const std::string& text) {
  const std::unique_ptr<PolicyLearner> learner = make_learner(methods, method, kFeatures, kActions);
  learner->add_task("one", Eigen::Vector2d(0.5, -0.5), 0.5);
  learner->add_task("two", Eigen::Vector2d(0.25, 1), 0.5);
  const std::string before = state_of(*learner);
  try {
    std::istringstream in(text);
    learner->read_state(in);
    Eigen::VectorXd alpha(learner->parameters());
    for (int t = 0; t < learner->tasks(); ++t) learner->policy_parameters(t, alpha);
  } catch (const InvalidInput&) {
    if (state_of(*learner) != before) fail("a state that was refused changed the learner");
  }
}

void try_input(const std::string& text) {
  static const Methods methods;
  const std::size_t number = std::hash<std::string>{}(text);
  if (text.starts_with("learner ")) {
    for_each_method(methods, [&](const auto& settings) {
      if (text.starts_with("learner " + std::string(settings.kMethod) + "\n")) {
        try_to_read(methods, settings.kMethod, text);
      }
    });
  } else if (text.starts_with("format lifeguard learner")) {
    try_to_load<Learner>(text, number % kAgainShare == 0);
  } else if (number % kLedgerShare == 0) {
    try_to_load<RegretLedger>(text, true);
  }
}

}  // namespace lifeguard::learner_state_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lifeguard::learner_state_fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
