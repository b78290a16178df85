# The Python packages that build, test and analyse the Python package: those of
# python/tests/requirements.txt, to the version, in build/python-venv, for python3 or the interpreter that
# PYTHON names.
venv=build/python-venv

install_python_packages() {
  local python=${PYTHON:-python3} wanted
  EXTRA_PACKAGES="python3-dev python3-venv" script/bootstrap
  wanted=$("$python" --version && cat python/tests/requirements.txt)
  if [ "$wanted" = "$(cat "$venv/installed.txt" 2>/dev/null)" ]; then return; fi
  "$python" -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r python/tests/requirements.txt
  echo "$wanted" >"$venv/installed.txt"
}
