#!/usr/bin/env bash
# Messages are for people: what is wrong, and what to do about it.
source "$(dirname "$0")/support.sh"

plain() {  # of err: nothing that only who wrote the program understands
  for word in std:: bad_alloc basic_ filebuf _M_ stoi what\(\) json.exception terminate core\ dumped; do
    lacks err "$word"
  done
  [[ -s err ]] || fail "no message"
}
# Slips of the fingers.
expect 2 "$lifeguard" rnu small.toml
contains err "did you mean run?"
expect 2 "$lifeguard" simulat
contains err "did you mean simulate?"
expect 2 "$lifeguard" run small.toml --sede 3
contains err "did you mean --seed?"
expect 2 "$lifeguard" compare small.toml --thread=3
contains err "did you mean --threads?"
expect 2 "$lifeguard" xyzzy
lacks err "did you mean"
for words in "" "run" "fly" "--nothing" "run small.toml too many" "resume" "check" "-o x" "run small.toml -o"; do
  # shellcheck disable=SC2086
  expect 2 "$lifeguard" $words
  contains err "--help"
  plain
done
for command in "" run resume compare reproduce check policy info project report serve figures simulate; do
  expect 0 "$lifeguard" $command --help
  contains out "Usage: lifeguard"
done
expect 0 "$lifeguard" --help
contains out "Exit codes"
contains out "5 the disk is full"

# Too much for any memory is said before it is tried, with who asks for it.
expect 2 "$lifeguard" simulate --tasks 100000 --trajectories 1000000 --steps 1000000
contains err "--tasks x --trajectories x --steps"
contains err "must fit into memory"
expect 2 "$lifeguard" run small.toml -o x.run --set experiment.trajectories=1000000 --set experiment.steps=1000000
contains err "experiment.trajectories x experiment.steps"
expect 2 "$lifeguard" compare small.toml --set experiment.trajectories=1000000 --set experiment.steps=1000000
plain
expect 2 bash -c 'ulimit -v 400000; "$0" simulate --tasks 1000 --trajectories 1000' "$lifeguard"
contains err "must fit into memory"
# What cannot be known before is said when it happens.
code=0
bash -c 'ulimit -v 200000; "$0" simulate quadrotor --tasks 5 --trajectories 1000 --steps 180 --threads 1' "$lifeguard" >out 2>err || code=$?
if [[ $code != 0 ]]; then
  [[ $code == 1 ]] || fail "exit code $code"
  contains err "not enough memory"
  plain
fi

# Values of any length are shortened, and the rule behind them is not.
python3 -c 'print("[experiment]\nrounds = [" + "1, " * 100000 + "1]\n[family]\nbase = \"mass-spring\"")' >long.toml
expect 2 "$lifeguard" run long.toml
contains err "must be an integer"
(($(wc -c <err) < 1000)) || fail "a message of $(wc -c <err) bytes"
expect 2 "$lifeguard" run small.toml --method 'a"b\c'
contains err "must be one of"
expect 2 "$lifeguard" run small.toml --set nonsense
contains err "must be key=value"
expect 2 "$lifeguard" serve --address 0.0.0.0
contains err "--token"
expect 2 "$lifeguard" serve --token ""
expect 1 "$lifeguard" serve --address 192.0.2.1 --token 0123456789abcdef --port 1
plain
# What is not JSON in a damaged run, neither.
"$lifeguard" run small.toml -o a.run --quiet >/dev/null
for change in "meta SET value = '[\"' WHERE key = 'overrides'" "tasks SET parameters = '{'" "tasks SET parameters = '{\"a\": 1}'" "safe_sets SET names = '[1]'" "experiment SET methods = '{}'"; do
  cp a.run damaged.run
  python3 -c 'import sqlite3, sys; c = sqlite3.connect("damaged.run"); c.execute("UPDATE " + sys.argv[1]); c.commit()' "$change"
  for reader in info policy report resume; do
    expect 1 "$lifeguard" $reader damaged.run
    contains err "is damaged"
    plain
  done
  expect 4 "$lifeguard" check damaged.run
  cp out err
  plain
done
echo "messages behave"
