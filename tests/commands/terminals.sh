#!/usr/bin/env bash
# Terminals of any kind, and none.
source "$(dirname "$0")/support.sh"

# on_terminal SETTINGS COMMAND: all that it writes to a terminal, in out.
on_terminal() {
  local code=0
  script --quiet --return --echo never --command "stty $1; $2" /dev/null >out 2>err </dev/null || code=$?
  [[ $code == 0 ]] || fail "exit code $code on a terminal: $2"
}
command -v script >/dev/null || { echo "no script(1): terminals are not tried"; exit 0; }
run="$lifeguard run small.toml --set experiment.rounds=400"
export TERM=xterm
on_terminal "cols 80" "$run -o a.run"
contains out $'\r\x1b[K['
contains out "400/400"
contains out "400 of 400 rounds"
# No line is longer than the terminal is wide, since a longer one would not be written over.
on_terminal "cols 20" "$run -o b.run"
longest=$(tr '\r' '\n' <out | grep -a '\[[#.]' | sed 's/\x1b\[K//' | awk '{ if (length > most) most = length } END { print most }')
((longest < 20)) || fail "a line of $longest on a terminal of 20"
on_terminal "cols 0 rows 0" "$run -o c.run"
contains out "400 of 400 rounds"
on_terminal "cols 1" "$run -o d.run"
# A terminal that cannot go back gets plain lines; nothing has colours with or without NO_COLOR.
TERM=dumb on_terminal "cols 80" "$run -o e.run"
lacks out $'\x1b'
NO_COLOR=1 on_terminal "cols 80" "$run -o f.run"
! grep -q $'\x1b\[[0-9;]*m' out || fail "colours"
on_terminal "cols 80" "$run -o g.run --quiet"
lacks out $'\x1b'

# Closed streams, in all combinations.
n=0
for closed in "<&-" ">&-" "2>&-" "<&- >&-" "<&- 2>&-" ">&- 2>&-" "<&- >&- 2>&-"; do
  n=$((n + 1))
  code=0
  bash -c "\"\$0\" run small.toml -o closed$n.run $closed" "$lifeguard" >out 2>err || code=$?
  wanted=0
  [[ $closed != *">&-"* || $closed == "2>&-" || $closed == "<&- 2>&-" ]] || wanted=1
  [[ $code == "$wanted" ]] || fail "exit code $code with $closed"
  expect 0 "$lifeguard" check closed$n.run
done
expect 0 bash -c '"$0" run small.toml -o full.run 2>/dev/full' "$lifeguard"
echo "terminals behave"
