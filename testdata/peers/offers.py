"""Sets opl train beside models of scikit-learn where each decision offers eight actions that have features.

    /usr/bin/python3 testdata/peers/offers.py --opl opl --rows 4000 --seeds 0:5 ideal revenue

Worlds are those of WORLDS, and mlp-NAME and tree-NAME: a network, or steps, at random by the name.
A row a log: what the logging policy, opl, each peer and the best policy truly earn of other visitors, and what opl guarantees.
A row a world: their shares of (best - logging), and how many guarantees were false. Every policy plays at random with
probability 0.05. Logs offer some of 60 items, tests some of 60 of which 40 are new, but where items are known by name.
Peers model the reward of a visitor and an item together: "boosted" from both, "logistic" with the products of each feature
of one with each of the other, "quadratic" with those of two features of an item, too. "buys" and "buys-boosted" model
whether somebody buys, times the price, which a user can do who knows that rewards are sales.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

WORLDS = ["bilinear", "ideal", "brands", "steps", "stale", "crossed", "revenue", "distance", "wide", "merits", "ids"]
FLOOR, OFFERED, BRANDS = 0.05, 8, 6


def sigmoid(z):
    return 1 / (1 + np.exp(-np.clip(z, -40, 40)))


class World:
    """Visitors of four numbers, in brands a segment and three; items of a price, a rating, a size and a brand."""

    def __init__(self, name):
        self.name, r = name, np.random.default_rng(11 * sum(map(ord, name)))
        self.a, self.b, self.brand = r.normal(size=(4, 3)) * 0.7, r.normal(size=3) * 0.4, r.normal(size=BRANDS)
        self.like, self.w = r.normal(size=(5, BRANDS)) * 1.2, r.normal(size=(4, 3))
        self.merit, self.own = r.normal(size=100), r.normal(size=(12, 4))
        self.segment, self.sale, self.stale = name == "brands", name == "revenue", name == "stale"
        self.known = name in ("merits", "ids")  # items by name
        self.items, self.high = 12 if name == "ids" else 60, 100.0 if self.sale else 1.0

    def offer(self, r):
        price = np.exp(r.normal(size=100) * 0.7 + 2.5)
        self.z = np.column_stack([price, r.uniform(1, 5, 100), r.normal(size=100)]).round(3)
        if self.name == "wide":
            self.z = r.normal(size=(100, 20)).round(3)
        self.of = r.integers(0, BRANDS, 100)

    def contexts(self, n, r):
        x = r.normal(size=(n, 4)).round(3)
        if self.segment:
            x[:, 0] = r.integers(0, 5, n)
        return x

    def sets(self, n, r, test):
        at = r.random((n, self.items)).argsort(1)[:, :OFFERED]
        return at + (40 if test and not self.known else 0)

    def chance(self, x, at):
        """How often each of the items at [n, m] is right for visitors x [n, 4]."""
        z, b, u, name = self.z[at], self.of[at], x[:, None, :], self.name
        if name == "wide":
            return sigmoid(-1.5 + np.einsum("ni,ij,nmj->nm", x, self.w, z[..., :3]))
        price, rating, size = (np.log(z[..., 0]) - 2.5) / 0.7, (z[..., 1] - 3) / 1.15, z[..., 2]
        both = np.einsum("ni,ij,nmj->nm", x, self.a, np.stack([price, rating, size], -1))
        if name == "bilinear":
            return sigmoid(-1 + both + np.stack([price, rating, size], -1) @ self.b + 0.5 * self.brand[b])
        if name == "ideal":  # each visitor has a price and a size of his own
            return 0.05 + 0.7 * np.exp(-((price - 0.8 * u[..., 0]) ** 2) / 0.8 - (size - 0.8 * u[..., 1]) ** 2 / 1.5)
        if name == "brands":
            return sigmoid(-1.5 + self.like[x[:, 0].astype(int)][np.arange(len(x))[:, None], b] + 0.4 * rating - 0.5 * price)
        if name in ("steps", "stale"):
            fits = (rating > 0.3 * np.sign(u[..., 0])) * (price < u[..., 1])
            return 0.05 + 0.35 * fits + 0.3 * (size * u[..., 2] > 0) * (b < 3)
        if name == "merits":
            return sigmoid(-1.5 + self.merit[at] + 0.5 * both)
        if name == "ids":
            return sigmoid(-1 + 0.5 * self.merit[at] + np.einsum("ni,nmi->nm", x, self.own[at % 12]))
        if name == "crossed":
            return sigmoid(-1.2 + 1.2 * rating * size + 0.8 * u[..., 0] * size + 0.5 * self.brand[b] * price)
        if name == "revenue":
            most = 0.5 * np.tanh(x @ self.a[:, 0])[:, None] + 0.3 * rating + 0.2 * self.brand[b]
            return 0.6 * sigmoid((np.log(25) + most - np.log(z[..., 0])) / 0.3)
        if name == "distance":
            return 0.05 + 0.8 * np.exp(-np.hypot(u[..., 0] - size, u[..., 1] - rating))
        r = np.random.default_rng(sum(map(ord, name)))  # a network or steps at random
        v = np.concatenate([np.repeat(u, at.shape[1], 1), np.stack([price, rating, size], -1)], -1)
        if name.startswith("mlp"):
            h = np.tanh(v @ r.normal(size=(7, 12)) + r.normal(size=12))
            return sigmoid(-1 + h @ r.normal(size=12))
        out = np.full(at.shape, -1.5)
        for _ in range(12):
            j, k = r.integers(0, 4), 4 + r.integers(0, 3)
            out = out + r.normal() * 1.2 * ((v[..., j] > r.normal() * 0.7) & (v[..., k] > r.normal() * 0.7))
        return sigmoid(out)

    def worth(self, at):
        return self.z[at][..., 0].clip(max=self.high) if self.sale else np.ones(at.shape)

    def mean(self, x, at):
        return self.chance(x, at) * self.worth(at)

    def propensities(self, at):
        e = np.exp((self.z[at][..., 1] - 3) / 1.15 if self.stale else np.zeros(at.shape))
        return e / e.sum(1, keepdims=True)

    def draw(self, n, seed):
        r = np.random.default_rng(seed)
        x = self.contexts(n, r)
        at = self.sets(n, r, False)
        p = self.propensities(at)
        a = (p.cumsum(1) > r.random((n, 1))).argmax(1)
        rows = np.arange(n)
        y = (r.random(n) < self.chance(x, at)[rows, a]) * self.worth(at)[rows, a]
        return x, at, a, p, y

    def inputs(self, x, at, degree):
        """A row for each visitor and item at [n]."""
        z, b = self.z[at], self.of[at]
        if degree == 0:
            return np.column_stack([x, z, b, at] if self.known else [x, z, b])
        u = np.column_stack([np.eye(5)[x[:, 0].astype(int)] if self.segment else x[:, 0], x[:, 1:]])
        v = np.column_stack([z, np.eye(BRANDS)[b]])
        if self.known:
            v = np.eye(12)[at] if self.name == "ids" else np.column_stack([v, np.eye(100)[at]])
        out = [u, v, (u[:, :, None] * v[:, None, :]).reshape(len(x), -1)]
        if degree == 2:
            out += [w[:, [i]] * w[:, i:] for w in (x, z) for i in range(w.shape[1])]
        return np.column_stack(out)


def peers(w, drawn, xt, tested, truth):
    x, at, a, _, y = drawn
    item, rows = at[np.arange(len(x)), a], np.arange(len(xt))
    first = x.shape[1] + w.z.shape[1]
    categories = [0] * w.segment + [first] + [first + 1] * w.known
    boosting = dict(early_stopping=True, categorical_features=categories, random_state=0)
    logistic = lambda: make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=8, cv=4, scoring="neg_log_loss", max_iter=500))
    ridge = lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))
    linear = ridge if w.sale else logistic
    boosted = HistGradientBoostingRegressor if w.sale else HistGradientBoostingClassifier
    models = {"boosted": (boosted(**boosting), 0, y, 1), "logistic": (linear(), 1, y, 1), "quadratic": (linear(), 2, y, 1)}
    worth = w.worth(tested)
    if w.sale:
        models["buys"] = logistic(), 1, y > 0, worth
        models["buys-boosted"] = HistGradientBoostingClassifier(**boosting), 0, y > 0, worth
    out, every = {}, np.repeat(xt, OFFERED, 0)
    for name, (model, degree, target, times) in models.items():
        model.fit(w.inputs(x, item, degree), target)
        of = w.inputs(every, tested.ravel(), degree)
        score = model.predict_proba(of)[:, 1] if hasattr(model, "predict_proba") else model.predict(of)
        best = (score.reshape(tested.shape) * times).argmax(1)
        out[name] = (1 - FLOOR) * truth[rows, best].mean() + FLOOR * truth.mean()
    return out


def write(w, path, x, at, a, p, y, name):
    def item(i):
        features = {} if w.name == "ids" else {**{f"f{j}": float(v) for j, v in enumerate(w.z[i])}, "brand": f"b{w.of[i]}"}
        return json.dumps({"id": f"i{i}", **features})

    items = [item(i) for i in range(100)]
    with open(path, "w") as f:
        for i, row in enumerate(x):
            context = {str(j): f"s{int(v)}" if w.segment and j == 0 else float(v) for j, v in enumerate(row)}
            print('{"decision_id":"%s-%d","context":%s,"actions":[%s],"action":"i%d","propensities":%s,"reward":%r}' % (
                name, i, json.dumps(context), ",".join(items[j] for j in at[i]), at[i, a[i]], json.dumps(p[i].tolist()),
                float(y[i])), file=f)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return done.stdout


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--opl", default="opl")
    flags.add_argument("--rows", type=int, default=4000)
    flags.add_argument("--seeds", default="0:5")
    flags.add_argument("--alone", action="store_true", help="no peers")
    flags.add_argument("worlds", nargs="*", default=WORLDS)
    o = flags.parse_args()
    warnings.filterwarnings("ignore")
    first, end = map(int, o.seeds.split(":"))
    for name in o.worlds:
        w, shares, false = World(name), [], 0
        for seed in range(first, end):
            r = np.random.default_rng(77 + seed)
            w.offer(r)
            xt = w.contexts(1500, r)
            tested, same = w.sets(len(xt), r, True), w.sets(len(xt), r, False)
            truth, drawn = w.mean(xt, tested), w.draw(o.rows, seed)
            base = (w.propensities(tested) * truth).sum(1).mean()
            best = (1 - FLOOR) * truth.max(1).mean() + FLOOR * truth.mean()
            with tempfile.TemporaryDirectory() as folder:
                log, file, scores = (os.path.join(folder, f) for f in ("log.jsonl", "policy.json", "scores.jsonl"))
                write(w, log, *drawn, seed)
                answer = json.loads(run(o.opl, "train", log, "--out", file, "--no-cache", "--format", "json",
                                        "--reward-min=0", "--reward-max", str(w.high)))
                earned, least, own = base, base, base
                if os.path.exists(file):
                    means, none = [], np.zeros(len(xt), int)
                    for at in (tested, same):
                        write(w, log, xt, at, none, np.full(at.shape, 1 / OFFERED), none, "test")
                        run(o.opl, "score", file, log, "--no-cache", "--overwrite", "--out", scores)
                        pi = np.array([json.loads(line)["probabilities"] for line in open(scores)])
                        means.append((pi * w.mean(xt, at)).sum(1).mean())
                    (earned, own), least = means, answer.get("guaranteed") or 0
            all_ = {"opl": earned, **({} if o.alone else peers(w, drawn, xt, tested, truth))}
            false += least > own + 1e-9
            shares.append([(v - base) / (best - base) for v in all_.values()])
            print(name, seed, answer["verdict"], "logging %.4g," % base, *("%s %.4g," % of for of in all_.items()),
                  "best %.4g, guaranteed %.4g of %.4g" % (best, least, own), flush=True)
        mean, error = np.mean(shares, 0), 2 * np.std(shares, 0, ddof=1) / np.sqrt(len(shares))
        print(f"{name}:", *("%s %.3f ± %.3f," % of for of in zip(all_, mean, error)), false, "guarantees false", flush=True)


if __name__ == "__main__":
    main()
