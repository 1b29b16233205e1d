"""Sets opl train beside models of scikit-learn where each decision is among all items of a catalogue.

    /usr/bin/python3 testdata/peers/catalogue.py --opl opl --items 1000 --rows 20000 --seeds 0:2 steps ideal

Worlds and peers are those of offers.py, but that items are played at random, "--stale" those of a high rating more often.
Logs have the propensity of what was played alone. A row a log: what the logging policy, opl, each peer and the best policy
truly earn of other visitors, and what opl guarantees. Every policy plays at random with probability 0.05.
"""

import argparse
import json
import os
import tempfile
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import offers
from offers import BRANDS, FLOOR, World


def write(w, path, x, action, p, y):
    with open(path, "w") as f:
        print(",".join(f"x_{j}" for j in range(x.shape[1])) + ",action,propensity,reward", file=f)
        for row, a, q, r in zip(x, action, p, y):
            context = [f"s{int(v)}" if w.segment and j == 0 else repr(float(v)) for j, v in enumerate(row)]
            print(",".join(context) + f",i{a},{float(q)!r},{float(r)!r}", file=f)


def peers(w, x, action, y, xt, truth):
    k = truth.shape[1]
    first = x.shape[1] + w.z.shape[1]
    boosting = dict(early_stopping=True, categorical_features=[0] * w.segment + [first], random_state=0)
    logistic = LogisticRegressionCV(Cs=8, cv=4, scoring="neg_log_loss", max_iter=500)
    linear = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)) if w.sale else logistic)
    trees = HistGradientBoostingRegressor if w.sale else HistGradientBoostingClassifier
    models = {"boosted": (trees(**boosting), 0, y, 1), "quadratic": (linear, 2, y, 1)}
    if w.sale:
        models["buys-boosted"] = HistGradientBoostingClassifier(**boosting), 0, y > 0, w.worth(np.arange(k))
    out = {}
    for name, (model, degree, target, times) in models.items():
        model.fit(w.inputs(x, action, degree), target)
        earned = 0
        for i in range(len(xt)):
            of = w.inputs(np.repeat(xt[i:i + 1], k, 0), np.arange(k), degree)
            score = model.predict_proba(of)[:, 1] if hasattr(model, "predict_proba") else model.predict(of)
            earned += (1 - FLOOR) * truth[i, (score * times).argmax()] + FLOOR * truth[i].mean()
        out[name] = earned / len(xt)
    return out


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--opl", default="opl")
    flags.add_argument("--rows", type=int, default=20000)
    flags.add_argument("--items", type=int, default=1000)
    flags.add_argument("--tests", type=int, default=200)
    flags.add_argument("--seeds", default="0:2")
    flags.add_argument("--alone", action="store_true", help="no peers")
    flags.add_argument("--stale", action="store_true")
    flags.add_argument("--flags", default="", help="of opl train")
    flags.add_argument("worlds", nargs="*", default=["steps", "ideal", "crossed", "wide", "revenue"])
    o = flags.parse_args()
    warnings.filterwarnings("ignore")
    k, (first, end) = o.items, map(int, o.seeds.split(":"))
    for name in o.worlds:
        w, shares, false = World(name), [], 0
        for seed in range(first, end):
            r = np.random.default_rng(77 + seed)
            w.z = np.column_stack([np.exp(r.normal(size=k) * 0.7 + 2.5), r.uniform(1, 5, k), r.normal(size=k)]).round(3)
            if name == "wide":
                w.z = r.normal(size=(k, 20)).round(3)
            w.of = r.integers(0, BRANDS, k)
            x, xt = w.contexts(o.rows, r), w.contexts(o.tests, r)
            e = np.exp(0.8 * (w.z[:, 1] - 3) / 1.15 * o.stale)
            p = e / e.sum()
            action = r.choice(k, size=o.rows, p=p)
            played = action[:, None]
            y = (r.random(o.rows) < w.chance(x, played)[:, 0]) * w.worth(played)[:, 0]
            truth = np.vstack([w.mean(xt[i:i + 1], np.arange(k)[None]) for i in range(len(xt))])
            base, best = (truth @ p).mean(), (1 - FLOOR) * truth.max(1).mean() + FLOOR * truth.mean()
            with tempfile.TemporaryDirectory() as folder:
                log, items, file, scores = (os.path.join(folder, f) for f in ("log.csv", "items.csv", "p.json", "s.jsonl"))
                with open(items, "w") as f:
                    print("action," + ",".join(f"z_f{j}" for j in range(w.z.shape[1])) + ",z_brand", file=f)
                    for i in range(k):
                        print(f"i{i}," + ",".join(map(str, w.z[i])) + f",b{w.of[i]}", file=f)
                write(w, log, x, action, p[action], y)
                begin = time.time()
                answer = json.loads(offers.run(o.opl, "train", log, "--catalogue", items, "--out", file, "--no-cache", "--format",
                                               "json", "--reward-min=0", "--reward-max", str(w.high), *o.flags.split()))
                seconds, earned, least = time.time() - begin, base, base
                if os.path.exists(file):
                    write(w, log, xt, np.zeros(len(xt), int), np.full(len(xt), 1 / k), np.zeros(len(xt)))
                    offers.run(o.opl, "score", "--all", file, log, "--catalogue", items, "--no-cache", "--out", scores)
                    pi = np.array([json.loads(line)["probabilities"] for line in open(scores)])
                    earned, least = (pi * truth).sum(1).mean(), answer.get("guaranteed") or 0
            all_ = {"opl": earned, **({} if o.alone else peers(w, x, action, y, xt, truth))}
            false += least > earned + 1e-9
            shares.append([(v - base) / (best - base) for v in (*all_.values(), least)])
            print(name, seed, answer["verdict"], "logging %.4g," % base, *("%s %.4g," % of for of in all_.items()),
                  "best %.4g, guaranteed %.4g; %.1f s" % (best, least, seconds), flush=True)
        print(f"{name}:", *("%s %.3f," % of for of in zip((*all_, "guaranteed"), np.mean(shares, 0))), false,
              "guarantees false", flush=True)


if __name__ == "__main__":
    main()
