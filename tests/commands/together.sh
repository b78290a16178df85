#!/usr/bin/env bash
# Several processes, one file: one of them writes it, the others say so; a file that goes is missed.
source "$(dirname "$0")/support.sh"

# Twelve that begin the same run at once.
for i in {1..12}; do
  { code=0; "$lifeguard" run small.toml -o same.run --quiet >out$i 2>err$i || code=$?; echo $code >code$i; } &
done
wait
[[ $(cat code* | sort | tr -d '\n') == 011111111111 ]] || fail "codes: $(cat code*)"
for i in {1..12}; do
  [[ $(cat code$i) == 0 ]] || grep -q "another process\|exists already" err$i || fail "$(cat err$i)"
done
expect 0 "$lifeguard" check same.run --replay
[[ -z $(ls | grep 'same.run.') ]] || fail "something stays: $(ls)"

# One that goes on with what another is writing, and one that reads it.
"$lifeguard" run small.toml -o live.run "${endless[@]}" >out1 2>err1 &
writer=$!
wait_until 10 test -e live.run
sleep 0.3
expect 1 timeout 20 "$lifeguard" resume live.run
contains err "is being written by another process"
expect 1 "$lifeguard" run small.toml -o live.run
expect 0 "$lifeguard" info live.run
kill -TERM $writer
wait $writer || true
expect 0 "$lifeguard" check live.run
# A killed one's claim is gone with it.
"$lifeguard" resume live.run >out1 2>err1 &
writer=$!
sleep 0.3
kill -KILL $writer
wait $writer 2>/dev/null || true
"$lifeguard" resume live.run >out1 2>err1 &
writer=$!
sleep 0.3
kill -0 $writer || fail "cannot go on after a kill"
kill -TERM $writer
wait $writer || true

# Two comparisons into one folder: both say the truth, and no file is harmed.
for i in 1 2; do
  { code=0; "$lifeguard" compare small.toml --seeds 2 -o runs --quiet --set experiment.rounds=300 >out$i 2>err$i || code=$?; echo $code >code$i; } &
done
wait
for i in 1 2; do
  [[ $(cat code$i) == 0 ]] || grep -q "another process\|exists already" err$i || fail "$(cat err$i)"
done
expect 0 "$lifeguard" compare small.toml --seeds 2 -o runs --quiet --set experiment.rounds=300
expect 4 "$lifeguard" check runs/*.run  # only the learner is safe

# A file that is deleted or replaced is missed soon, and what replaced it stays as it is.
for how in "rm gone.run" "mv gone.run elsewhere.run" "cp small.toml new.toml; mv new.toml gone.run"; do
  rm -f gone.run* elsewhere.run*
  "$lifeguard" run small.toml -o gone.run "${endless[@]}" >out 2>err &
  writer=$!
  wait_until 10 test -e gone.run
  sleep 0.3
  bash -c "$how"
  start=$(milliseconds)
  code=0
  wait $writer || code=$?
  [[ $code == 1 ]] || fail "exit code $code after: $how"
  (($(milliseconds) - start < 3000)) || fail "noticed late: $how"
  contains err "gone.run was deleted or replaced"
done
cmp gone.run small.toml
echo "together behaves"
