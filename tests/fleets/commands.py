#!/usr/bin/env python3
"""Every command on every kind of machine:

    commands.py LIFEGUARD OWN_COMMAND [--write]

OWN_COMMAND is the one of examples/own_command.cpp, with two systems of its own. Each command works
or refuses with exit code 2 and a reason; what came out is compared with the table at the end of
docs/fleets.md (--write puts it there).
"""
import collections, concurrent.futures, json, math, os, pathlib, re, signal, sqlite3, subprocess, sys
import tempfile, time, urllib.request

from machine import record_any, run

arguments = [a for a in sys.argv[1:] if a != "--write"]
lifeguard, own = (pathlib.Path(a).resolve() for a in arguments)
page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "fleets.md"
temporary = tempfile.TemporaryDirectory()
work = pathlib.Path(temporary.name)
TOKEN = "a token that nobody guesses"
STEPS = 40
HEADING = "## Which command takes which machines\n"

Kind = collections.namedtuple("Kind", "system program title states see", defaults=(None, None))
KINDS = [Kind(name, lifeguard, f"`{name}`") for name in
         ("mass-spring", "cart-pole", "quadrotor", "rigid-quadrotor", "flying-quadrotor")]
KINDS += [
    Kind("balancing-robot", own, "own in C++"),
    Kind("pendulum", own, "own with features",
         [{"name": "angle from upright", "unit": "rad"},
          {"name": "angular velocity", "unit": "rad/s"}],
         lambda x: [math.cos(x[0]), math.sin(x[0]), x[1]]),
    Kind("linear", lifeguard, "`linear`"),
    Kind("external", lifeguard, "`external`"),
]
COMMANDS = ["init", "validate", "run", "resume", "compare", "simulate", "policy", "policy --header",
            "policy --c-header", "observe", "check", "check --replay", "info", "report", "figures",
            "serve", "serve --robots"]


