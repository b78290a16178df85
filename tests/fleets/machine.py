"""A machine outside, and what the tests of fleets share: nothing here is lifeguard's own code."""
import atexit, json, os, random, shutil, sqlite3, subprocess, tempfile

DT = 0.05


class Mass:
    """A mass on a spring, integrated by this process."""

    def __init__(self, kilograms=2.75, seed=1):
        self.kilograms = kilograms
        self.random = random.Random(seed)

    def fly(self, policy, steps):
        """One trajectory under a policy as `lifeguard policy` prints it."""
        limit = float("inf") if policy["noise_limit"] is None else policy["noise_limit"]
        x = [self.random.uniform(-2, 2), self.random.uniform(-2, 2)]
        states, actions = [], []
        for _ in range(steps):
            noise = max(-limit, min(limit, self.random.gauss(0, policy["noise_scale"])))
            error = [v - g for v, g in zip(x, policy["goal"])]
            u = sum(k * e for k, e in zip(policy["gains"][0], error)) + noise
            states.append(list(x))
            actions.append([u])
            low, high = policy["action_low"][0], policy["action_high"][0]
            force = min(high if high is not None else u, max(low if low is not None else u, u))
            x[1] += DT * (force - 5.5 * x[0] - 0.105 * x[1]) / self.kilograms
            x[0] += DT * x[1]
        states.append(list(x))
        return states, actions

    def record_csv(self, path, policy, steps, count):
        """A file as somebody writes it by hand."""
        with open(path, "w") as file:
            file.write(f"# lifeguard trajectories 1\n# machine: {policy['task']}\n")
            file.write(f"# policy: {policy['policy']}\n# dt: {DT} s\n")
            file.write("trajectory,step,state: position [m],state: speed [m/s],")
            file.write("action: force [N],end\n")
            for i in range(count):
                states, actions = self.fly(policy, steps)
                for m, u in enumerate(actions):
                    end = "finished" if m + 1 == steps else ""
                    file.write(f"{i},{m},{states[m][0]!r},{states[m][1]!r},{u[0]!r},{end}\n")

    def record_jsonl(self, path, policy, steps, count):
        head = {"format": "lifeguard trajectories", "version": 1, "machine": policy["task"],
                "policy": policy["policy"], "dt_seconds": DT,
                "states": policy["inputs"], "actions": policy["actions"]}
        with open(path, "w") as file:
            file.write(json.dumps(head) + "\n")
            for _ in range(count):
                states, actions = self.fly(policy, steps)
                line = {"states": states, "actions": actions, "end": "finished"}
                file.write(json.dumps(line) + "\n")


def work_in_empty_folder():
    """One that is gone when the test ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)


def record_any(path, policy, steps, count, states=None, see=lambda x: x, seed=1):
    """Trajectories of a machine of any size, whose states shrink and are shaken, whatever is done.

    `states` and `see` are for machines whose policy sees other things than the states.
    """
    chance = random.Random(seed)
    states = states or policy["inputs"]

    def noise(action):
        scale, limit = (policy[key][action] if isinstance(policy[key], list) else policy[key]
                        for key in ("noise_scale", "noise_limit"))
        drawn = chance.gauss(0, scale)
        return drawn if limit is None else max(-limit, min(limit, drawn))

    head = {"format": "lifeguard trajectories", "version": 1, "machine": policy["task"],
            "policy": policy["policy"], "dt_seconds": policy["dt_seconds"],
            "states": states, "actions": policy["actions"]}
    with open(path, "w") as file:
        file.write(json.dumps(head) + "\n")
        for _ in range(count):
            x = [chance.uniform(-0.02, 0.02) for _ in states]
            line = {"states": [x], "actions": [], "end": "finished"}
            for _ in range(steps):
                error = [v - g for v, g in zip(see(x), policy["goal"])]
                line["actions"].append([
                    sum(k * e for k, e in zip(row, error)) + noise(action)
                    for action, row in enumerate(policy["gains"])])
                x = [0.97 * v + chance.gauss(0, 0.001) for v in x]
                line["states"].append(x)
            file.write(json.dumps(line) + "\n")


def run(*command, code=0):
    """What a command prints; it must end with this code."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode} instead of {code}\n"
                         f"{done.stdout}{done.stderr}")
    return done.stdout


def results(path):
    """Everything in a run file but times, as text."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_schema ORDER BY name")]
    text = []
    for table in tables:
        if table == "timings" or table.startswith("sqlite"):
            continue
        columns = "round, results" if table == "checksums" else "*"
        text += [f"{table}|{row}" for row in
                 database.execute(f"SELECT {columns} FROM {table} ORDER BY 1")]
    database.close()
    return "\n".join(text)
