#!/usr/bin/python3
"""Sets `opl train` beside peers on classification sets that a classifier logs.

    temperatures.py --opl opl --rows 1000 --seeds 0:3 --temperatures .3,1,3 sets/churn.csv

A set is a CSV file with a column class (sets.R writes some). Naming the class earns 1. A logistic
regression of few rows (three a class, at least 40) logs: its policy is a softmax of temperature
times log-probability, mixed with .05 of the uniform policy. So it is good, and explores little
where the temperature is high. A log has half of the other rows, at most --rows; policies are
judged on the rest. A row of the table has means over seeds; the last column is the paired
difference to the best peer ± two standard errors. Debian: python3-sklearn, python3-pandas.
"""
import argparse
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import beside
import peers

MIX = .05


def read(path):
    """Returns contexts, a data frame of columns x_*, and the number of each row's class."""
    x = pd.read_csv(path)
    classes, code = np.unique(x.pop("class").astype(str), return_inverse=True)
    x = x[[c for c in x if x[c].nunique() > 1]]
    for c in x:
        if x[c].dtype == object:
            x[c] = x[c].where(x[c].isna(), x[c].astype(str))
    x.columns = ["x_" + c for c in x]
    return x, code, len(classes)


def logger(x, code, k, temperature):
    """Returns a function of contexts that gives the propensities of a policy learned from rows."""
    features = peers.linear(x).fit(x)
    model = LogisticRegression(C=.3, max_iter=500).fit(features.transform(x), code)

    def propensities(contexts):
        score = np.full((len(contexts), k), -6.)
        log_p = model.predict_log_proba(features.transform(contexts))
        score[:, model.classes_] = np.maximum(log_p, -6)
        z = temperature * score
        e = np.exp(z - z.max(1, keepdims=True))
        return (1 - MIX) * e / e.sum(1, keepdims=True) + MIX / k
    return propensities


def measure(path, temperature, seed, args):
    """Returns the rewards of a log's learners by their names, logging and best among them."""
    name = Path(path).stem
    x, code, k = read(path)
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed, int(temperature * 100)])
    order = rng.permutation(len(x))
    few = max(3 * k, 40)
    rows = min(args.rows, (len(x) - few) // 2)
    fit, logged, rest = order[:few], order[few:few + rows], order[few + rows:][:20000]
    policy = logger(x.iloc[fit], code[fit], k, temperature)
    p = policy(x.iloc[logged])
    action = (p.cumsum(1) < rng.random(rows)[:, None]).sum(1).clip(0, k - 1)
    log = x.iloc[logged].reset_index(drop=True).copy()
    log.insert(0, "action", [f"a{a}" for a in action])
    log.insert(1, "reward", (action == code[logged]) * 1.)
    log.insert(2, "propensity", p[np.arange(rows), action])
    contexts, mean = x.iloc[rest].reset_index(drop=True), np.eye(k)[code[rest]]
    learned = beside.train(args.opl, log, (), f"{name}, temperature {temperature}, seed {seed}")
    logging = (policy(contexts) * mean).sum(1).mean()
    rewards = {"logging": logging, "best": .95 + .05 / k, "no policy": learned is None,
               "opl": beside.policy_reward(learned, contexts, mean) if learned else logging}
    for peer in args.peers:
        rewards[peer] = peers.reward(peer, log, contexts, mean)
    return rewards


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", metavar="SET.csv", nargs="+")
    parser.add_argument("--opl", metavar="BINARY", default="opl")
    parser.add_argument("--rows", type=int, default=1000, help="of a log, at most")
    parser.add_argument("--seeds", type=beside.seeds, default="0:3", help="FROM:TO, without TO")
    parser.add_argument("--peers", type=beside.methods, default="logistic,boosted,dr-ridge")
    parser.add_argument("--temperatures", default=".3,1,3")
    args = parser.parse_args()
    print(beside.line(["set, temperature", *beside.columns(args)]))
    print("|---|" + "---:|" * len(beside.columns(args)), flush=True)
    for path in args.sets:
        for t in map(float, args.temperatures.split(",")):
            logs = [measure(path, t, seed, args) for seed in args.seeds]
            label = f"{Path(path).stem}, {t:g}"
            print(beside.line([label, *beside.cells(logs, args)]), flush=True)


if __name__ == "__main__":
    main()
