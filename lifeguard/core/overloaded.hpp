#pragma once

namespace lifeguard {

/// One visitor out of several functions. std::visit with it and without an `auto` that takes
/// everything does not compile until every alternative has its function.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace lifeguard
