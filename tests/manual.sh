#!/usr/bin/env bash
# The manual page and the shells' completion hold every command and option that --help lists, and
# the shells complete with them.
#   tests/manual.sh LIFEGUARD BUILD_FOLDER
# zsh, fish and mandoc are used where they are installed; script/test --all installs them.
set -euo pipefail
lifeguard=$(realpath "$1")
build_dir=$(realpath "$2")
source_dir=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "$*" >&2; exit 1; }
"$lifeguard" man >lifeguard.1
"$lifeguard" man --markdown >commands.md
for shell in bash zsh fish; do "$lifeguard" completion $shell >completion.$shell; done

# What --help lists: the commands, and the names of a command's options.
commands=$("$lifeguard" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
options_of() { "$lifeguard" "$1" --help | sed -n 's/^  \(-[-a-zA-Z,]*\).*/\1/p' | tr ',' '\n'; }
[[ $(wc -w <<<"$commands") -ge 12 ]] || fail "only these commands in --help: $commands"

# The lines of one command in each text.
sed 's/\\-/-/g; s/\\f[BIR]//g' lifeguard.1 >plain.1
for command in $commands; do
  awk -v head=".SS lifeguard $command " '/^\.S/ { on = index($0 " ", head) == 1 } on' plain.1 >section.1
  awk -v head="## lifeguard $command" '/^##/ { on = $0 == head } on' commands.md >section.md
  grep -E "^ +$command(\||:)" completion.bash >section.bash || fail "no $command in bash"
  awk -v head="        $command)" '/^        [a-z-]+\)$/ { on = $0 == head } on' completion.zsh >section.zsh
  grep -F "__fish_seen_subcommand_from $command'" completion.fish >section.fish || fail "no $command in fish"
  [[ -s section.1 && -s section.md && -s section.zsh ]] || fail "$command is missing"
  options=$(options_of "$command")
  [[ $options == *--help* ]] || fail "no options in the help of $command: $options"
  for option in $options; do
    name=${option##*-}
    grep -qE -- "(^|, )$option( |,|$)" section.1 || fail "$command $option is not in the manual"
    grep -qF -- "\`$option\`" section.md || fail "$command $option is not in docs/commands.md"
    grep -qE -- "[' ]$option[' ]" section.bash || fail "$command $option is not in bash's completion"
    grep -qF -- "$option[" section.zsh || fail "$command $option is not in zsh's completion"
    case $option in
      --*) grep -qE -- " -l ${option#--} " section.fish ;;
      *) grep -qE -- " -s $name " section.fish ;;
    esac || fail "$command $option is not in fish's completion"
  done
done

diff -u "$source_dir/docs/commands.md" commands.md >&2 ||
  fail "make it with: lifeguard man --markdown >docs/commands.md"

# What is installed is what the command prints.
cmake --install "$build_dir" --prefix "$work/install" >/dev/null
cmp lifeguard.1 install/share/man/man1/lifeguard.1
cmp completion.bash install/share/bash-completion/completions/lifeguard
cmp completion.zsh install/share/zsh/site-functions/_lifeguard
cmp completion.fish install/share/fish/vendor_completions.d/lifeguard.fish

# What man and mandoc think of the page.
if command -v man >/dev/null; then
  LC_ALL=C.UTF-8 man --warnings -l lifeguard.1 >page.txt 2>warnings.txt || fail "man cannot read it"
  [[ ! -s warnings.txt ]] || fail "$(cat warnings.txt)"
  grep -q "EXIT STATUS" page.txt || fail "the page ends too early"
fi
if command -v mandoc >/dev/null; then
  # A page without a date is the same for everybody who builds it.
  mandoc -T lint -W warning lifeguard.1 | grep -v "missing date" >warnings.txt || true
  [[ ! -s warnings.txt ]] || fail "$(cat warnings.txt)"
fi

# bash: what Tab gives behind these words.
complete_in_bash() {
  bash -c 'compopt() { :; }  # only there while a key is pressed
    source completion.bash
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lifeguard; echo "${COMPREPLY[@]}"' -- "$@"
}
expect() {  # SHELL WANTED WORD...
  local shell=$1 wanted=$2 given
  shift 2
  given=$("complete_in_$shell" "$@")
  [[ $given == "$wanted" ]] || fail "$shell completes \"$*\" to \"$given\", not to \"$wanted\""
}
expect bash "run" lifeguard ru
expect bash "--seed --set" lifeguard run --s
expect bash "--seed --set" lifeguard run configs/x.toml --s
expect bash "exact paper" lifeguard project --mode ""
expect bash "paper" lifeguard project --mode = p
expect bash "bash" lifeguard completion b
expect bash "" lifeguard run configs/  # a file: left to bash
expect bash "--version" lifeguard --v

if command -v fish >/dev/null; then
  complete_in_fish() {
    HOME=$work fish --no-config -c "source completion.fish; complete -C '$*'" | cut -f1 | sort | xargs
  }
  expect fish "run" lifeguard ru
  expect fish "--seed --set" lifeguard run --s
  expect fish "exact paper" lifeguard project --mode ""
  expect fish "bash" lifeguard completion b
else
  echo "no fish here: its completion was not tried"
fi

if command -v zsh >/dev/null; then
  # A shell on a terminal of its own, with the function where zsh looks; Tab lists what is possible.
  mkdir -p functions
  cp completion.zsh functions/_lifeguard
  cat >try.zsh <<'ZSH'
zmodload zsh/zpty
zpty shell "TERM=dumb zsh -f -i"
zpty -w shell 'fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D'
# What is typed comes back as an echo: only the prompt and the output have these words in one piece.
zpty -w shell "LISTMAX=1000; setopt no_beep; bindkey '^T' list-choices; PS1='rea''dy> '"
zpty -r shell text '*ready> *'
zpty -w -n shell "$1"$'\C-T\C-U'
zpty -w shell "print DO''NE"
zpty -r shell text '*DONE*'
print -r -- "$text"
ZSH
  complete_in_zsh() {
    timeout 60 zsh -f try.zsh "$*" | tr -d '\r' | sed -nE 's/^(-{0,2}[a-z]+) +-- .*/\1/p' | sort | xargs
  }
  expect zsh "run" lifeguard ru
  expect zsh "--seed --set" lifeguard run --s
else
  echo "no zsh here: its completion was not tried"
fi
echo "manual and completion hold what --help lists"
