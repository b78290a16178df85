#!/usr/bin/env bash
# Files that are named on the command line and are not what they should be, and names that become files.
source "$(dirname "$0")/support.sh"

"$lifeguard" run small.toml -o a.run --quiet >/dev/null
mkdir folder
mkfifo pipe
head -c 5000 /dev/urandom >random.run
head -c 3000 a.run >short.run
: >empty.run
echo text >text.run
printf 'SQLite format 3\0' >begin.run

# A run that is not there, or is no run, is not valid input: 2. A damaged one is something else: 1.
not_valid() {  # PATH COMMAND...
  local path=$1
  shift
  expect 2 timeout 20 "$lifeguard" "$@" "$path"
  [[ -s err ]] || fail "no message: $* $path"
}
for path in missing.run folder pipe random.run text.run empty.run missing/a.run a.run/below "" /dev/zero; do
  not_valid "$path" info
done
for reader in resume check policy report "figures --svg-only" serve; do
  # shellcheck disable=SC2086
  for path in missing.run pipe text.run ""; do not_valid "$path" $reader; done
done
for reader in resume check info policy report; do
  for path in short.run begin.run; do
    code=0
    timeout 20 "$lifeguard" $reader $path >out 2>err || code=$?
    [[ $code == 1 || $code == 2 || $code == 4 ]] || fail "exit code $code: $reader $path"
  done
done
expect 2 "$lifeguard" check a.run missing.run
# The same run twice would count twice.
expect 2 "$lifeguard" report a.run ./a.run
contains err "twice"
expect 2 "$lifeguard" figures a.run folder/../a.run --svg-only
ln -s a.run linked.run
expect 2 "$lifeguard" report a.run linked.run -o x.html

# Configurations.
printf 'a\0b' >nul.toml
head -c 100000 /dev/urandom >random.toml
: >empty.toml
truncate -s 1G large.toml
printf '\xff\xfe' >utf16.toml
python3 -c 'print("x = " + "[" * 100000)' >deep.toml
mkdir folder.toml
mkfifo pipe.toml
for path in missing.toml folder pipe nul.toml random.toml empty.toml large.toml utf16.toml deep.toml a.run /dev/zero /dev/null missing/x.toml a.run/x.toml ""; do
  not_valid "$path" run -o x.run
done
contains err "must not be empty"
not_valid large.toml compare
contains err "must not have more than"
for path in folder.toml pipe.toml missing.toml nul.toml; do
  not_valid $path compare
  not_valid $path simulate
  not_valid $path info
done
# A pipe that somebody writes to is as good as a file.
expect 0 "$lifeguard" run <(cat small.toml) -o piped.run --quiet
for path in missing.json folder pipe nul.toml /dev/zero; do
  expect 2 timeout 20 "$lifeguard" report a.run --claims "$path"
done
expect 2 timeout 20 "$lifeguard" project folder
expect 2 timeout 20 "$lifeguard" project pipe
expect 2 bash -c '"$0" project - <&-' "$lifeguard"

# A run whose configuration was changed is a damaged run, whoever reads it, and of a byte or two no
# database is made.
printf S >short.run
not_valid short.run info
contains err "too short"
change() {  # FILE SQL: a copy of a.run
  cp a.run "$1"
  python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()' "$@"
}
change changed.run "UPDATE meta SET value = value || char(10) || 'x = 1' WHERE key = 'config'"
expect 1 "$lifeguard" resume changed.run
contains err "changed.run is damaged"
# An anchor that had to stand in for a policy is told of.
change fallback.run "UPDATE rounds SET fallbacks = 3 WHERE round = 2"
expect 0 "$lifeguard" info fallback.run
contains out "3 times the anchor in place of a policy"
expect 4 "$lifeguard" check fallback.run
contains out "round 2: 3 times a policy that was proven safe was refused"

# A name that is none of a file's does not become one, and says what to do.
mkdir inside
cd inside
for name in ../evil /tmp/evil .. . a/b 'a\b' .hidden -o "$(printf 'x%.0s' {1..101})"; do
  expect 2 "$lifeguard" run ../small.toml --quiet --set "experiment.name='$name'"
  contains err "experiment.name"
  contains err "--out"
done
expect 2 "$lifeguard" run ../small.toml --set 'experiment.name="a\u0000b"'
expect 2 "$lifeguard" run ../small.toml --set 'experiment.name="a\u001b[31mb"'
lacks err $'\x1b'
cat ../small.toml - >../variants.toml <<'TOML'
[variants."../evil"]
method = "learner"
set = []
TOML
expect 2 "$lifeguard" run ../variants.toml --method ../evil --quiet
expect 2 "$lifeguard" compare ../variants.toml -o runs --seeds 1 --quiet --set 'experiment.methods=["../evil"]'
contains err "must be the name of a file"
[[ -z $(ls -A | grep -v -e '^out$' -e '^err$') ]] || fail "something was written: $(ls -A)"
cd ..
[[ ! -e evil-learner-0.run && ! -e /tmp/evil-learner-0.run && ! -e evil-0.run ]] || fail "written elsewhere"
# It may still name the experiment, and its figures.
sed "s|^name = .*|name = '../evil'|" small.toml >named.toml
expect 0 "$lifeguard" run named.toml -o new/folder/named.run --quiet
expect 0 "$lifeguard" figures new/folder/named.run --svg-only -o drawn
[[ -e drawn/..-evil-cost.svg ]] || fail "$(ls drawn)"

# A file that is there is not written over, whatever it is.
for path in a.run small.toml folder pipe; do
  expect 1 timeout 20 "$lifeguard" run small.toml -o $path --quiet
done
# A comparison looks at all files of its folder before it plays a single round.
expect 0 "$lifeguard" compare small.toml --seeds 2 -o runs --quiet
rm runs/learner-0.run
expect 1 "$lifeguard" compare small.toml --seeds 2 -o runs --quiet --set experiment.rounds=41
contains err "other settings"
[[ ! -e runs/learner-0.run ]] || fail "a run was made"
# The parts of a comparison, as jobs that share nothing, put into one folder.
for part in 1 2 3; do
  expect 0 "$lifeguard" compare small.toml --seeds 2 -o part$part --quiet --shard $part/3
  contains out "part $part of 3"
  mkdir -p merged
  mv part$part/*.run merged
done
expect 0 "$lifeguard" compare small.toml --seeds 2 -o merged --quiet --json
sed -i '/"seconds"/d' out && cp out merged.json
expect 0 "$lifeguard" compare small.toml --seeds 2 --quiet --json
sed -i '/"seconds"/d' out && cmp out merged.json
expect 0 "$lifeguard" compare small.toml --seeds 2 -o merged --quiet --json --shard 2/8
contains out '"shard": "2/8"'
for shard in 0/3 4/3 3 a/b 1/0 1/2/3 "" /; do
  [[ -z $shard ]] || expect 2 "$lifeguard" compare small.toml --seeds 2 -o merged --quiet --shard "$shard"
done
expect 2 "$lifeguard" compare small.toml --seeds 2 --quiet --shard 1/3
contains err "--out"
expect 2 "$lifeguard" reproduce --figure mass-spring --figure mass-spring -o there
expect 2 "$lifeguard" reproduce --figure nothing -o there
[[ ! -e there ]] || fail "a folder was made"

# Messages show what is wrong without obeying it.
expect 2 "$lifeguard" check $'bad\x1b[31m.run'
lacks err $'\x1b'
cp a.run $'odd\xff.run'
expect 0 "$lifeguard" check --json $'odd\xff.run'
expect 0 "$lifeguard" report $'odd\xff.run' -o odd.html
echo "files behave"
