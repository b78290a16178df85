# One release build serves every script: the library is compiled once for the demo, the tests, the
# pictures and the studies.
lifeguard=build/release/cli/lifeguard

build_command() {
  cmake --preset release >/dev/null
  cmake --build --preset release --target lifeguard_command -- --quiet
}