class Walk:
    """All commands on one kind of machine, in a folder of its own."""

    def __init__(self, kind):
        self.kind = kind
        self.folder = work / kind.system
        self.folder.mkdir()
        self.results = {}  # by command: the reason if it was refused, else ""

    def start(self, *words):
        return subprocess.Popen([self.kind.program, *words], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "LIFEGUARD_TOKEN": TOKEN})

    def note(self, command, reason=""):
        if self.results.setdefault(command, reason) != reason:
            raise SystemExit(f"{self.kind.system}: {command} works for some runs only: {reason}")

    def ask(self, command, *words, holds=None, makes=()):
        """What the command prints: nothing if it refused. `holds` and `makes` are what must be in
        that, and the files that must be there then."""
        process = self.start(*words)
        out, error = process.communicate()
        shown = f"{self.kind.system}: {' '.join(words)}: {process.returncode}\n{out}{error}"
        reason = re.fullmatch(r"lifeguard: (.+ = .+: .+)\n", error)
        if process.returncode == 2 and reason and not out:
            self.note(command, reason[1])
            return None
        if process.returncode != 0 or (holds and not holds(out)):
            raise SystemExit(shown)
        for name in makes:
            path = self.folder / name
            if not path.exists() or (path.is_dir() and not any(path.iterdir())):
                raise SystemExit(f"{shown}\nno {name}")
        self.note(command)
        return out

    def rounds(self, name):
        """In the run file, 0 as long as there is none."""
        try:
            with sqlite3.connect(f"file:{self.folder / name}?mode=ro", uri=True) as database:
                return database.execute("SELECT COUNT(*) FROM rounds").fetchone()[0]
        except sqlite3.OperationalError:
            return 0

    def interrupt(self, process, name, rounds):
        """Ctrl-C when the file has more than so many rounds."""
        end = time.monotonic() + 60
        while self.rounds(name) <= rounds and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        error = process.communicate()[1]
        if process.returncode != 3 or self.rounds(name) <= rounds:
            raise SystemExit(f"{self.kind.system}: {process.args}: {process.returncode}\n{error}")
        return self.rounds(name)

    def resume(self):
        if self.results["run"]:  # the only run there is came from outside
            self.ask("resume", "resume", "fleet.run")
            return
        begun = self.start("run", "fleet.toml", "-o", "long.run", "--quiet", "--set",
                           "experiment.rounds=1000000")
        rounds = self.interrupt(begun, "long.run", 0)
        self.interrupt(self.start("resume", "long.run", "--quiet"), "long.run", rounds)
        self.note("resume")

    def serve(self, command, path, api, holds):
        server = self.start("serve", path, "--port", "0", "--json",
                            *(["--robots"] if command.endswith("robots") else []))
        try:
            line = server.stdout.readline()
            if not line:
                raise SystemExit(f"{self.kind.system}: serve {path}: {server.communicate()[1]}")
            request = urllib.request.Request(json.loads(line)["address"].rstrip("/") + api)
            request.add_header("Authorization", f"Bearer {TOKEN}")
            with urllib.request.urlopen(request, timeout=60) as answer:
                if not holds(json.load(answer)):
                    raise SystemExit(f"{self.kind.system}: serve {path}: {api}")
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate()
        self.note(command)

    def export(self, *words):
        self.ask("policy", "policy", *words, holds=lambda out: json.loads(out)["gains"])
        self.ask("policy --header", "policy", *words, "--header", "p.hpp", makes=["p.hpp"])
        self.ask("policy --c-header", "policy", *words, "--c-header", "p.h", makes=["p.h"])
        (self.folder / "use.c").write_text('#include "p.h"\nint main(void) { return 0; }\n')
        run(os.environ.get("CC", "cc"), "-std=c99", "-fsyntax-only", self.folder / "use.c")

    def look_at(self, name):
        """All that takes a run file."""
        self.ask("check", "check", name, holds=lambda out: "all holds" in out)
        self.ask("check --replay", "check", "--replay", name, holds=lambda out: "all holds" in out)
        self.ask("info", "info", name, "--json",
                 holds=lambda out: json.loads(out)["unsafe_policies"] == 0)
        self.ask("report", "report", name, "-o", "report.html", makes=["report.html"])
        self.ask("figures", "figures", name, "--svg-only", "-o", f"figures of {name}",
                 makes=[f"figures of {name}"])
        self.export(name, "--task", "first")
        self.serve("serve", name, f"/api/report?run={name}", lambda report: report["experiments"])

    def learn_outside(self):
        for number in (1, 2):
            policy = json.loads(self.ask("policy", "policy", "fleet.toml", "--machine", "first"))
            record_any(self.folder / "flights.jsonl", policy, STEPS, 6, self.kind.states,
                       self.kind.see or (lambda x: x), seed=number)
            self.ask("observe", "observe", "fleet.toml", "flights.jsonl", "--machine", "first",
                     "--json", holds=lambda out: json.loads(out)["round"] == number)

    def all(self):
        self.ask("init", "init", self.kind.system, "-o", "fleet.toml", makes=["fleet.toml"])
        fleet = self.folder / "fleet.toml"
        fleet.write_text(fleet.read_text().replace("steps = 150", f"steps = {STEPS}"))
        self.ask("validate", "validate", "fleet.toml", holds=lambda out: "2 can be used" in out)
        self.ask("info", "info", "fleet.toml", holds=lambda out: "experiment.steps" in out)
        few = ["--set", "evaluation.start_states=5", "--set", "experiment.trajectories=10"]
        self.ask("run", "run", "fleet.toml", "-o", "played.run", "--set", "experiment.rounds=4", *few)
        self.ask("compare", "compare", "fleet.toml", "--seeds", "1", "--threads", "1", "--set",
                 "experiment.rounds=3", "--set", 'experiment.methods=["learner","pg"]', *few,
                 holds=lambda out: "pg" in out)
        self.ask("simulate", "simulate", "fleet.toml", "--trajectories", "3",
                 holds=lambda out: "second" in out)
        self.learn_outside()
        self.export("fleet.toml", "--machine", "second")
        self.resume()
        if not self.results["run"]:
            self.look_at("played.run")
        self.look_at("fleet.run")
        self.serve("serve --robots", "fleet.toml", "/api/policy?machine=first",
                   lambda policy: policy["gains"])
        assert set(self.results) == set(COMMANDS), set(COMMANDS) ^ set(self.results)
        return self.results


def section(walked):
    """The page's last section, as these results have it."""
    text = HEADING + """
Made by a test (`tests/fleets/commands.py`), which gives every command a fleet of every kind, and the runs of it, played and
learnt from outside. Where there is a dash, the command ends with 2 and says why.

"""
    text += "| | " + " | ".join(kind.title for kind in KINDS) + " |\n"
    text += "|---|" + ":-:|" * len(KINDS) + "\n"
    refused = {}
    for command in COMMANDS:
        cells = []
        for kind, results in zip(KINDS, walked):
            reason = results[command]
            cells.append("–" if reason else "✓")
            if reason:
                refused.setdefault((kind.title, reason), []).append(f"`{command}`")
        text += f"| `{command}` | " + " | ".join(cells) + " |\n"
    text += "\n"
    for (title, reason), commands in refused.items():
        text += f"- {', '.join(commands)} of {title}: {reason}\n"
    return text + """
`check --replay` proves a run that was learnt from outside like any other; only to play it again is not possible, and it says
so.
"""


with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
    made = section(list(pool.map(lambda kind: Walk(kind).all(), KINDS)))
before, _, now = page.read_text().partition(HEADING)
if "--write" in sys.argv:
    page.write_text(before.rstrip("\n") + "\n\n" + made)
elif HEADING + now != made:
    raise SystemExit(f"{page.name} has another table; commands.py --write puts this one there:\n{made}")
print(made)
