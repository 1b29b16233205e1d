"""Sets opl train under guardrails and budgets beside a model of each outcome, in worlds whose truth is known.

    /usr/bin/python3 testdata/peers/limits.py --opl opl --rows 4000 --seeds 0:8

A row a log: the answer of opl, the true gain of its policy, whether the policy truly keeps its limits, and the same of the
peer, which chooses the weights of outcomes at which its own models keep the limits. A row a world sums up.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "policies" / "python"))
import opl_policy

FLAGS = {
    "router": "--guardrail latency:-0.1 --range latency=0:3 --budget spend=0.5 --range spend=0:1",
    "shop": "--guardrail bad:-0.005",
    "mail": "--guardrail bad:-0.005",
    "spend": "--budget spend=0.3 --range spend=0:1",
    "time": "--guardrail time:-0.02 --range time=0:5",
}
MARGIN = {"cost_latency": 0.1, "cost_bad": 0.005, "cost_time": 0.02}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class World:
    """Contexts x, a logging policy, and the means of the reward and of each outcome by action."""

    def __init__(self, name):
        self.name, r = name, np.random.default_rng(sum(map(ord, name)))
        self.k, self.d = {"router": (3, 2), "shop": (4, 5), "mail": (2, 6), "spend": (4, 4), "time": (5, 6)}[name]
        if name == "shop":
            self.b, self.b0 = r.normal(size=(4, 5)) * 0.6, np.array([-1.2, -1, -0.8, -0.6])
            self.c, self.c0 = r.normal(size=(4, 5)) * 0.5, np.array([-3.6, -3.4, -3.2, -2.8])
        elif name == "mail":  # the first action is to send nothing
            self.b, self.b0 = np.vstack([np.zeros(6), r.normal(size=6) * 0.7]), np.array([-1.5, -0.9])
            self.c, self.c0 = np.vstack([np.zeros(6), r.normal(size=6) * 0.6]), np.array([-4, -3.2])
        elif name == "spend":
            self.b, self.b0 = r.normal(size=(4, 4)) * 0.5, np.array([-0.8, -0.5, -0.2, 0.1])
        elif name == "time":
            self.b, self.b0 = r.normal(size=(5, 6)) * 0.7, np.linspace(-0.6, 0.6, 5)
            self.c = r.normal(size=(5, 6)) * 0.3

    def contexts(self, n, r):
        if self.name == "router":
            return np.column_stack([r.random(n), r.integers(0, 2, n)]).astype(float)
        return r.normal(size=(n, self.d))

    def reward(self, x):
        if self.name == "router":
            tokens, code = x.T
            return np.column_stack([0.9 - 0.6 * tokens - 0.1 * code, 0.8 - 0.3 * tokens - 0.1 * code, 0.9 - 0.1 * code])
        return sigmoid(x @ self.b.T + self.b0)

    def outcomes(self, x):
        if self.name == "router":
            return {"cost_spend": x[:, :1] * np.array([0.1, 0.4, 1]), "cost_latency": np.tile([0.5, 1, 1.5], (len(x), 1))}
        if self.name in ("shop", "mail"):
            return {"cost_bad": sigmoid(x @ self.c.T + self.c0)}
        if self.name == "spend":
            return {"cost_spend": np.tile([0, 0.2, 0.5, 1], (len(x), 1))}
        return {"cost_time": np.clip(1 + 0.25 * np.arange(5) + x @ self.c.T, 0, 4)}

    def logging(self, x):
        if self.name == "router":
            return np.tile([0.2, 0.6, 0.2], (len(x), 1))
        if self.name == "time":
            p = np.exp(2 * self.reward(x))
            return 0.8 * p / p.sum(1, keepdims=True) + 0.2 / self.k
        return np.full((len(x), self.k), 1 / self.k)

    def limits(self, logged):
        """The most that each outcome may be, of what it is under the logging policy."""
        budgets = {"cost_spend": 0.5 if self.name == "router" else 0.3}
        return {name: budgets.get(name, mean + MARGIN.get(name, 0)) for name, mean in logged.items()}

    def draw(self, n, seed):
        r = np.random.default_rng(seed)
        x = self.contexts(n, r)
        p = self.logging(x)
        a = (p.cumsum(1) < r.random(n)[:, None]).sum(1).clip(0, self.k - 1)
        reward, out = (r.random(n) < self.reward(x)[np.arange(n), a]).astype(int), {}
        for name, mean in self.outcomes(x).items():
            v = mean[np.arange(n), a]
            if name == "cost_bad":
                v = (r.random(n) < v).astype(int)
            elif name == "cost_latency":
                v = v * (0.5 + r.random(n))
            elif name == "cost_time":
                v = np.clip(v + 0.4 * r.normal(size=n), 0, 5)
            out[name] = v
        return x, p, a, reward, out

    def write(self, path, n, seed):
        x, p, a, reward, out = drawn = self.draw(n, seed)
        head = ["decision_id", *(f"x_{i}" for i in range(self.d)), "action", "propensity", "reward", *out,
                *(f"p_a{k}" for k in range(self.k))]
        with open(path, "w") as f:
            print(*head, sep=",", file=f)
            for i in range(n):
                print(f"{seed}-{i}", *x[i].round(4), f"a{a[i]}", p[i, a[i]], reward[i], *(v[i] for v in out.values()), *p[i],
                      sep=",", file=f)
        return drawn

    def truth(self, policy, n=4000):
        """The gain of a policy, and whether it keeps its limits."""
        x = self.contexts(n, np.random.default_rng(99)).round(4)
        p, q, reward, out = self.logging(x), policy(x), self.reward(x), self.outcomes(x)
        most = self.limits({name: (p * m).sum(1).mean() for name, m in out.items()})
        kept = all((q * m).sum(1).mean() <= most[name] + 1e-9 for name, m in out.items())
        return ((q - p) * reward).sum(1).mean(), kept


def peer(w, x, p, a, reward, out):
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(x).transform

    def one(z, y):
        if len(set(y)) == 1:
            return lambda x: np.full(len(x), float(y[0]))
        if set(y) <= {0, 1}:
            m = LogisticRegression(C=0.3).fit(z, y)
            return lambda x: m.predict_proba(scale(x))[:, 1]
        m = Ridge(3).fit(z, y)
        return lambda x: m.predict(scale(x))

    def model(y):
        parts = [one(scale(x[a == k]), y[a == k]) for k in range(w.k)]
        return lambda x: np.column_stack([m(x) for m in parts])

    earns, costs = model(reward), {name: model(v) for name, v in out.items()}
    most, best = w.limits({name: v.mean() for name, v in out.items()}), (-1, None)
    r, c = earns(x), {name: m(x) for name, m in costs.items()}
    for weights in itertools.product([0, *(0.05 * 1.5 ** np.arange(16))], repeat=len(out)):
        at = np.arange(len(x)), (r - sum(v * c[name] for v, name in zip(weights, out))).argmax(1)
        if all(c[name][at].mean() <= most[name] for name in out):
            best = max(best, (r[at].mean(), weights), key=lambda of: of[0])
    if best[1] is None:
        return w.logging

    def policy(x):
        score = earns(x) - sum(v * costs[name](x) for v, name in zip(best[1], out))
        return 0.95 * np.eye(w.k)[score.argmax(1)] + 0.05 / w.k

    return policy


def learned(w, opl, folder, seed, rows):
    """The answer of opl train, its policy, and the drawn log."""
    log, file = os.path.join(folder, f"{w.name}-{seed}.csv"), os.path.join(folder, f"{w.name}-{seed}.json")
    drawn = w.write(log, rows, seed)
    done = subprocess.run([opl, "train", log, "--out", file, "--no-cache", "--format", "json", "--seed", "1",
                           *FLAGS[w.name].split()], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    if not os.path.exists(file):
        return "nothing learned", w.logging, drawn
    p, told = opl_policy.load(file), json.loads(done.stdout)
    order = [list(p.actions).index(f"a{k}") for k in range(w.k)]
    of = told.get("decision") or (told.get("certificate") or {}).get("decision") or {}
    return (of.get("answer", "none"),
            lambda x: np.array(p.propensities_of({f"x_{i}": x[:, i] for i in range(w.d)}))[:, order], drawn)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--opl", default="opl")
    flags.add_argument("--rows", type=int, default=4000)
    flags.add_argument("--seeds", default="0:8")
    flags.add_argument("worlds", nargs="*", default=list(FLAGS))
    o = flags.parse_args()
    first, end = map(int, o.seeds.split(":"))
    for name in o.worlds:
        w, rows = World(name), []
        for seed in range(first, end):
            with tempfile.TemporaryDirectory() as folder:
                answer, policy, drawn = learned(w, o.opl, folder, seed, o.rows)
                rows.append((answer == "ship", *w.truth(policy), *w.truth(peer(w, *drawn))))
            print(name, seed, answer, "gain %.4f kept %s, peer %.4f kept %s" % rows[-1][1:], flush=True)
        ship, gain, kept, theirs, keeps = map(np.array, zip(*rows))
        print(f"{name}: gain {gain.mean():.4f}, peer {theirs.mean():.4f}; broken {np.sum(~kept)}, peer {np.sum(~keeps)}; "
              f"{ship.sum()} ship, by {np.mean(gain * ship):.4f} a log, {np.sum(ship & (~kept | (gain <= 0)))} falsely",
              flush=True)


if __name__ == "__main__":
    main()
