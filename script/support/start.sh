# Sourced first by every script of script/, with the script's own arguments: stops at the first error,
# goes to the top of the repository and answers --help with the script's leading comment.
set -euo pipefail
this_script=$(realpath "$0")
cd "$(dirname "$this_script")/.."

print_help() {
  awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$this_script"
}

unknown_argument() {  # ARGUMENT
  echo "script/$(basename "$this_script"): unknown argument: $1" >&2
  print_help >&2
  exit 2
}

no_arguments() {  # "$@"
  if [ $# -gt 0 ]; then unknown_argument "$1"; fi
}

for argument in "$@"; do
  case $argument in
    -h | --help)
      print_help
      exit 0
      ;;
  esac
done
