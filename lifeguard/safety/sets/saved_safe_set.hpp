#pragma once

#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// A safe set of policies with so many parameters. One without rows is all of them.
void write_safe_set(StateWriter& writer, const SafeSet& set);
SafeSet read_safe_set(StateReader& reader, int parameters);

/// One of its matrix inequalities.
void write_inequality(StateWriter& writer, const GainInequality& inequality);
GainInequality read_inequality(StateReader& reader);

/// All matrix inequalities of a set alone, and the set with those that were written.
void write_inequalities(StateWriter& writer, const SafeSet& set);
SafeSet read_inequalities(StateReader& reader, const SafeSet& rows);

}  // namespace lifeguard
