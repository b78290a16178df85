#!/usr/bin/env python3
"""General conic solvers on the L-steps that bench_projection_speed --dump FILE has written.

    build/release/bench/bench_projection_speed --dump steps.txt
    venv/bin/pip install numpy scipy clarabel scs
    venv/bin/python bench/projection_conic.py steps.txt

Each solver gets one convex program: the lower spectral bound replaced by sym(Q'L) >= low with Q the
polar factor of the last L. Prints its time beside that of lifeguard's whole L-step.
"""
import pathlib
import sys
import time

import numpy as np
import scs

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests" / "data"))
import make_basis_step_reference as reference


def read(path):
    words = iter(open(path).read().split())
    number = lambda: float(next(words))
    matrix = lambda r, c: np.array([number() for _ in range(r * c)]).reshape(c, r).T
    while True:
        first = next(words, None)
        if first is None:
            return
        d, k, count = int(first), int(next(words)), int(next(words))
        low, high, milliseconds = number(), number(), number()
        start, target, s = matrix(d, k), matrix(d, k), matrix(k, count)
        tasks = []
        for _ in range(count):
            m, slack = int(next(words)), number()
            tasks.append((matrix(m, d), matrix(m, 1)[:, 0], slack))
        yield tasks, s, start, target, low, high, milliseconds


def to_scs(program):
    """Clarabel stacks the upper triangle by columns, SCS the lower one: the same order of rows and
    columns reversed, so the PSD blocks have to be permuted."""
    p, q, a, b, cones = program
    rows, cone, first = [], {"l": 0, "q": [], "s": []}, 0
    for kind in cones:
        name = type(kind).__name__
        if "Nonnegative" in name:
            rows += range(first, first + kind.dim)
            cone["l"] += kind.dim
            first += kind.dim
        elif "SecondOrder" in name:
            rows += range(first, first + kind.dim)
            cone["q"].append(kind.dim)
            first += kind.dim
        else:
            n = kind.dim
            upper = lambda i, j: j * (j + 1) // 2 + i
            rows += [first + upper(j, i) for j in range(n) for i in range(j, n)]
            cone["s"].append(n)
            first += n * (n + 1) // 2
    return {"P": p, "A": a[rows, :].tocsc(), "b": b[rows], "c": q}, cone


def main():
    warm = False
    for tasks, s, start, target, low, high, ours in read(sys.argv[1]):
        d, k = start.shape
        program = reference.convex_program(tasks, s, target, reference.polar(start), low, high)
        if not warm:  # the first call of a process loads libraries
            warm = reference.solve(program) is not None
        begin = time.process_time()
        solution = reference.solve(program)
        clarabel_ms = 1e3 * (time.process_time() - begin)
        data, cone = to_scs(program)
        begin = time.process_time()
        result = scs.SCS(data, cone, eps_abs=1e-6, eps_rel=1e-6, verbose=False).solve()
        scs_ms = 1e3 * (time.process_time() - begin)
        value = lambda x: np.sum((np.array(x).reshape(k, d).T - target) ** 2)
        print(f"{d}x{k}: lifeguard {ours:.3f} ms, SCS {scs_ms:.0f} ms ({scs_ms / ours:.0f}x), "
              f"Clarabel {clarabel_ms:.0f} ms ({clarabel_ms / ours:.0f}x); distances "
              f"{value(result['x']):.6g}, {value(solution):.6g}", flush=True)


if __name__ == "__main__":
    main()
