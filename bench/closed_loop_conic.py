#!/usr/bin/env python3
"""CVXPY with Clarabel and with SCS beside our S- and L-steps of tasks with closed-loop sets.

    cmake --preset bench && cmake --build --preset bench --target bench_closed_loop_steps
    venv/bin/pip install numpy cvxpy clarabel scs
    venv/bin/python bench/closed_loop_conic.py build/release/bench/bench_closed_loop_steps

The program writes the steps and measures its own time for each: the whole step from nothing,
planes cut until every inequality holds to 1e-7. Here each is one convex program, the same one:
  S-step:  min |s - s~|^2  with  |U [I; K] Q^-1/2| <= 1 for every inequality, U'U = theta,
                                 K the rows of anchor + L s
  L-step:  min |L - L~|^2  with  the same of all tasks,  low <= sigma(L) <= high
Inequalities of one row become second-order cones, and the lower limit on sigma(L) is replaced by
sym(Q'L) >= low with Q the polar factor of the last L. The limits on sigma do not bind: "L, no
spectrum" leaves them out for CVXPY, not for us. Tolerances are absolute, so each S-step is given
twice, in s and in s by the length of its target; the faster one that was solved counts.

Times are processor time of one thread: first the solver's own, then with what CVXPY adds once the
problem has been compiled. Ratios are medians of both and the least of the first. "not solved":
Clarabel and SCS say themselves that they missed their tolerance (SCS after 5000 iterations). The
last columns compare objectives of those that were with Clarabel's: the median of ours, the worst of
ours and of SCS's.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

for name in "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS":
    os.environ[name] = "1"

import cvxpy as cp
import numpy as np

ROOT = pathlib.Path(__file__).parent.parent
SOLVERS = {  # Clarabel's own tolerances; SCS's are 1e-4
    "Clarabel": (cp.CLARABEL, {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}),
    "SCS": (cp.SCS, {"eps_abs": 1e-5, "eps_rel": 1e-5, "max_iters": 5000}),
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
        constraints.append(
            cp.norm(matrix[0], 2) <= 1 if u.shape[0] == 1 else cp.sigma_max(matrix) <= 1
        )
    return constraints


def coefficient_problem(tasks, step, unit):
    """In s, or in s by the length of the target."""
    task = tasks[step["task"]]
    basis = np.array(step["basis"])
    target = np.array(step["target"])
    scale = np.linalg.norm(target) if unit == "target" else 1.0
    z = cp.Variable(basis.shape[1])
    return (
        cp.Problem(
            cp.Minimize(cp.sum_squares(z)),
            inequalities(task, np.array(task["anchor"]) + basis @ (target + scale * z)),
        ),
        scale**2,
    )


def basis_problem(tasks, step, low, high, spectrum):
    start, s, target = (np.array(step[name]) for name in ("last", "coefficients", "target"))
    z = cp.Variable(start.shape)
    basis = target + z
    constraints = []
    for t, task in enumerate(tasks):
        if np.any(s[:, t]):
            constraints += inequalities(task, np.array(task["anchor"]) + basis @ s[:, t])
    if spectrum:
        u, _, v = np.linalg.svd(start, full_matrices=False)
        turned = (u @ v).T @ basis
        constraints += [
            cp.sigma_max(basis) <= high,
            (turned + turned.T) / 2 >> low * np.eye(start.shape[1]),
        ]
    return cp.Problem(cp.Minimize(cp.sum_squares(z)), constraints), 1.0


def solve(problem, solver):
    """Objective, milliseconds of the solver alone and of everything, and whether it is solved."""
    kind, settings = SOLVERS[solver]
    now = lambda: 1e3 * time.process_time()
    problem.get_problem_data(kind, solver_opts=dict(settings))  # compiles
    begin = now()
    data, chain, inverse = problem.get_problem_data(kind, solver_opts=dict(settings))
    compiled = now()
    raw = chain.solve_via_data(
        problem, data, warm_start=False, verbose=False, solver_opts=dict(settings)
    )
    solved = now()
    problem.unpack_results(raw, chain, inverse)
    return problem.value, solved - compiled, now() - begin, problem.status == "optimal"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="bench_closed_loop_steps")
    parser.add_argument("--dumped", type=int, default=3, help="rounds of each system")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "steps.json"
        subprocess.run(
            [
                pathlib.Path(options.program).resolve(),
                "--dump",
                file,
                "--dumped",
                str(options.dumped),
            ],
            check=True,
            cwd=ROOT,
        )
        systems = json.loads(file.read_text())
    print(
        f"{'':<34}{'steps':>6}{'ours ms':>10}"
        + "".join(
            f"{s + ' ms':>13}{'all ms':>10}{'ratio':>8}{'all':>8}{'least':>8}" for s in SOLVERS
        )
        + f"{'not solved':>12}{'ours':>10}{'worst':>10}{'SCS worst':>14}"
    )
    slow = False
    one = cp.Variable()
    for solver in SOLVERS:  # loads their libraries
        solve(cp.Problem(cp.Minimize(cp.square(one)), [one >= 1]), solver)
    warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # counted as not solved
    for system in systems:
        for kind in "S", "L, no spectrum", "L":
            rows = []
            for step in system["steps"]:
                if step["kind"] != kind[0]:
                    continue
                row = [step["milliseconds"]]
                values = []
                unsolved = []
                for solver in SOLVERS:
                    answers = []
                    for unit in ("1", "target") if kind == "S" else ("1",):
                        problem, scale = (
                            coefficient_problem(system["tasks"], step, unit)
                            if kind == "S"
                            else basis_problem(
                                system["tasks"], step, system["low"], system["high"], kind == "L"
                            )
                        )
                        value, inside, everything, good = solve(problem, solver)
                        answers.append((not good, inside, everything, scale * value))
                    failed, inside, everything, value = min(answers)
                    unsolved.append(failed)
                    values.append(value)
                    row += [inside, everything, inside / row[0], everything / row[0]]
                rows.append(
                    row + unsolved + [step["objective"] / values[0] - 1, values[1] / values[0] - 1]
                )
            if not rows:
                continue
            table = np.array(rows)
            middle = np.median(table, axis=0)
            line = f"{system['name'] + ', ' + kind + '-step':<34}{len(rows):>6}{middle[0]:>10.4f}"
            for i in range(len(SOLVERS)):
                a, b, c, d = middle[1 + 4 * i : 5 + 4 * i]
                line += f"{a:>13.2f}{b:>10.2f}{c:>8.0f}{d:>8.0f}{table[:, 3 + 4 * i].min():>8.0f}"
                slow |= bool(c < 100)
            # Of those that both have solved.
            both = table[:, -4] + table[:, -3] == 0
            ours = table[table[:, -4] == 0, -2]
            middle_of_ours = np.median(np.abs(ours)) if len(ours) else np.nan
            largest = lambda column: column[np.abs(column).argmax()] if len(column) else np.nan
            failed = table[:, -4:-2].sum(0).astype(int)
            print(
                line
                + f"{failed[0]:>7}{failed[1]:>5}"
                + f"{middle_of_ours:>10.0e}{largest(ours):>10.1e}{largest(table[both, -1]):>14.1e}",
                flush=True,
            )
    print("a median ratio is below 100" if slow else "every median ratio is at least 100")


if __name__ == "__main__":
    main()
