#!/usr/bin/env bash
# One signal stops any command within a second, wherever it is; what takes long gives signs of life.
source "$(dirname "$0")/support.sh"

# The test allows for a busy computer what the command does not allow itself.
limit=1500
watching() { grep -q '^SigBlk:.*[1-9a-f]' "/proc/$1/status"; }
# stops CODE SIGNAL AFTER COMMAND...: the signal is sent so many seconds after it began, or as soon as
# the file AFTER is there.
stops() {
  local wanted=$1 signal=$2 after=$3 code=0 start took
  shift 3
  "$@" >out 2>err &
  local child=$!
  wait_until 10 watching $child
  if [[ $after == *.run ]]; then wait_until 10 test -e "$after"; else sleep "$after"; fi
  kill -0 $child 2>/dev/null || fail "ended before it was stopped: $*"
  kill -"$signal" $child
  start=$(milliseconds)
  wait $child || code=$?
  took=$(($(milliseconds) - start))
  [[ $code == "$wanted" ]] || fail "exit code $code after SIG$signal: $*"
  ((took < limit)) || fail "took $took ms to stop: $*"
}
many=(--set experiment.tasks=100000)
slow=(--set evaluation.start_states=1000000 --set evaluation.regret=false)

# In the middle of setting up: there is no run yet.
stops 3 TERM 0.5 "$lifeguard" run small.toml -o many.run "${many[@]}"
contains err "begins again"
[[ ! -e many.run ]] || fail "there is a run"
# In the middle of rounds, each of which is short, or of one that is not.
stops 3 INT endless.run "$lifeguard" run small.toml -o endless.run "${endless[@]}"
contains err "\`lifeguard resume endless.run\` goes on"
stops 3 TERM 0.5 "$lifeguard" resume endless.run
stops 3 HUP 0.5 "$lifeguard" resume endless.run
expect 0 "$lifeguard" check endless.run
stops 3 INT 0.5 "$lifeguard" resume endless.run
contains out "of 10000000 rounds"
stops 3 TERM slow.run "$lifeguard" run small.toml -o slow.run "${slow[@]}"
contains err "\`lifeguard resume slow.run\` goes on"
stops 3 TERM 0.5 "$lifeguard" resume slow.run
# Comparisons, with all of their workers.
stops 3 TERM 0.5 "$lifeguard" compare small.toml "${endless[@]}" --threads 3
contains err "--out"
stops 3 TERM 0.5 "$lifeguard" compare small.toml "${endless[@]}" --threads 3 -o kept
contains err "the same command goes on"
stops 3 TERM 0.5 "$lifeguard" compare small.toml "${endless[@]}" --threads 3 -o kept
for file in kept/*.run; do expect 0 "$lifeguard" info "$file"; done
stops 3 TERM 0.5 "$lifeguard" compare small.toml --seeds 10000
stops 3 TERM 0.5 "$lifeguard" compare small.toml "${many[@]}"
stops 3 TERM 0.5 "$lifeguard" reproduce -o reproduction
# What only reads or computes.
stops 3 TERM 0.2 "$lifeguard" check endless.run --replay
stops 3 TERM 0.3 "$lifeguard" simulate quadrotor --tasks 100000 --trajectories 2 --steps 1
mkfifo idle
exec 8<>idle  # open, and nothing comes
stops 3 TERM 0.3 bash -c 'exec "$0" project - <idle' "$lifeguard"
exec 8<&-
# The server, also with somebody connected who says nothing.
stops 0 TERM 0.3 "$lifeguard" serve . --port 0
"$lifeguard" serve . --port 0 >address 2>err &
server=$!
wait_until 5 test -s address
port=$(sed 's|.*:\([0-9]*\)/|\1|' address)
exec 9<>"/dev/tcp/127.0.0.1/$port"
start=$(milliseconds)
kill -TERM $server
code=0
wait $server || code=$?
[[ $code == 0 ]] || fail "serve ended with $code"
(($(milliseconds) - start < limit)) || fail "serve takes too long to stop"
exec 9<&-
# A second signal does not wait.
"$lifeguard" run small.toml -o twice.run "${slow[@]}" >out 2>err &
child=$!
wait_until 10 test -e twice.run
kill -TERM $child
kill -INT $child
start=$(milliseconds)
wait $child || true
(($(milliseconds) - start < 500)) || fail "a second signal waits"

# Signs of life while a hundred thousand tasks are drawn and their sets built, in plain lines.
"$lifeguard" run small.toml -o many.run "${many[@]}" >out 2>err &
child=$!
wait_until 10 grep -q "safe sets\|learner" err
kill -TERM $child
wait $child || true
contains err "/100000"
lacks err $'\r'
# None for --quiet, and none for what takes no time.
stops 3 TERM 1.5 "$lifeguard" run small.toml -o many.run "${many[@]}" --quiet
lacks err "/100000"
expect 0 "$lifeguard" run small.toml -o quick.run
lacks err "drawing"
contains err "40/40"
echo "stopping behaves"
