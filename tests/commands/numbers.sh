#!/usr/bin/env bash
# Every number on the command line has a range, and nothing outside of it means something else.
source "$(dirname "$0")/support.sh"

"$lifeguard" run small.toml -o a.run --quiet >/dev/null
# refused OPTION RULE COMMAND...: with what is no number in its range; thoroughly once, since all
# options are read by the same code, if they are.
refused() {
  local option=$1 rule=$2
  shift 2
  for value in -1 99999999999999999999 1e3 nan; do
    expect 2 "$lifeguard" "$@" "$option=$value"
    contains err "$option = \"$value\": must be a whole number from $rule"
    [[ ! -s out ]] || fail "there is output"
  done
}
thoroughly() {
  local option=$1 rule=$2
  shift 2
  for value in -1 -99999999999999999999 99999999999999999999 1e18 1e3 0x10 1.5 nan inf -nan true " " "1 " +1 1,000 ٣ one; do
    expect 2 "$lifeguard" "$@" "$option=$value"
    contains err "$option = \"$value\": must be a whole number from $rule"
    [[ ! -s out ]] || fail "there is output"
  done
  expect 2 "$lifeguard" "$@" "$option" -1
  expect 2 "$lifeguard" "$@" "$option" ""
  contains err "$option = \"\": must be a whole number"
  expect 2 "$lifeguard" "$@" "$option="
  expect 2 "$lifeguard" "$@" "$option" --json
}
thoroughly --seed "0 to 2147483647" run small.toml -o b.run
refused --seeds "1 to 10000" compare small.toml
refused --threads "0 to 1024" compare small.toml
refused --seeds "1 to 10000" reproduce
refused --threads "0 to 1024" reproduce
refused --tasks "1 to 100000" simulate
refused --trajectories "1 to 1000000" simulate
refused --steps "1 to 1000000" simulate
refused --seed "0 to 18446744073709551615" simulate
refused --threads "0 to 1024" simulate
refused --port "0 to 65535" serve
refused --task "0 to 99999" figures a.run
refused --alternations "1 to 100000" project small.toml
for words in "compare small.toml --seeds" "reproduce --seeds" "simulate --tasks" "simulate --trajectories" "simulate --steps" "project small.toml --alternations"; do
  # shellcheck disable=SC2086
  expect 2 "$lifeguard" $words 0
done
expect 2 "$lifeguard" serve --port 65536
expect 2 "$lifeguard" figures a.run --svg-only --task 3  # there are 0, 1 and 2
expect 2 "$lifeguard" run small.toml -o b.run --seed 2147483648
expect 2 "$lifeguard" policy a.run --task -1
expect 2 "$lifeguard" policy a.run --task 3
expect 2 "$lifeguard" policy a.run --task ""
expect 2 "$lifeguard" compare small.toml --seeds 2 --set experiment.seed=2147483647
contains err "experiment.seed"
expect 2 "$lifeguard" run small.toml -o b.run --seed 1 --seed 2
[[ ! -e b.run ]] || fail "b.run was written"

# The ends of a range are in it.
expect 0 "$lifeguard" run small.toml -o b.run --seed 2147483647 --quiet
expect 0 "$lifeguard" simulate mass-spring --tasks 1 --trajectories 1 --steps 1 --seed 18446744073709551615
expect 0 "$lifeguard" compare small.toml --seeds 1 --threads 1024 --set experiment.rounds=2 --quiet
# An option takes one value; what follows is an argument.
expect 0 "$lifeguard" run -o c.run --set experiment.rounds=2 small.toml --quiet
contains out "2 of 2 rounds"
echo "numbers behave"
