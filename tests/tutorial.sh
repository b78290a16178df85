#!/usr/bin/env bash
# Does what docs/tutorial.md says, block by block, in a scratch folder, and compares what comes out
# with what it shows. In the page … stands for any text.
#   tests/tutorial.sh LIFEGUARD
set -euo pipefail
lifeguard=$(realpath "$1")
top=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/blocks" "$work/scratch"
fail() { echo "docs/tutorial.md: $*" >&2; exit 1; }

# Each block becomes two files: NUMBER.head with its language and title, and NUMBER.body.
awk -v out="$work/blocks" '
  /^```/ && !inside { inside = 1; name = sprintf("%s/%03d", out, ++n); print substr($0, 4) > (name ".head");
                      printf "" > (name ".body"); next }
  /^```/            { inside = 0; close(name ".body"); next }
  inside            { print > (name ".body") }' "$top/docs/tutorial.md"

# The lines of a file as the pattern that says what they may be.
matches() {  # EXPECTED ACTUAL
  local wanted given
  exec 3<"$1" 4<"$2"
  while IFS= read -r wanted <&3; do
    IFS= read -r given <&4 || fail "no output left for: $wanted"
    wanted=$(sed 's/[][\\*?]/\\&/g; s/…/*/g' <<<"$wanted")
    # shellcheck disable=SC2053  # a pattern
    [[ $given == $wanted ]] || fail $'shown and printed differ:\n'"$wanted"$'\n'"$given"
  done
  if IFS= read -r given <&4; then fail "not shown: $given"; fi
}

export PATH="$(dirname "$lifeguard"):$PATH"
cd "$work/scratch"
ran=0
compared=0
for head in "$work"/blocks/*.head; do
  body=${head%.head}.body
  case $(cat "$head") in
    'sh title="in the clone"')  # the scripts do these
      while IFS= read -r line; do
        grep -rqF -- "$line" "$top/script" || fail "no script runs: $line"
      done <"$body"
      ;;
    'sh title="by hand"') ;;  # where to work; this test has its own folder
    sh)
      bash -euo pipefail "$body" >"$work/output" 2>&1 || { cat "$work/output" >&2; fail "failed: $(cat "$body")"; }
      ran=$((ran + 1))
      ;;
    text)
      matches "$body" "$work/output"
      compared=$((compared + 1))
      ;;
    'toml title="'*'"' | 'cpp title="'*'"')
      name=$(sed 's/.*title="\(.*\)"/\1/' "$head")
      cp "$body" "$name"
      ;;
    *) fail "what is this block? $(cat "$head")" ;;
  esac
done
[[ -s report.html ]] || fail "no report.html"
[[ $ran -ge 8 && $compared -ge 8 ]] || fail "only $ran blocks run and $compared compared"
echo "the tutorial holds: $ran blocks run, $compared compared"
