#!/usr/bin/env bash
# The command as scripts see it: a run and all that reads one, and what a signal does to it.
source "$(dirname "$0")/support.sh"

# A run, and everything that reads one.
expect 0 "$lifeguard" run small.toml -o a.run
expect 0 "$lifeguard" check a.run --replay
contains out "all holds"
expect 0 "$lifeguard" info a.run --json
contains out '"theorem"'
expect 0 "$lifeguard" policy a.run --task 1 --header policy.hpp
echo '#include "policy.hpp"' >use.cpp
expect 0 "${CXX:-c++}" -std=c++17 -Wall -Werror -fsyntax-only use.cpp
expect 0 "$lifeguard" report a.run -o report.html
contains report.html "<html"
expect 0 "$lifeguard" figures a.run -o figures --svg-only --json --task 2
contains out '"figures/small-safe-region-learner.svg"'
contains figures/small-safe-region-learner.svg "Safe region of mass-spring 2"
contains figures/small-cost-log.svg "Cost against rounds"
expect 2 "$lifeguard" figures a.run -o figures --svg-only --task 3
expect 1 "$lifeguard" run small.toml -o a.run  # it is there already
contains err "exists already"

# What is not valid says where, and ends with 2.
sed 's/rounds = 40/round = 40/' small.toml >typo.toml
expect 2 "$lifeguard" run typo.toml -o b.run
contains err "typo.toml:3"
contains err "round"
expect 2 "$lifeguard" run small.toml -o b.run --set experiment.rounds=none
expect 2 "$lifeguard" run missing.toml -o b.run
expect 2 "$lifeguard" fly
expect 2 "$lifeguard" check typo.toml
contains err "is not a run file"

# Ctrl-C stops with 3; resume goes on to the same bits, and says so when there is nothing left.
expect 0 "$lifeguard" run small.toml -o whole.run --set experiment.rounds=20000 --set evaluation.regret=false
"$lifeguard" run small.toml -o parts.run --set experiment.rounds=20000 --set evaluation.regret=false >out 2>err &
child=$!
until [[ -e parts.run ]]; do sleep 0.01; done
sleep 0.1
kill -INT "$child"
code=0
wait "$child" || code=$?
[[ $code == 3 ]] || { echo "exit code $code after SIGINT" >&2; exit 1; }
expect 0 "$lifeguard" resume parts.run
expect 0 "$lifeguard" resume parts.run
contains err "is finished"
contains out "20000 of 20000 rounds"
expect 0 "$lifeguard" policy parts.run
cp out parts.json
expect 0 "$lifeguard" policy whole.run
sed -i 's/whole.run/parts.run/' out
cmp out parts.json

# The projection of a problem given as data: L s <= 2 from (2, 2.5), whose optimum is 1.25 by hand.
cat >problem.json <<'JSON'
{"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [[2]],
 "tasks": [{"name": "one", "A": [[1]], "b": [2], "anchor": [0], "s": [2.5]}]}
JSON
expect 0 "$lifeguard" project problem.json
contains out '"status": "converged"'
contains out '"objective": 1.25'
expect 0 "$lifeguard" project - <problem.json
sed 's/"b": \[2\]/"b": [2, 3]/' problem.json >wrong.json
expect 2 "$lifeguard" project wrong.json
expect 2 "$lifeguard" project missing.json
echo '{' >broken.json
expect 2 "$lifeguard" project broken.json
echo "runs behave"
