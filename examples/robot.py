#!/usr/bin/env python3
"""A robot that learns: it asks what to play, plays it, and tells what happened.

    robot.py URL TOKEN MACHINE ROUNDS

The robot here is a mass on a spring that is simulated in this very process; put your own in its
place. Needs nothing but Python. docs/robots.md explains the rest.
"""
import json, random, sys, urllib.parse, urllib.request, uuid

url, token, machine, rounds = sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3], int(sys.argv[4])


def call(path, query, body=None):
    request = urllib.request.Request(f"{url}/api/{path}?{urllib.parse.urlencode(query)}", body)
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/x-ndjson")
    return json.load(urllib.request.urlopen(request, timeout=60))


def fly(policy):
    """One trajectory: the states, the actions as they were commanded, and how it ended."""
    x, states, actions = [random.uniform(-2, 2), random.uniform(-2, 2)], [], []
    limit = float("inf") if policy["noise_limit"] is None else policy["noise_limit"]
    for _ in range(policy["steps"]):
        noise = max(-limit, min(limit, random.gauss(0, policy["noise_scale"])))
        u = sum(k * (v - g) for k, v, g in zip(policy["gains"][0], x, policy["goal"])) + noise
        states.append(list(x))
        actions.append([u])
        force = max(policy["action_low"][0], min(policy["action_high"][0], u))
        x[1] += policy["dt_seconds"] * (force - 5.5 * x[0] - 0.105 * x[1]) / 2.75  # the machine
        x[0] += policy["dt_seconds"] * x[1]
    return {"states": states + [list(x)], "actions": actions, "end": "finished"}


for _ in range(rounds):
    policy = call("policy", {"machine": machine})
    head = {"format": "lifeguard trajectories", "version": 1, "machine": machine,
            "policy": policy["policy"], "dt_seconds": policy["dt_seconds"],
            "states": policy["inputs"], "actions": policy["actions"]}
    body = "\n".join(json.dumps(line) for line in [head] + [fly(policy) for _ in range(20)])
    # The same id if it must be sent again: then it counts once.
    answer = call("observations", {"machine": machine, "id": str(uuid.uuid4())}, body.encode())
    print(f"round {answer['round']}: mean cost {answer['mean_cost']:.4f}", flush=True)
