#!/usr/bin/env python3
"""Writes basis_step_reference.txt: L-steps with the distance that a general conic solver reaches.

    python3 -m venv venv && venv/bin/pip install numpy scipy clarabel
    venv/bin/python tests/data/make_basis_step_reference.py tests/data/basis_step_reference.txt

The program  min |L - target|^2  with  A_t L s_t <= r_t,  |r_t - A_t L s_t| <= c_t,
low <= singular values <= high  is not convex in its lower bound. The reference replaces it by
sym(Q'L) >= low with Q the polar factor of the present L, solves that convex program with Clarabel
to 1e-9, and repeats until L no longer moves.
"""
import sys
import clarabel
import numpy as np
from scipy import sparse


def polar(l):
    u, _, vt = np.linalg.svd(l, full_matrices=False)
    return u @ vt


def svec_rows(n, entry):
    """Rows of the scaled upper triangle of a symmetric matrix given by entry(i, j) -> row vector."""
    rows = []
    for j in range(n):
        for i in range(j + 1):
            rows.append(entry(i, j) * (1.0 if i == j else np.sqrt(2.0)))
    return rows


def convex_program(tasks, s, target, q_factor, low, high):
    """P, q, A, b, cones of Clarabel's form; x is L by columns."""
    d, k = target.shape
    n = d * k  # x = L by columns
    index = lambda i, j: j * d + i
    a, b, cones = [], [], []
    count = 0
    for t, (rows, bounds, _) in enumerate(tasks):
        for i in range(rows.shape[0]):
            a.append(np.outer(rows[i], s[:, t]).T.ravel())
            b.append(bounds[i])
            count += 1
    if count:
        cones.append(clarabel.NonnegativeConeT(count))
    for t, (rows, bounds, slack) in enumerate(tasks):
        if np.isfinite(slack):
            a.append(np.zeros(n))
            b.append(slack)
            for i in range(rows.shape[0]):
                a.append(np.outer(rows[i], s[:, t]).T.ravel())
                b.append(bounds[i])
            cones.append(clarabel.SecondOrderConeT(1 + rows.shape[0]))

    def lifted(i, j):
        row = np.zeros(n)
        for r in range(d):
            row[index(r, j)] -= 0.5 * q_factor[r, i]
            row[index(r, i)] -= 0.5 * q_factor[r, j]
        return row

    a += svec_rows(k, lifted)
    b += svec_rows(k, lambda i, j: np.array(-low if i == j else 0.0))
    cones.append(clarabel.PSDTriangleConeT(k))

    def block(i, j):
        row = np.zeros(n)
        if i < d <= j:
            row[index(i, j - d)] = -1.0
        return row

    a += svec_rows(d + k, block)
    b += svec_rows(d + k, lambda i, j: np.array(high if i == j else 0.0))
    cones.append(clarabel.PSDTriangleConeT(d + k))

    return (sparse.identity(n, format="csc"), -target.T.ravel(), sparse.csc_matrix(np.array(a)),
            np.array([float(v) for v in b]), cones)


def solve(program):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    solution = clarabel.DefaultSolver(*program, settings).solve()
    assert "Solved" in str(solution.status), solution.status
    return np.array(solution.x)


def convex_step(tasks, s, target, q_factor, low, high):
    d, k = target.shape
    return solve(convex_program(tasks, s, target, q_factor, low, high)).reshape(k, d).T


def reference(tasks, s, start, target, low, high):
    l = start
    for _ in range(30):
        following = convex_step(tasks, s, target, polar(l), low, high)
        moved = np.linalg.norm(following - l)
        l = following
        if moved < 1e-6 * np.linalg.norm(l):
            break
    return l


def random_problem(rng, d, k, m, count, p, q, distance, ball):
    u, _ = np.linalg.qr(rng.standard_normal((d, k)))
    v, _ = np.linalg.qr(rng.standard_normal((k, k)))
    start = u @ np.diag(np.sqrt(rng.uniform(p, q, k))) @ v.T
    tasks, s = [], np.zeros((k, count))
    for t in range(count):
        rows = np.round(rng.standard_normal((m, d)), 3)
        bounds = np.round(np.exp(rng.uniform(np.log(0.1), np.log(2.0), m)), 3)
        slack = float(np.linalg.norm(bounds)) * rng.uniform(1.1, 2.0) if ball else np.inf
        direction = rng.standard_normal(k)
        image = rows @ start @ direction
        scale = min([bounds[i] / image[i] for i in range(m) if image[i] > 0] + [1.0])
        while np.linalg.norm(bounds - scale * image) > slack:
            scale *= 0.9
        s[:, t] = direction * scale * rng.choice([0.5, 1.0])
        tasks.append((rows, bounds, slack))
    target = np.round(start + distance * rng.standard_normal((d, k)), 4)
    return tasks, s, start, target


def write(out, tasks, s, start, target, low, high, distance):
    d, k = start.shape
    numbers = lambda x: " ".join(repr(float(v)) for v in np.asarray(x).T.ravel())
    out.write(f"{d} {k} {len(tasks)} {low!r} {high!r} {distance!r}\n")
    for matrix in (start, target, s):
        out.write(numbers(matrix) + "\n")
    for rows, bounds, slack in tasks:
        out.write(f"{rows.shape[0]} {float(slack)!r}\n{numbers(rows)}\n{numbers(bounds)}\n")


def main():
    rng = np.random.default_rng(20150706)
    # d, k, rows, tasks
    sizes = [(2, 1, 4, 2), (3, 3, 5, 3), (4, 4, 8, 10), (6, 2, 8, 4), (8, 4, 12, 6), (10, 5, 12, 8)]
    with open(sys.argv[1], "w") as out:
        for d, k, m, count in sizes:
            for spread in (1.0 + 1e-3, 1.5, 16.0):
                for distance in (0.01, 0.3, 3.0):
                    ball = bool(rng.integers(2))
                    low, high = 0.7, float(0.7 * np.sqrt(spread))
                    problem = random_problem(rng, d, k, m, count, low**2, high**2, distance, ball)
                    l = reference(*problem, low, high)
                    value = float(np.sum((l - problem[3]) ** 2))
                    write(out, *problem, low, high, value)
                    print(d, k, m, count, spread, distance, ball, value, flush=True)


if __name__ == "__main__":
    main()
