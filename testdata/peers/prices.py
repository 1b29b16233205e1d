"""Sets opl train beside models of scikit-learn where actions are prices, doses or bids, or products that have prices.

    /usr/bin/python3 testdata/peers/prices.py --opl opl --rows 4000 --seeds 0:4 elastic stale discounts

A row a log: what the logging policy, opl, each peer and the best policy truly earn, and what opl guarantees. A row a world:
their shares of (best - logging), and how many guarantees were false. Every policy plays at random with probability 0.05.
Peers play the best of 64 numbers: "boosted" and "quadratic" model the reward, "buys" and "buys-boosted" whether somebody buys,
times the price, which a user can do who knows that rewards are sales.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy.stats import truncnorm
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "policies" / "python"))
import opl_policy

NUMBERS = ["elastic", "threshold", "segments", "rare", "wide", "stale", "listed", "flat", "product", "dose", "bid"]
NAMED = {"products": [5, 10, 20, 50, 100], "discounts": [40, 36, 32, 28], "cards": [30, 80, 200]}
RANGES = {"elastic": (5, 100), "rare": (10, 60), "dose": (0, 10), "bid": (0, 5)}
REWARDS = {"dose": (-0.5, 1.5), "bid": (-5, 12)}
FLOOR = 0.05


def sigmoid(z):
    return 1 / (1 + np.exp(-np.clip(z, -40, 40)))


class World:
    def __init__(self, name):
        self.name, r = name, np.random.default_rng(7 * sum(map(ord, name)))
        self.named, self.atoms = name in NAMED, [20.0] if name == "listed" else []
        self.low, self.high = RANGES.get(name, (0, 40))
        self.d = {"wide": 15, "segments": 3}.get(name, 5 if self.named else 4)
        self.sale = name not in ("dose", "bid")
        self.reward = REWARDS.get(name, (0, max(NAMED[name]) if self.named else self.high))
        if self.named:
            self.price = np.array(NAMED[name], float)
            k = len(self.price)
            self.w, self.b = r.normal(size=(k, 5)) * 0.7, np.log(6 / self.price) - 0.5
            if name == "discounts":  # what customers like is mostly the same at each
                self.w, self.b = self.w[0] + 0.3 * self.w * np.arange(k)[:, None], -2 + 0.4 * np.arange(k)
        elif name == "segments":
            self.most = r.uniform(8, 32, size=(5, 3))
        else:
            self.w = r.normal(size=self.d)

    def contexts(self, n, r):
        x = r.normal(size=(n, self.d))
        if self.name == "segments":
            x = np.column_stack([r.integers(0, 5, n), r.integers(0, 3, n), x[:, 0]])
        return x.round(4)

    def buys(self, x, a):
        u, name = x @ self.w if hasattr(self, "w") and not self.named else 0, self.name
        if name == "elastic":
            return sigmoid(1 + 0.6 * u - (1.5 + 0.5 * x[:, 0]) * np.log(a / 20))
        if name == "threshold":
            most = 15 * np.exp(np.clip(0.3 * u, -1, 1))
            return 0.02 + 0.6 * sigmoid((most - a) / (0.1 * most))
        if name == "segments":
            return 0.5 * sigmoid((self.most[x[:, 0].astype(int), x[:, 1].astype(int)] - a) / 2)
        if name == "rare":
            return 0.12 * sigmoid((25 + 8 * np.tanh(0.4 * u) - a) / 5)
        if name == "wide":
            return 0.7 * sigmoid((18 + 6 * x[:, 3] - 4 * x[:, 7] - a) / 4)
        if name == "flat":
            return 0.6 * sigmoid((16 - a) / 4)
        if name == "product":
            return 0.7 * sigmoid((20 + 7 * np.tanh(x[:, 0] * x[:, 1]) + 3 * (x[:, 2] > 0) - a) / 3)
        middle = {"stale": 24, "listed": 20}[name]
        return 0.8 * sigmoid((middle + 5 * np.tanh(u) - a) / 3)

    def wins(self, x, a):  # a bid
        return sigmoid((a - 1.2 * np.exp(0.3 * x[:, 1])) / 0.25)

    def mean(self, x, a):
        """What an action earns in each context; of a named one a is its place."""
        if self.named:
            return sigmoid(x @ self.w.T + self.b)[np.arange(len(x)), a] * self.price[a]
        if self.name == "dose":
            return np.clip(0.6 - 0.03 * (a - 5 - 2 * np.tanh(0.5 * x @ self.w)) ** 2, 0.05, 1)
        if self.name == "bid":
            return (2 * np.exp(0.2 * x @ self.w) - a) * self.wins(x, a)
        return a * self.buys(x, a)

    def old(self):  # prices of a stale policy
        return truncnorm((self.low - 14) / 6, (self.high - 14) / 6, loc=14, scale=6)

    def draw(self, n, seed):
        r = np.random.default_rng(seed)
        x, p, density = self.contexts(n, r), np.full(n, np.nan), np.full(n, 1 / (self.high - self.low))
        if self.named:
            a, p, density = r.integers(0, len(self.price), n), np.full(n, 1 / len(self.price)), None
        elif self.name == "stale":
            a = self.old().rvs(n, random_state=r).round(4)
            density = self.old().pdf(a)
        else:
            a = (self.low + (self.high - self.low) * r.random(n)).round(4)
        if self.atoms:
            at = r.random(n) < 0.5
            a[at], p[at], density = self.atoms[0], 0.5, np.where(at, np.nan, density / 2)
        if self.name == "dose":
            y = np.clip(self.mean(x, a) + 0.25 * r.normal(size=n), *self.reward)
        elif self.name == "bid":
            y = (2 * np.exp(0.2 * x @ self.w) - a) * (r.random(n) < self.wins(x, a))
        else:
            price = self.price[a] if self.named else a
            y = price * (r.random(n) < self.mean(x, a) / price)
        return x, a, p, density, y

    def grid(self, n):
        """Numbers of the range, evenly spaced, and the places of named actions."""
        return np.arange(len(self.price)) if self.named else self.low + (self.high - self.low) * (np.arange(n) + 0.5) / n

    def choices(self):
        return np.append(self.grid(64), self.atoms) if self.atoms else self.grid(64)

    def means(self, x, grid):
        return np.column_stack([self.mean(x, np.full(len(x), a)) for a in grid])

    def logging(self, x):
        if self.name == "stale":
            return self.means(x, self.old().ppf((np.arange(200) + 0.5) / 200)).mean()
        even = self.means(x, self.grid(200)).mean()
        return (even + self.means(x, self.atoms).mean()) / 2 if self.atoms else even

    def floored(self, x, earned):
        return (1 - FLOOR) * earned.mean() + FLOOR * self.means(x, self.grid(200)).mean()


def peers(w, drawn, xt):
    x, a, _, _, y = drawn
    grid = w.choices()
    categories = [0, 1] if w.name == "segments" else []

    def inputs(x, a):  # of models linear in them
        if categories:
            x = np.column_stack([np.eye(5)[x[:, 0].astype(int)], np.eye(3)[x[:, 1].astype(int)], x[:, 2]])
        if w.named:
            one = np.eye(len(w.price))[a]
            return np.column_stack([one, *(x * one[:, [k]] for k in range(len(w.price)))])
        return np.column_stack([x, (a - w.low) / (w.high - w.low)])

    degree = 1 if w.named else 2
    linear = lambda last: make_pipeline(StandardScaler(), PolynomialFeatures(degree, include_bias=False), StandardScaler(), last)
    boosting = dict(early_stopping=True, categorical_features=categories or None, random_state=0)
    trees, bought = np.column_stack([x, a]), y > 0
    price = (lambda a: w.price[a]) if w.named else (lambda a: a)
    fitted = {}
    boosted = HistGradientBoostingRegressor(**boosting).fit(trees, y)
    fitted["boosted"] = lambda x, a: boosted.predict(np.column_stack([x, a]))
    ridge = linear(RidgeCV(np.logspace(-2, 4, 13))).fit(inputs(x, a), y)
    fitted["quadratic"] = lambda x, a: ridge.predict(inputs(x, a))
    if w.sale:
        buys = linear(LogisticRegressionCV(Cs=8, cv=4, scoring="neg_log_loss", max_iter=500)).fit(inputs(x, a), bought)
        fitted["buys"] = lambda x, a: price(a) * buys.predict_proba(inputs(x, a))[:, 1]
        classed = HistGradientBoostingClassifier(**boosting).fit(trees, bought)
        fitted["buys-boosted"] = lambda x, a: price(a) * classed.predict_proba(np.column_stack([x, a]))[:, 1]
    out = {}
    for name, of in fitted.items():
        best = np.column_stack([of(xt, np.full(len(xt), g, dtype=grid.dtype)) for g in grid]).argmax(1)
        out[name] = w.floored(xt, w.mean(xt, grid[best]))
    return out


def columns(w, x):
    text = lambda j, v: f"s{v:g}" if w.name == "segments" and j < 2 else float(v)
    return [{str(j): text(j, v) for j, v in enumerate(row)} for row in x]


def learned(w, opl, drawn, seed):
    """The policy of opl train, and its answer; None: it wrote none."""
    x, a, p, density, y = drawn
    text = lambda v: "" if v != v else repr(float(v))
    with tempfile.TemporaryDirectory() as folder:
        log, file = os.path.join(folder, "log.csv"), os.path.join(folder, "policy.json")
        with open(log, "w") as f:
            head = ["decision_id", *(f"x_{j}" for j in range(x.shape[1])), "action", "reward", "propensity"]
            print(*head, *([] if w.named else ["density"]), sep=",", file=f)
            for i, row in enumerate(columns(w, x)):
                action = f"a{a[i]}" if w.named else text(a[i])
                print(f"{seed}-{i}", *row.values(), action, text(y[i]), text(p[i]), *([] if w.named else [text(density[i])]),
                      sep=",", file=f)
        done = subprocess.run(
            [opl, "train", log, "--out", file, "--no-cache", "--format", "json", f"--reward-min={w.reward[0]}",
             "--reward-max", str(w.reward[1]), *([] if w.named else ["--action-range", f"{w.low}:{w.high}"])],
            capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        return (opl_policy.load(file) if os.path.exists(file) else None), json.loads(done.stdout)


def earns(w, policy, x):
    pi = policy.propensities(columns(w, x))
    if w.named:
        return (pi * w.means(x, [int(a[1:]) for a in policy.actions])).sum(1).mean()
    edges = policy.edges
    means = [w.means(x, edges[k] + (edges[k + 1] - edges[k]) * (np.arange(6) + 0.5) / 6).mean(1) for k in range(len(edges) - 1)]
    return (pi * np.column_stack([*means, *(w.mean(x, np.full(len(x), a)) for a in policy.atoms)])).sum(1).mean()


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--opl", default="opl")
    flags.add_argument("--rows", type=int, default=4000)
    flags.add_argument("--seeds", default="0:4")
    flags.add_argument("--alone", action="store_true", help="no peers")
    flags.add_argument("worlds", nargs="*", default=NUMBERS + list(NAMED))
    o = flags.parse_args()
    first, end = map(int, o.seeds.split(":"))
    for name in o.worlds:
        w, shares, false = World(name), [], 0
        xt = w.contexts(1500, np.random.default_rng(991))
        base = w.logging(xt)
        best = w.floored(xt, w.means(xt, w.choices()).max(1))
        for seed in range(first, end):
            drawn = w.draw(o.rows, seed)
            policy, answer = learned(w, o.opl, drawn, seed)
            truth = earns(w, policy, xt) if policy else base
            least = (answer.get("guaranteed") or w.reward[0]) if policy else base
            all_ = {"opl": truth, "guaranteed": least, **({} if o.alone else peers(w, drawn, xt))}
            false += least > truth + 1e-9
            shares.append([(v - base) / (best - base) for v in all_.values()])
            print(name, seed, answer["verdict"], "logging %.4g," % base, *("%s %.4g," % of for of in all_.items()),
                  "best %.4g" % best, flush=True)
        mean, error = np.mean(shares, 0), 2 * np.std(shares, 0, ddof=1) / np.sqrt(len(shares))
        print(f"{name}:", *("%s %.3f ± %.3f," % of for of in zip(all_, mean, error)), false, "guarantees false", flush=True)


if __name__ == "__main__":
    main()
