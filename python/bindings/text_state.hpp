#pragma once

#include <sstream>
#include <string>

#include "lifeguard/core/saved_state.hpp"

namespace lifeguard::python {

/// What write(StateWriter&) writes, as text; and what read(StateReader&) makes of such a text.
template <class Write>
std::string written_state(const Write& write) {
  std::ostringstream out;
  StateWriter writer(out);
  write(writer);
  return out.str();
}

template <class Read>
auto read_state(const std::string& text, const Read& read) {
  std::istringstream in(text);
  StateReader reader(in);
  return read(reader);
}

}  // namespace lifeguard::python
