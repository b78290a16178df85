# What the scripts beside this one share: a folder of their own, a small experiment, and what a
# command may be held to. Each is called with the command:  tests/commands/NAME.sh LIFEGUARD
set -euo pipefail
lifeguard=$1
work=$(mktemp -d)
tidy() {
  local children
  children=$(jobs -p)
  [[ -z $children ]] || kill -KILL $children 2>/dev/null || true
  rm -rf "$work"
}
trap tidy EXIT
cd "$work"

fail() {
  echo "$*" >&2
  for file in out err; do
    [[ ! -s $file ]] || { echo "--- $file" >&2; head -c 2000 $file >&2; }
  done
  exit 1
}
# expect CODE COMMAND...: its standard output in out, its standard error in err.
expect() {
  local wanted=$1 code=0
  shift
  "$@" >out 2>err || code=$?
  [[ $code == "$wanted" ]] || fail "exit code $code instead of $wanted: $*"
}
contains() {  # FILE TEXT
  grep -qF -- "$2" "$1" || fail "no \"$2\" in $1"
}
lacks() {  # FILE TEXT
  ! grep -qF -- "$2" "$1" || fail "\"$2\" in $1"
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# wait_until SECONDS CONDITION...: polls until it holds.
wait_until() {
  local end=$(($(milliseconds) + $1 * 1000))
  shift
  until "$@"; do
    (($(milliseconds) < end)) || fail "not within its time: $*"
    sleep 0.02
  done
}

cat >small.toml <<'TOML'
[experiment]
name = "small"
rounds = 40
tasks = 3
trajectories = 16
[family]
base = "mass-spring"
[safe_set]
slack_limit = 100
[safe_set.lqr_box]
reach = 0.5
TOML
# A run that nobody lives to see the end of.
endless=(--set experiment.rounds=10000000 --set evaluation.regret=false --set evaluation.spacing=1000)
