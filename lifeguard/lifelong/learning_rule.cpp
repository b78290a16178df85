#include "lifeguard/lifelong/learning_rule.hpp"

#include "lifeguard/lifelong/alternating_rule.hpp"
#include "lifeguard/lifelong/coupled_keeper.hpp"
#include "lifeguard/lifelong/empirical_bayes_rule.hpp"
#include "lifeguard/lifelong/knowledge_keeper.hpp"
#include "lifeguard/lifelong/leader_rule.hpp"
#include "lifeguard/lifelong/linearised_rule.hpp"

namespace lifeguard {

std::unique_ptr<LearningRule> make_learning_rule(const LearnerSettings& settings, int features,
                                                 int actions) {
  switch (settings.update) {
    case UpdateRule::linearised:
      return std::make_unique<LinearisedRule>(settings, features, actions);
    case UpdateRule::alternating:
      return std::make_unique<AlternatingRule>(settings, features, actions);
    case UpdateRule::leader:
      return std::make_unique<LeaderRule>(settings, features, actions);
    case UpdateRule::empirical_bayes:
      break;  // a keeper of its own
  }
  return nullptr;
}

std::unique_ptr<KnowledgeKeeper> make_keeper(const LearnerSettings& settings, int features,
                                             int actions) {
  if (settings.update == UpdateRule::empirical_bayes) {
    return std::make_unique<EmpiricalBayesRule>(settings, features, actions);
  }
  return std::make_unique<CoupledKeeper>(settings, features, actions);
}

}  // namespace lifeguard
