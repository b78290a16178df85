#!/usr/bin/env bash
# The command with systems that are not built in, from a configuration to every kind of result; and
# what the plain command, which does not know them, makes of their run files.
#   tests/own_command.sh EXAMPLE_OWN_COMMAND LIFEGUARD
set -euo pipefail
own=$1
plain=$2
here=$(cd "$(dirname "$0")" && pwd)
config=$here/../examples/pendulum.toml
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

# A fleet of the other one: robots that balance, with closed loops, played and from outside.
cp "$here/../examples/balancing_robots.toml" robots.toml
"$own" validate robots.toml >out
contains out "3 machines, 3 can be used"
contains out "for the linear machine, 100 % of the start box"
"$own" run robots.toml -o played.run --quiet --json >out
contains out '"falls": 0'
contains out '"unsafe_policies": 0'
"$own" check played.run --replay >out
contains out "all holds"
"$own" report played.run --json >out
contains out '"system":"balancing-robot","drawing":"","signals":[{"name":"body angle","unit":"rad"},'
"$own" report played.run -o robots.html
"$own" policy played.run --task drinks --c-header drinks.h --header drinks.hpp
contains drinks.h "in_guaranteed_region"
printf '#include "drinks.h"\nint main(void) { return 0; }\n' >use.c
"${CC:-cc}" -std=c99 -Wall -Werror -Wno-unused-function -fsyntax-only use.c
"$own" simulate robots.toml >out
contains out "3 machines, 50 trajectories of 200 steps"
"$own" policy robots.toml --machine drinks >policy.json
PYTHONPATH=$here/fleets python3 -B -c '
import json, machine
machine.record_any("flights.jsonl", json.load(open("policy.json")), steps=200, count=6)'
"$own" observe robots.toml --machine drinks flights.jsonl --id first >out
contains out "drinks: round 1"
"$own" check robots.run >out
contains out "all holds"
# The plain command shows them all and checks what nobody has to play.
for run in a played robots; do
  "$plain" info $run.run >out
  grep -q "  states      \(angle from upright\|body angle\)" out || { cat out >&2; exit 1; }
  "$own" info $run.run | cmp - out
  "$plain" report $run.run -o plain-$run.html
  "$plain" figures $run.run -o figures-$run --svg-only --json >out
  contains out '.svg'
  "$plain" check $run.run >out
  contains out "$run.run: all that can be checked here holds"
  contains out "each against its constraints in exact arithmetic"
  contains out "every row and the state, against their checksums"
  contains out "  not checked: "
  python3 - $run.run damaged.run <<'END'
import shutil, sqlite3, sys
shutil.copyfile(*sys.argv[1:])
with sqlite3.connect(sys.argv[2]) as database:
    database.execute("UPDATE rounds SET visit = visit + 1 WHERE round = (SELECT max(round) FROM rounds)")
END
  code=0
  "$plain" check damaged.run >out || code=$?
  [ $code = 4 ]
  contains out "damaged.run: DOES NOT HOLD"
done
"$plain" report a.run --json >out
contains out '"system":"pendulum","drawing":"","signals":[{"name":"angle from upright","unit":"rad"},'
"$plain" report played.run --json >out
contains out '"name":"body angle","unit":"rad"'
contains out '"title":"Guaranteed region of '
if grep -q 'trajectories of the last policy' out; then exit 1; fi
"$own" report played.run --json >out
contains out '6 trajectories of the last policy'
"$own" policy a.run --task 1 >own.json
"$plain" policy a.run --task 1 --json --header plain.hpp | cmp - own.json
cmp policy.hpp plain.hpp
"$own" policy played.run --task drinks >own.json
"$plain" policy played.run --task drinks | cmp - own.json
# What must be played says what it lacks, and that is no verdict; nor is one on older files, which
# do not say what their system is.
refuses() {  # ARGUMENT...
  code=0
  "$plain" "$@" >out 2>err || code=$?
  [ $code = 1 ] || { echo "$*: ended with $code" >&2; cat out err >&2; exit 1; }
  contains err 'this program does not know'
  contains err '"pendulum"'
}
refuses check a.run --replay
refuses info "$here/data/runs/schema7-own.run"
refuses check "$here/data/runs/schema7-own.run"
"$own" check "$here/data/runs/schema7-own.run" >out
contains out "all holds"
# Its starts are its own: a region that does not hold them is refused, not promised.
if "$own" run robots.toml -o small.run --set safe_set.closed_loop.start_share=0.3 \
  --set 'safe_set.closed_loop.state_limits=[0.05, 0.5, 0.3, 0.5]' 2>err; then exit 1; fi
contains err "must lie in the guaranteed region"
echo "a system of one's own is like any other"
