"""How near `lifeguard project` comes to what a general solver finds on the joint problem.

    python bench/projection_joint.py build/release/cli/lifeguard [problems] [starts]

Small random problems (d up to 4, k up to 3, T up to 3), with and without c_max. SciPy's SLSQP
minimises over L and S together, from the given point, from the answer of lifeguard, and from random
points. Answers that violate a constraint by more than 1e-9 do not count. Needs numpy and scipy.
"""
import json
import subprocess
import sys

import numpy as np
from scipy.optimize import minimize

TOLERANCE = 1e-9


def random_problem(rng):
    d = int(rng.integers(1, 5))
    k = int(rng.integers(1, min(d, 3) + 1))
    tasks = []
    spread = 10 ** rng.uniform(-1, 0.5)
    for t in range(int(rng.integers(1, 4))):
        m = int(rng.integers(1, 2 * d + 2))
        rows = rng.normal(size=(m, d))
        anchor = rng.normal(size=d)
        limits = rows @ anchor + rng.uniform(0.1, 1.5, size=m)
        tasks.append({"name": f"task {t}", "A": rows.tolist(), "b": limits.tolist(),
                      "anchor": anchor.tolist(), "s": (spread * rng.normal(size=k)).tolist()})
    p = 10 ** rng.uniform(-2, 0)
    problem = {"p": p, "q": p * 10 ** rng.uniform(0.1, 2), "mu1": 10 ** rng.uniform(-1, 1),
               "mu2": 10 ** rng.uniform(-1, 1), "L": rng.normal(size=(d, k)).tolist(),
               "tasks": tasks}
    if rng.random() < 0.4:
        slack = [np.linalg.norm(np.array(t["b"]) - np.array(t["A"]) @ t["anchor"]) for t in tasks]
        problem["c_max"] = max(slack) * rng.uniform(1.05, 2)
    return problem


class Joint:
    def __init__(self, problem):
        self.problem = problem
        self.L = np.array(problem["L"])
        self.S = np.array([t["s"] for t in problem["tasks"]])
        self.tasks = [(np.array(t["A"]), np.array(t["b"]), np.array(t["anchor"]))
                      for t in problem["tasks"]]

    def pack(self, L, S):
        return np.concatenate([L.ravel(), S.ravel()])

    def split(self, x):
        return x[: self.L.size].reshape(self.L.shape), x[self.L.size:].reshape(self.S.shape)

    def objective(self, x):
        L, S = self.split(x)
        return (self.problem["mu1"] * np.sum((S - self.S) ** 2)
                + self.problem["mu2"] * np.sum((L - self.L) ** 2))

    def gradient(self, x):
        L, S = self.split(x)
        return self.pack(2 * self.problem["mu2"] * (L - self.L),
                         2 * self.problem["mu1"] * (S - self.S))

    def constraints(self, x):
        """All of them must be at least 0."""
        L, S = self.split(x)
        values = []
        for (A, b, anchor), s in zip(self.tasks, S):
            slack = b - A @ (anchor + L @ s)
            values.extend(slack)
            if "c_max" in self.problem:
                values.append(self.problem["c_max"] ** 2 - slack @ slack)
        eigenvalues = np.linalg.eigvalsh(L.T @ L)
        values.extend(eigenvalues - self.problem["p"])
        values.extend(self.problem["q"] - eigenvalues)
        return np.array(values)

    def solve(self, x):
        try:
            result = minimize(self.objective, x, jac=self.gradient, method="SLSQP",
                              constraints={"type": "ineq", "fun": self.constraints},
                              options={"maxiter": 1000, "ftol": 1e-13})
        except (ValueError, np.linalg.LinAlgError):
            return np.inf
        good = np.all(np.isfinite(result.x)) and self.constraints(result.x).min() >= -TOLERANCE
        return result.fun if good else np.inf


def main():
    command = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    starts = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    rng = np.random.default_rng(1)
    feasible, ratios, local, alternations, seconds, slsqp = 0, [], [], [], [], []
    for number in range(count):
        problem = random_problem(rng)
        run = subprocess.run([command, "project", "-"], input=json.dumps(problem), text=True,
                             capture_output=True)
        if run.returncode != 0:
            print(f"problem {number}: exit code {run.returncode}: {run.stderr.strip()}")
            if not run.stdout:
                continue
        answer = json.loads(run.stdout)
        joint = Joint(problem)
        x = joint.pack(np.array(answer["L"]), np.array([t["s"] for t in answer["tasks"]]))
        assert joint.constraints(x).min() >= -1e-12, "lifeguard's answer is not feasible"
        assert abs(joint.objective(x) - answer["objective"]) <= 1e-12 * (1 + answer["objective"])
        if answer["objective"] == 0:
            feasible += 1
            continue
        here = joint.solve(x)
        given = joint.solve(joint.pack(joint.L, joint.S))
        best = min(here, given)
        for _ in range(starts):
            scale = 10 ** rng.uniform(-1, 0.5)
            best = min(best, joint.solve(joint.pack(
                joint.L + scale * rng.normal(size=joint.L.shape),
                rng.uniform(0, 1) * joint.S + scale * rng.normal(size=joint.S.shape))))
        ratios.append(answer["objective"] / best - 1)
        local.append(answer["objective"] / min(here, answer["objective"]) - 1)
        slsqp.append(given / answer["objective"] - 1)
        alternations.append(answer["alternations"])
        seconds.append(answer["seconds"])
        if ratios[-1] > 1e-6:
            print(f"problem {number}: {answer['status']} {answer['objective']:.9g} after "
                  f"{answer['alternations']}, from there {here:.9g}, from the given point "
                  f"{given:.9g}, best {best:.9g}")
    ratios, local, slsqp = np.array(ratios), np.array(local), np.array(slsqp)
    print(f"{count} problems, {feasible} feasible as given; of the other {len(ratios)}:")
    print(f"  SLSQP from the answer improves it by more than 1e-6 relative: {np.sum(local > 1e-6)}, "
          f"at most by {local.max():.2g}")
    print(f"  the best of {starts + 2} starts of SLSQP is better by more than 1e-6: "
          f"{np.sum(ratios > 1e-6)} (median {np.median(ratios[ratios > 1e-6] if np.any(ratios > 1e-6) else [0]):.2g}, "
          f"largest {ratios.max():.2g}); worse by more than 1e-6: {np.sum(ratios < -1e-6)}")
    print(f"  SLSQP from the given point: worse than the answer in {np.sum(slsqp > 1e-6)}, "
          f"better in {np.sum(slsqp < -1e-6)}")
    print(f"  alternations: median {np.median(alternations):.0f}, most {max(alternations)}; "
          f"median time {1e3 * np.median(seconds):.2f} ms")


if __name__ == "__main__":
    main()
