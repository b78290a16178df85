#!/usr/bin/env bash
# Every script explains itself, and refuses what it does not know before it does anything.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "$*" >&2; exit 1; }

output=$(mktemp)
trap 'rm -f "$output"' EXIT
for script in script/*; do
  [[ -f $script ]] || continue
  [[ -x $script ]] || fail "$script cannot be run"
  for word in --help -h; do
    (cd / && "$OLDPWD/$script" $word) >"$output" || fail "$script $word fails"
    head -1 "$output" | grep -q "^$script: " || fail "$script $word prints: $(head -1 "$output")"
  done
  code=0
  "$script" --no-such-option >"$output" 2>&1 || code=$?
  [[ $code == 2 ]] || fail "$script --no-such-option ends with $code"
  head -1 "$output" | grep -q "unknown argument: --no-such-option" || fail "$script: $(cat "$output")"
done
echo "every script has its help"
