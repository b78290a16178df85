#!/usr/bin/env bash
# The command with a system that is not built in, from a configuration to every kind of result.
#   tests/own_command.sh EXAMPLE_OWN_COMMAND
set -euo pipefail
own=$1
config=$(cd "$(dirname "$0")/.." && pwd)/examples/pendulum.toml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

contains() {  # FILE TEXT
  grep -qF -- "$2" "$1" || { echo "no \"$2\" in $1:" >&2; head -c 2000 "$1" >&2; exit 1; }
}

"$own" run "$config" -o a.run --set experiment.rounds=20 --quiet
"$own" check a.run --replay >out
contains out "all holds"
"$own" report a.run --json >out
contains out '"system":"pendulum"'
contains out '"angle from upright"'
"$own" report a.run -o report.html
"$own" policy a.run --task 1 --header policy.hpp
contains policy.hpp "kFeatures = 3"
echo '#include "policy.hpp"' >use.cpp
"${CXX:-c++}" -std=c++17 -Wall -Werror -fsyntax-only use.cpp
"$own" simulate pendulum --tasks 2 >out
contains out "Varied from task to task: mass, length"
"$own" info >out
contains out "pendulum"
if "$own" run "$config" -o b.run --set family.base=boat 2>err; then exit 1; fi
contains err '"pendulum"'
echo "a system of one's own is like any other"
