"""Sets opl train beside models of scikit-learn where each decision is a list of three of eight items that have features.

    /usr/bin/python3 testdata/peers/slots.py --opl opl --rows 3000 --seeds 0:3 ideal:place steps:user

Items and visitors are those of offers.py. After the colon stands what a slot's reward depends on:

    place   it is seen with probability 1, .7, .5 by its slot
    user    the visitor reads on from above, and leaves at what he takes in three of four cases
    brands  an item whose brand stands above is taken a third as often

A row a log: what the logging policy, opl, each peer and the best list truly earn of other visitors, means of slots, and what
opl guarantees. Lists of policies are drawn, of opl by its server, four a visitor. Every slot is filled at random with
probability 0.05. Peers model the reward of a visitor, an item and its slot, and fill slots from above by what is expected.
"""

import argparse
import http.client
import itertools
import json
import os
import subprocess
import tempfile
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import offers
from offers import FLOOR, OFFERED, World

SLOTS, DRAWS = 3, 4
SEEN = np.array([1, 0.7, 0.5])
LISTS = np.array(list(itertools.permutations(range(OFFERED), SLOTS)))


def chances(w, x, lists, how):
    """How often each slot of the lists of items at [n, slots] is taken by visitors x [n, 4], if all above were not; and again."""
    c = w.chance(x, lists)
    if how == "place":
        c = c * SEEN
    if how == "brands":
        b = w.of[lists]
        for l in range(1, SLOTS):
            c[:, l] *= np.where((b[:, :l] == b[:, l:l + 1]).any(1), 1 / 3, 1)
    stay = 1 - 0.75 * c if how == "user" else np.ones(c.shape)
    reach = np.column_stack([np.ones(len(c)), stay[:, :-1].cumprod(1)])
    return c, reach * c


def value(w, x, lists, how):
    return (chances(w, x, lists, how)[1] * w.worth(lists)).mean(1)


def draw(w, n, seed, how):
    r = np.random.default_rng(seed)
    x, at = w.contexts(n, r), w.sets(n, r, False)
    score = (w.z[at][..., 1] - 3) / 1.15 * w.stale + r.gumbel(size=at.shape)
    order = (-score).argsort(1)[:, :SLOTS]
    lists = np.take_along_axis(at, order, 1)
    left, p = np.exp((w.z[at][..., 1] - 3) / 1.15 * w.stale), []
    for l in range(SLOTS):
        taken = left[np.arange(n), order[:, l]]
        p.append(taken / left.sum(1))
        left[np.arange(n), order[:, l]] = 0
    c, _ = chances(w, x, lists, how)
    y, here = np.zeros(lists.shape), np.ones(n, bool)
    for l in range(SLOTS):
        y[:, l] = here & (r.random(n) < c[:, l])
        if how == "user":
            here &= ~((y[:, l] > 0) & (r.random(n) < 0.75))
    return x, at, lists, np.array(p).T, y * w.worth(lists)


def fill(scores, r):
    """Lists of places by scores [n, offered, slots], with the floor."""
    n = len(scores)
    out, free = np.zeros((n, SLOTS), int), np.ones(scores.shape[:2], bool)
    for l in range(SLOTS):
        best = np.where(free, scores[:, :, l], -np.inf).argmax(1)
        random = np.where(free, r.random(free.shape), -1).argmax(1)
        out[:, l] = np.where(r.random(n) < FLOOR, random, best)
        free[np.arange(n), out[:, l]] = False
    return out


def peers(w, drawn, xt, tested, how, r):
    x, _, lists, _, y = drawn
    n, slot = len(x), np.tile(np.arange(SLOTS), len(x))
    first = x.shape[1] + w.z.shape[1]
    boosting = dict(early_stopping=True, categorical_features=[0] * w.segment + [first] + [first + 1] * w.known, random_state=0)
    logistic = lambda: make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=8, cv=4, scoring="neg_log_loss", max_iter=500))
    ridge = lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))
    trees = HistGradientBoostingRegressor if w.sale else HistGradientBoostingClassifier
    linear = ridge if w.sale else logistic
    models = {"boosted": (trees(**boosting), 0, y, 1), "logistic": (linear(), 1, y, 1), "quadratic": (linear(), 2, y, 1)}
    if w.sale:
        models["buys-boosted"] = HistGradientBoostingClassifier(**boosting), 0, y > 0, w.worth(tested)[..., None]
    each, m = np.repeat(x, SLOTS, 0), tested.shape[1]
    every, at = np.repeat(xt, m * SLOTS, 0), np.repeat(tested.ravel(), SLOTS)
    place, out = np.tile(np.arange(SLOTS), len(xt) * m), {}
    inputs = lambda x, at, l, d: np.column_stack([w.inputs(x, at, d), l if d == 0 else np.eye(SLOTS)[l]])
    for name, (model, degree, target, times) in models.items():
        model.fit(inputs(each, lists.ravel(), slot, degree), target.ravel())
        of = inputs(every, at, place, degree)
        s = model.predict_proba(of)[:, 1] if hasattr(model, "predict_proba") else model.predict(of)
        s = s.reshape(len(xt), m, SLOTS) * times
        out[name] = np.mean([value(w, xt, np.take_along_axis(tested, fill(s, r), 1), how).mean() for _ in range(DRAWS)])
    return out


