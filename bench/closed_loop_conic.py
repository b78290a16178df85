#!/usr/bin/env python3
"""CVXPY with Clarabel and with SCS beside our S- and L-steps of tasks with closed-loop sets, in one run.

    cmake --preset bench && cmake --build --preset bench --target bench_closed_loop_steps
    venv/bin/pip install numpy cvxpy clarabel scs
    venv/bin/python bench/closed_loop_conic.py build/release/bench/bench_closed_loop_steps

The program writes the steps and measures its own time for each: the whole step from nothing, planes cut
until every inequality holds to 1e-7. Here each is one convex program, the same one:
  S-step:  min |s - s~|^2   with  |U [I; K] Q^-1/2| <= 1 for every inequality, K the rows of anchor + L s
  L-step:  min |L - L~|^2   with  the same of all tasks,  low <= sigma(L) <= high
where U'U = theta; inequalities of one row become second-order cones, and the lower limit on sigma(L) is replaced
by sym(Q'L) >= low with Q the polar factor of the last L. The limits on sigma do not bind: "L, no spectrum" leaves them
out for CVXPY, not for us. Times are processor time of one thread: "solver" as the solver itself counts
(set-up and solution), "all" with what CVXPY adds when the same problem has been solved once before (its compilation
is kept, and only numbers change). Objectives are relative to Clarabel's.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for name in "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS":
    os.environ[name] = "1"

import cvxpy as cp
import numpy as np

ROOT = pathlib.Path(__file__).parent.parent
SOLVERS = {  # Clarabel's own defaults; SCS's are 1e-4
    "Clarabel": (cp.CLARABEL, {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}),
    "SCS": (cp.SCS, {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 200000}),
}


def factors(inequality):
    """U with U'U = theta up to 1e-13 of it, and Q^-1/2."""
    theta, limit = np.array(inequality["theta"]), np.array(inequality["limit"])
    values, vectors = np.linalg.eigh(theta)
    kept = values > 1e-13 * values[-1]
    return (vectors[:, kept] * np.sqrt(values[kept])).T, np.linalg.inv(np.linalg.cholesky(limit)).T


def inequalities(task, policy):
    """The task's inequalities for a policy that is an expression."""
    constraints = []
    for inequality in task["inequalities"]:
        u, root = factors(inequality)
        n = root.shape[0]
        m = u.shape[1] - n
        gains = cp.reshape(policy, (m, n), order="C")
        matrix = u[:, :n] @ root + (u[:, n:] @ gains) @ root
        constraints.append(cp.norm(matrix[0], 2) <= 1 if u.shape[0] == 1 else cp.sigma_max(matrix) <= 1)
    return constraints


def coefficient_problem(tasks, step):
    task = tasks[step["task"]]
    basis = np.array(step["basis"])
    s, target = cp.Variable(basis.shape[1]), cp.Parameter(basis.shape[1])
    target.value = np.array(step["target"])
    return cp.Problem(cp.Minimize(cp.sum_squares(s - target)),
                      inequalities(task, np.array(task["anchor"]) + basis @ s))


def basis_problem(tasks, step, low, high, spectrum):
    start, s = np.array(step["start"]), np.array(step["coefficients"])
    basis, target = cp.Variable(start.shape), cp.Parameter(start.shape)
    target.value = np.array(step["target"])
    constraints = []
    for t, task in enumerate(tasks):
        if np.any(s[:, t]):
            constraints += inequalities(task, np.array(task["anchor"]) + basis @ s[:, t])
    if spectrum:
        u, _, v = np.linalg.svd(start, full_matrices=False)
        turned = (u @ v).T @ basis
        constraints += [cp.sigma_max(basis) <= high, (turned + turned.T) / 2 >> low * np.eye(start.shape[1])]
    return cp.Problem(cp.Minimize(cp.sum_squares(basis - target)), constraints)


def solve(problem, solver):
    """Objective, milliseconds of the solver and of everything."""
    kind, settings = SOLVERS[solver]
    problem.solve(kind, **settings)  # compiles, and loads libraries
    begin = time.process_time()
    problem.solve(kind, **settings)
    everything = 1e3 * (time.process_time() - begin)
    stats = problem.solver_stats
    inside = 1e3 * (stats.solve_time + (stats.setup_time or 0))
    if problem.status != "optimal":
        print(f"{solver}: {problem.status}", file=sys.stderr)
    return problem.value, inside, everything


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="bench_closed_loop_steps")
    parser.add_argument("--dumped", type=int, default=3, help="rounds of each system")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "steps.json"
        subprocess.run([pathlib.Path(options.program).resolve(), "--dump", file, "--dumped",
                        str(options.dumped)], check=True, cwd=ROOT)
        systems = json.loads(file.read_text())
    print(f"{'':<34}{'steps':>6}{'ours ms':>10}" + "".join(
        f"{s + ' ms':>13}{'all ms':>10}{'ratio':>8}{'all':>8}{'least':>8}" for s in SOLVERS)
        + f"{'ours-Clarabel':>15}{'SCS-Clarabel':>14}")
    slow = False
    for system in systems:
        for kind in "S", "L", "L, no spectrum":
            rows = []
            for step in system["steps"]:
                if step["kind"] != kind[0]:
                    continue
                row = [step["milliseconds"]]
                values = []
                for solver in SOLVERS:
                    problem = coefficient_problem(system["tasks"], step) if kind == "S" else \
                        basis_problem(system["tasks"], step, system["low"], system["high"], kind == "L")
                    value, inside, everything = solve(problem, solver)
                    values.append(value)
                    row += [inside, everything, inside / row[0], everything / row[0]]
                rows.append(row + [step["objective"] / values[0] - 1, values[1] / values[0] - 1])
            if not rows:
                continue
            table = np.array(rows)
            middle = np.median(table, axis=0)
            line = f"{system['name'] + ', ' + kind + '-step':<34}{len(rows):>6}{middle[0]:>10.4f}"
            for i in range(len(SOLVERS)):
                a, b, c, d = middle[1 + 4 * i:5 + 4 * i]
                line += f"{a:>13.2f}{b:>10.2f}{c:>8.0f}{d:>8.0f}{table[:, 3 + 4 * i].min():>8.0f}"
                slow |= kind == "S" and c < 100 or kind == "L" and c < 100
            largest = lambda column: column[np.abs(column).argmax()]
            print(line + f"{largest(table[:, -2]):>15.1e}{largest(table[:, -1]):>14.1e}", flush=True)
    print("a median ratio is below 100" if slow else "every median ratio is at least 100")


if __name__ == "__main__":
    main()
