#!/usr/bin/env python3
"""Many robots at once, over HTTP, some killed halfway: no round lost, none counted twice.

    robots.py LIFEGUARD ROBOT.py ROBOT [ROBOTS]

ROBOT is the one in C++, which learns alone before the others.
"""
import atexit, json, os, pathlib, random, signal, subprocess, sys, time, urllib.error
import urllib.parse, urllib.request

from machine import Mass, run, work_in_empty_folder

lifeguard = pathlib.Path(sys.argv[1]).resolve()
robot = pathlib.Path(sys.argv[2]).resolve()
robot_in_cpp = pathlib.Path(sys.argv[3]).resolve()
count = int(sys.argv[4]) if len(sys.argv) > 4 else 100
work_in_empty_folder()
TOKEN = "a token that nobody guesses"
chance = random.Random(5)

text = run(lifeguard, "init", "mass-spring").replace("steps = 150", "steps = 30")
text = text[:text.index("[[machine]]")]
text += "".join(f'[[machine]]\nname = "robot {i}"\n' for i in range(count))
pathlib.Path("fleet.toml").write_text(text)


children = []
atexit.register(lambda: [child.kill() for child in children if child.poll() is None])


def start(*command):
    children.append(subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True,
                                     env={**os.environ, "LIFEGUARD_TOKEN": TOKEN}))
    return children[-1]


def serve():
    server = start(lifeguard, "serve", "fleet.toml", "--robots", "--port", "0", "--json")
    return server, json.loads(server.stdout.readline())["address"].rstrip("/")


def call(url, path, body=None, token=TOKEN, kind="application/x-ndjson", **query):
    request = urllib.request.Request(f"{url}/api/{path}?{urllib.parse.urlencode(query)}", body)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", kind)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


server, url = serve()

# What must be refused.
name = "robot 0"
assert call(url, "policy", token=None, machine=name)[0] == 401
assert call(url, "policy", token="x" * 20, machine=name)[0] == 401
assert call(url, "policy", machine="nobody")[0] == 404
assert call(url, "policy")[0] == 400
assert call(url, "observations", machine=name, id="1")[0] == 405
assert call(url, "observations", b"", machine=name, id="")[0] == 400
assert call(url, "observations", b"x", kind="image/png", machine=name, id="1")[0] == 415
assert call(url, "observations", b"{}", machine=name, id="1")[0] == 422
assert call(url, "observations", b"x" * (70 << 20), machine=name, id="1")[0] == 413
assert call(url, "openapi.json")[1]["openapi"].startswith("3.")

# A retry of what was answered, and of what the server did not live to answer.
mass = Mass(seed=9)
policy = call(url, "policy", machine=name)[1]
mass.record_jsonl("flight.jsonl", policy, 30, 10)
flight = pathlib.Path("flight.jsonl").read_bytes()
first = call(url, "observations", flight, machine=name, id="mine")[1]
again = call(url, "observations", flight, machine=name, id="mine")[1]
assert not first["repeated"] and again["repeated"] and again["round"] == first["round"] == 1
assert call(url, "observations", flight + b"\n", machine=name, id="mine")[0] == 409
server.send_signal(signal.SIGKILL)
server.wait()
server, url = serve()
again = call(url, "observations", flight, machine=name, id="mine")[1]
assert again["repeated"] and again["mean_cost"] == first["mean_cost"], again

host, port = url.removeprefix("http://").split(":")
told = run(robot_in_cpp, host, port, TOKEN, "robot 1", 2)
assert "round 2" in told and "round 3" in told, told
ALONE = 3  # rounds so far

# All at once, in any order, while the page is looked at; every fifth is killed on the way.
robots = [start(sys.executable, robot, url, TOKEN, f"robot {i}", "3")
          for i in chance.sample(range(count), count)]
victims = set(robots[::5])
looks = 0
while any(r.poll() is None for r in robots):
    for victim in [r for r in victims if r.poll() is None and chance.random() < 0.1]:
        victim.kill()
    page = urllib.request.Request(f"{url}/api/report?run=fleet.run")
    page.add_header("Authorization", f"Bearer {TOKEN}")
    assert json.load(urllib.request.urlopen(page, timeout=60))["experiments"]
    looks += 1
    time.sleep(0.5)
heard = []
for r in robots:
    out, error = r.communicate()
    rounds = [int(line.split()[1].rstrip(":")) for line in out.splitlines()]
    assert r in victims or (r.returncode == 0 and len(rounds) == 3), error
    heard += rounds
rounds = call(url, "machines")[1]["rounds"]
server.send_signal(signal.SIGTERM)
assert server.wait(20) == 0
assert len(set(heard)) == len(heard) and set(heard) <= set(range(ALONE + 1, rounds + 1))
# Whoever was killed may have been counted without hearing of it; nobody else.
assert 0 <= rounds - ALONE - len(heard) <= len(victims), (rounds, len(heard))
assert "all holds" in run(lifeguard, "check", "fleet.run")
info = json.loads(run(lifeguard, "info", "fleet.run", "--json"))
assert info["rounds"] == rounds and info["unsafe_policies"] == 0, info
print(f"{count} robots, {sum(r.returncode != 0 for r in robots)} killed: {rounds} rounds, "
      f"{len(heard)} heard of, {looks} looks at the page")