def context(w, row):
    return {str(j): f"s{int(v)}" if w.segment and j == 0 else float(v) for j, v in enumerate(row)}


def item(w, i):
    return {"id": f"i{i}", **({} if w.name == "ids" else {**{f"f{j}": float(v) for j, v in enumerate(w.z[i])}, "brand": f"b{w.of[i]}"})}


def served(opl, folder, file, w, xt, tested):
    """Lists that the server answers for visitors xt and offers at [n, m]."""
    address = os.path.join(folder, "address")
    server = subprocess.Popen([opl, "serve", file, "--log", os.path.join(folder, "served.jsonl"), "--seed", "1", "--listen",
                               "127.0.0.1:0", "--address-file", address, "--fsync", "never"], stderr=subprocess.DEVNULL)
    while not os.path.exists(address):
        time.sleep(0.05)
    time.sleep(0.1)
    to, out = http.client.HTTPConnection(open(address).read().strip()), np.zeros((DRAWS, len(xt), SLOTS), int)
    for d, (i, row) in itertools.product(range(DRAWS), enumerate(xt)):
        ask = {"context": context(w, row), "slots": SLOTS, "actions": [item(w, j) for j in tested[i]]}
        to.request("POST", "/decide", json.dumps(ask), {"Content-Type": "application/json"})
        answer = json.loads(to.getresponse().read())
        out[d, i] = [int((a["action"] if isinstance(a, dict) else a)[1:]) for a in answer["slots"]]
    server.terminate()
    server.wait()
    return out


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--opl", default="opl")
    flags.add_argument("--rows", type=int, default=3000)
    flags.add_argument("--seeds", default="0:3")
    flags.add_argument("--alone", action="store_true", help="no peers")
    flags.add_argument("--flags", default="", help="of opl train")
    flags.add_argument("worlds", nargs="*", default=[f"{a}:{b}" for a in ("bilinear", "ideal", "steps", "stale", "crossed", "revenue", "merits")
                                                     for b in ("place", "user", "brands")])
    o = flags.parse_args()
    warnings.filterwarnings("ignore")
    first, end = map(int, o.seeds.split(":"))
    for world in o.worlds:
        name, how = world.split(":")
        w, shares, false = World(name), [], 0
        for seed in range(first, end):
            r = np.random.default_rng(77 + seed)
            w.offer(r)
            xt = w.contexts(500, r)
            tested, drawn = w.sets(len(xt), r, False), draw(w, o.rows, seed, how)
            every = np.stack([value(w, xt, tested[:, of], how) for of in LISTS], 1)
            rating = (w.z[tested][..., 1] - 3) / 1.15 * w.stale
            base = np.mean([value(w, xt, np.take_along_axis(tested, (-rating - r.gumbel(size=rating.shape)).argsort(1)[:, :SLOTS], 1),
                                  how).mean() for _ in range(20)])
            top = LISTS[every.argmax(1)]
            best = np.mean([value(w, xt, np.take_along_axis(tested, fill(np.stack([
                np.where(np.arange(OFFERED) == top[:, [l]], 2, np.where((np.arange(OFFERED)[:, None] == top[:, None, :]).any(2), 1, 0))
                for l in range(SLOTS)], 2), r), 1), how).mean() for _ in range(DRAWS)])
            with tempfile.TemporaryDirectory() as folder:
                log, file = (os.path.join(folder, f) for f in ("log.jsonl", "policy.json"))
                with open(log, "w") as f:
                    for i, (row, at, lists, p, y) in enumerate(zip(*drawn)):
                        print(json.dumps({"decision_id": f"{seed}-{i}", "context": context(w, row), "actions": [item(w, j) for j in at],
                                          "slots": [f"i{j}" for j in lists], "slot_propensities": p.tolist(),
                                          "slot_rewards": y.tolist()}), file=f)
                begin = time.time()
                answer = json.loads(offers.run(o.opl, "train", log, "--out", file, "--no-cache", "--format", "json", "--reward-min=0",
                                               "--reward-max", str(w.high), "--assume", "cascade", *o.flags.split()))
                seconds, earned, least = time.time() - begin, base, base
                if os.path.exists(file):
                    earned = np.mean([value(w, xt, lists, how).mean() for lists in served(o.opl, folder, file, w, xt, tested)])
                    least = answer.get("guaranteed") or 0
            all_ = {"opl": earned, **({} if o.alone else peers(w, drawn, xt, tested, how, r))}
            false += least > earned + 0.003 * w.high
            shares.append([(v - base) / (best - base) for v in (*all_.values(), least)])
            print(world, seed, answer["verdict"], "logging %.4g," % base, *("%s %.4g," % of for of in all_.items()),
                  "best %.4g, guaranteed %.4g; %.1f s" % (best, least, seconds), flush=True)
        print(f"{world}:", *("%s %.3f," % of for of in zip((*all_, "guaranteed"), np.mean(shares, 0))), false, "guarantees false", flush=True)


if __name__ == "__main__":
    main()
