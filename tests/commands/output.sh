#!/usr/bin/env bash
# Output that is lost is said, files are whole or not there, and a reader that goes away costs nothing.
source "$(dirname "$0")/support.sh"

"$lifeguard" run small.toml -o a.run --quiet >/dev/null
echo '{"p": 0.01, "q": 100, "mu1": 1, "mu2": 1, "L": [[2]],
  "tasks": [{"name": "one", "A": [[1]], "b": [2], "s": [2.5]}]}' >problem.json

# Whatever prints says that a full disk took nothing of it: exit code 5.
full() {
  local code=0
  "$lifeguard" "$@" >/dev/full 2>err || code=$?
  [[ $code == 5 ]] || fail "exit code $code with a full standard output: $*"
  contains err "No space left on device"
}
full --help
full --version
full run small.toml -o full.run --quiet
full resume full.run
full policy a.run
full policy a.run --json
full info
full info a.run
full info a.run --json
full info small.toml
full info --keys
full check a.run
full check a.run --json
full project problem.json
full compare small.toml --seeds 1 --set experiment.rounds=2 --quiet
full reproduce --list
full report a.run
full report a.run --json
full figures a.run --svg-only
full simulate mass-spring --tasks 2
full simulate mass-spring --tasks 2 --json
cmp <("$lifeguard" policy full.run | sed 1,7d) <("$lifeguard" policy a.run | sed 1,7d)

# Closed, it is an error as well, and no other file gets what was meant for it.
expect 1 bash -c '"$0" policy a.run >&-' "$lifeguard"
contains err "Bad file descriptor"
expect 1 bash -c '"$0" policy a.run --header h.hpp --json >&-' "$lifeguard"
head -1 h.hpp | grep -q '^// Policy' || fail "h.hpp has something else in it"
expect 0 bash -c '"$0" policy a.run --header h.hpp <&- 2>&-' "$lifeguard"

# What is not safe keeps its exit code.
"$lifeguard" run small.toml -o unsafe.run --method shared --quiet >/dev/null
code=0
"$lifeguard" check unsafe.run >/dev/full 2>err || code=$?
[[ $code == 4 ]] || fail "exit code $code"

# A reader that goes away neither ends a run nor is an error.
for words in "run small.toml -o head.run" "resume head.run" "policy a.run" "info --keys" "report a.run --json"; do
  code=0
  # shellcheck disable=SC2086
  { "$lifeguard" $words 2>&1 || echo "$?" >code; } | head -c 1 >/dev/null
  [[ ! -e code ]] || fail "exit code $(cat code) into a closed pipe: $words"
done
expect 0 "$lifeguard" info head.run
contains out "40 of 40"

# Files: the folder is made, errors name the path and the reason, nothing half done stays.
expect 0 "$lifeguard" policy a.run --header deep/down/policy.hpp
contains deep/down/policy.hpp "constexpr"
mkdir folder
touch file
outputs=("policy a.run --header" "report a.run -o" "simulate mass-spring --tasks 2 --csv")
for words in "${outputs[@]}"; do
  # shellcheck disable=SC2086
  expect 1 "$lifeguard" $words folder
  contains err "folder"
  contains err "Is a directory"
  # shellcheck disable=SC2086
  expect 1 "$lifeguard" $words file/below
  contains err "file/below"
  contains err "Not a directory"
  # shellcheck disable=SC2086
  expect 5 "$lifeguard" $words /dev/full
  contains err "/dev/full"
  # shellcheck disable=SC2086
  expect 0 "$lifeguard" $words /dev/null
  [[ -c /dev/null ]] || fail "/dev/null was replaced"
  # shellcheck disable=SC2086
  expect 1 "$lifeguard" $words "$(printf 'x%.0s' {1..300})"
  contains err "File name too long"
  # shellcheck disable=SC2086
  expect 2 "$lifeguard" $words ""
done
expect 1 "$lifeguard" figures a.run --svg-only -o file
contains err "file"
expect 1 "$lifeguard" compare small.toml --seeds 1 -o file --quiet
contains err "file"
expect 1 "$lifeguard" run small.toml -o file/a.run --quiet
contains err "file"
expect 1 "$lifeguard" run small.toml -o folder --quiet
contains err "is a folder"

# Neither a run nor what it was made from is overwritten by what is made of it, and a link stays one.
cp a.run copy.run
expect 2 "$lifeguard" report a.run -o copy.run
expect 2 "$lifeguard" policy a.run --header a.run
cmp a.run copy.run
echo '[]' >claims.json
expect 2 "$lifeguard" report a.run --claims claims.json -o ./claims.json
cp small.toml family.toml
sed -n '/\[family\]/,/base/p' small.toml >family.toml
expect 2 "$lifeguard" simulate family.toml --csv family.toml
expect 2 "$lifeguard" simulate family.toml --csv a.csv --record ./a.csv
expect 2 "$lifeguard" simulate family.toml --record a.txt
contains err "must end in .csv, .jsonl or .json"
expect 0 "$lifeguard" simulate mass-spring --tasks 1 --trajectories 2 --steps 3 --record deep/flights.csv
contains deep/flights.csv "# lifeguard trajectories 1"
contains deep/flights.csv "1,3,"
expect 0 "$lifeguard" simulate mass-spring --tasks 2 --trajectories 2 --steps 3 --record flights.jsonl
contains flights-0.jsonl '"machine":"mass-spring 0"'
contains flights-1.jsonl '"end":"finished"'
ln -s target.html link.html
expect 0 "$lifeguard" report a.run -o link.html
[[ -L link.html ]] || fail "the link is gone"
contains target.html "<html"

# A limit on the size of files is a full disk as well; the old file stays, and a run goes on later.
echo old >old.html
expect 5 bash -c 'ulimit -f 1; "$0" report a.run -o old.html' "$lifeguard"
[[ $(cat old.html) == old ]] || fail "old.html is lost"
expect 5 bash -c 'ulimit -f 200; "$0" run small.toml -o grows.run --quiet --set experiment.rounds=2000' "$lifeguard"
contains err "the disk is full"
expect 0 "$lifeguard" resume grows.run --quiet
expect 0 "$lifeguard" check grows.run
if compgen -G '.lifeguard-*' >/dev/null || compgen -G '*.new*' >/dev/null; then fail "drafts stay: $(ls -A)"; fi
echo "output behaves"
