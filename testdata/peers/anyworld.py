#!/usr/bin/python3
"""Sets `opl train` beside peers in worlds whose structure is drawn at random, and prints a table in Markdown.

    anyworld.py --opl opl --rows 1000 --worlds 0:60

Each world has a log of its own. Drawn are the number of actions and of columns, what numbers and
categories look like (skewed, heavy tails, years, hours, counts, zeros and amounts, missing values,
rare names), one to six effects (linear, steps, peaks, waves, products, categories and their
products), of which one in five is shared by all actions, how often rewards are 1, and the logging
policy. The columns of the table are those of beside.py, for one log; the last counts ahead, within
the bar and beyond, without an error of the difference: a world has one log here.
"""
import argparse
import math

import numpy as np
import pandas as pd
from scipy.optimize import brentq

import beside
import peers
import worlds

KINDS = ["normal", "lognormal", "uniform", "t", "count", "year", "mixture", "binary", "exp", "hour"]


class World:
    """A structure, drawn from a generator."""

    def __init__(self, g, rate=None):
        self.rate, self.shift = rate, None
        self.k = int(g.choice([2, 3, 4, 5, 6, 8, 12], p=[.15, .2, .2, .15, .15, .1, .05]))
        self.numbers, categories = int(g.integers(0, 13)), int(g.integers(0, 5))
        if self.numbers + categories == 0:
            self.numbers = 3
        n = self.numbers
        self.kinds = g.choice(KINDS, n)
        self.cards = [int(round(np.exp(g.uniform(np.log(2), np.log(60))))) for _ in range(categories)]
        self.zipf = g.uniform(0, 1.3, categories)
        self.correlation = g.uniform(0, .7) if g.random() < .4 else 0
        self.scale = np.exp(g.normal(0, 2, n))
        self.missing = [g.uniform(0, .3) if g.random() < .15 else 0 for _ in range(n)]
        g.normal(size=(n, n))  # as in the first draws of these worlds
        self.effects = [self.effect(g) for _ in range(int(g.integers(1, 7)))]
        self.bias = g.normal(size=self.k) * g.choice([0, .3, .8]) + g.choice([-3., -1.5, -.5, 0, 1])
        self.temperature = g.choice([0, 0, .5, 1, 2])
        self.greedy = g.choice([0, 0, 1])  # actions of high rewards are logged more often
        self.uniform = g.choice([.1, .2, .4])
        self.graded = g.random() < .2 and rate is None  # rewards between 0 and 1

    def effect(self, g):
        n, cards = self.numbers, self.cards
        options = []
        if n:
            options += ["lin", "lin", "lin", "step", "bump", "wave", "abs"]
        if n > 1:
            options += ["prod", "and"]
        if cards:
            options += ["cat", "cat", "cat"]
        if cards and n:
            options += ["catlin"]
        if len(cards) > 1:
            options += ["catcat"]
        kind, own = str(g.choice(options)), g.random() < .8
        m = self.k if own else 1
        amplitude = np.exp(g.normal(-.1, .5))
        j, i = (int(v) for v in (g.choice(n, 2, replace=n < 2) if n else (0, 0)))
        c = len(cards)
        c, d = (int(v) for v in (g.choice(c, 2, replace=c < 2) if c else (0, 0)))
        weights, at = g.normal(size=m) * amplitude, g.normal(size=m) * .8
        period, phase = g.uniform(1.5, 4), g.uniform(0, 6.28, m)
        first = cards[c] if cards else 1
        of = g.normal(size=(first, m)) * amplitude
        pairs = g.normal(size=(first, cards[d] if cards else 1, m)) * amplitude

        def value(s, codes):
            if kind == "lin":
                return s[:, [j]] * weights
            if kind == "step":
                return np.where(s[:, [j]] > at, 1, -1) * weights
            if kind == "bump":
                return 2 * np.exp(-(s[:, [j]] - at) ** 2 / .3) * weights
            if kind == "wave":
                return 1.4 * np.sin(period * s[:, [j]] + phase) * weights
            if kind == "abs":
                return (np.abs(s[:, [j]]) - .8) * weights
            if kind == "prod":
                return s[:, [j]] * s[:, [i]] * weights
            if kind == "and":
                return 2 * ((s[:, [j]] > at) & (s[:, [i]] > 0)) * weights
            if kind == "cat":
                return of[codes[c]]
            if kind == "catlin":
                return of[codes[c]] * s[:, [j]]
            return pairs[codes[c], codes[d]]
        return kind + ("" if own else "*"), value

    def label(self):
        rewards = ", graded" if self.graded else ""
        cards = " ".join(map(str, self.cards))
        return (f"{self.k} actions, {self.numbers} numbers, categories [{cards}]: "
                f"{' '.join(kind for kind, _ in self.effects)}{rewards}")

    def sample(self, r, rows):
        """Returns contexts, and the mean rewards of the actions [rows, K]."""
        z = r.normal(size=(rows, self.numbers))
        if self.correlation and self.numbers:
            z = np.sqrt(1 - self.correlation ** 2) * z + self.correlation * r.normal(size=(rows, 1))
        columns, s = {}, np.zeros((rows, self.numbers))
        for j, kind in enumerate(self.kinds):
            u = np.clip(.5 * (1 + np.vectorize(math.erf)(z[:, j] / math.sqrt(2))), 1e-9, 1 - 1e-9)
            v = self.number(kind, z[:, j], u, self.scale[j])
            s[:, j] = z[:, j]
            if kind == "binary":
                s[:, j] = (u > .6) * 2 - 1.
            elif kind == "mixture":
                s[:, j] = np.where(u < .3, -1., z[:, j])
            if kind != "year":
                v = np.array([f"{q:.5g}" for q in v]).astype(float)
            if self.missing[j]:
                gone = r.random(rows) < self.missing[j]
                v = v.copy()
                v[gone], s[gone, j] = np.nan, 0
            columns[f"x_n{j}"] = v
        codes = []
        for i, card in enumerate(self.cards):
            p = (1 + np.arange(card)) ** -self.zipf[i]
            codes.append(r.choice(card, rows, p=p / p.sum()))
            columns[f"x_c{i}"] = np.array(worlds.words("v", codes[-1]), dtype=object)
        logit = np.tile(self.bias, (rows, 1))
        for _, value in self.effects:
            logit = logit + value(s, codes)
        if self.rate:
            logit = .7 * logit.clip(-12, 12)
            self.shift = self.shift or brentq(lambda v: worlds.logistic(logit + v).mean() - self.rate, -30, 30)
            logit = logit + self.shift
        return pd.DataFrame(columns), worlds.logistic(logit)

    @staticmethod
    def number(kind, z, u, scale):
        if kind == "normal":
            return z * scale
        if kind == "lognormal":
            return np.exp(z) * scale
        if kind == "uniform":
            return u * scale
        if kind == "t":
            return np.tan(np.pi * (u - .5)).clip(-50, 50) * scale
        if kind == "count":
            return np.floor(-np.log(1 - u) * 4)
        if kind == "year":
            return np.floor(1950 + u * 70)
        if kind == "mixture":
            return np.where(u < .3, 0, np.exp(z) * scale)
        if kind == "binary":
            return (u > .6) * 1.
        if kind == "exp":
            return -np.log(1 - u) * scale
        return np.floor(u * 24)


def visitors(r, x, mean, visits, own):
    """Visitors come again, to so many rows as there are, and differ beyond their contexts: logits of their actions have
    effects of standard deviation own. Returns their contexts, mean rewards and numbers."""
    who = np.repeat(np.arange(len(x)), r.geometric(1 / visits, len(x)))[:len(x)]
    r.shuffle(who)
    effects = r.normal(0, own, mean.shape)
    return x.iloc[who].reset_index(drop=True), worlds.logistic(np.log(mean / (1 - mean)) + effects)[who], who


def draw(seed, rows, visits=0, own=0, contexts=20000, rate=None, graded=0):
    """Draws a world and its log, and contexts with mean rewards to evaluate policies on."""
    g = np.random.default_rng([seed, 4242])
    world = World(g, rate)
    r = np.random.default_rng([seed, rows, 1])
    x, mean = world.sample(r, rows)
    if visits:
        x, mean, who = visitors(r, x, mean, visits, own)
    noise, center, spread = g.normal(size=world.k), mean.mean(), mean.std() + 1e-9

    def propensities(m):
        score = (m - center) / spread if world.greedy else np.tile(noise, (len(m), 1))
        return (1 - world.uniform) * worlds.softmax(world.temperature * score) + world.uniform / world.k

    p = propensities(mean)
    action = (p.cumsum(1) < r.random(rows)[:, None]).sum(1).clip(0, world.k - 1)
    each = np.arange(rows)
    m = mean[each, action]
    reward = r.beta(m * 4 + 1e-6, (1 - m) * 4 + 1e-6).round(4) if world.graded else (r.random(rows) < m) * 1.
    if graded:
        reward = np.random.default_rng([seed, 7]).beta(m * graded + 1e-6, (1 - m) * graded + 1e-6).round(5)
    log = x.copy()
    log.insert(0, "action", worlds.words("a", action))
    log.insert(1, "reward", reward)
    log.insert(2, "propensity", p[each, action])
    if visits:
        log.insert(3, "group", who)
    t, truth = world.sample(np.random.default_rng([seed, 99]), contexts)
    if visits:
        t, truth, _ = visitors(np.random.default_rng([seed, 98]), t, truth, 1, own)
    return world, worlds.Draw(log, t, truth, (propensities(truth) * truth).sum(1).mean())


def fits(peer, log):
    """Reports that a peer is run: quadratic has too many products of many categories."""
    names = sum(log[c].nunique() for c in log if c.startswith("x_c"))
    return peer != "quadratic" or sum(c.startswith("x_") for c in log) + names <= 50


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--opl", metavar="BINARY", default="opl")
    parser.add_argument("--rows", type=int, default=1000, help="of a log")
    parser.add_argument("--worlds", type=beside.seeds, default="0:60", help="FROM:TO, without TO")
    parser.add_argument("--peers", type=beside.methods, default="logistic,boosted,quadratic,dr-ridge")
    parser.add_argument("--visits", type=float, default=0, help="of a visitor on average, who is a group; 0: rows are apart")
    parser.add_argument("--own", type=float, default=1, help="standard deviation of visitors' own effects on logits")
    parser.add_argument("--rate", type=float, help="mean reward of actions played evenly, of 0 and 1; effects are .7 as large")
    parser.add_argument("--graded", type=float, default=0, metavar="C", help="rewards in [0, 1] of variance m(1 - m)/(C + 1)")
    parser.add_argument("--flags", default="", help="of opl train")
    args = parser.parse_args()
    print(beside.line(["", "world", "logging", "opl", *args.peers, "best", "opl − best peer", "of best − logging"]))
    print("|---:|---|" + "---:|" * (5 + len(args.peers)), flush=True)
    counts = {"ahead": 0, "within": 0, "beyond": 0}
    for seed in args.worlds:
        world, drawn = draw(seed, args.rows, args.visits, args.own, rate=args.rate, graded=args.graded)
        mean = drawn.mean
        policy = beside.train(args.opl, drawn.log, args.flags.split(), f"world {seed}")
        opl = beside.policy_reward(policy, drawn.contexts, mean) if policy else drawn.logging
        best = (1 - peers.FLOOR) * mean.max(1).mean() + peers.FLOOR * mean.mean()
        of = {p: peers.reward(p, drawn.log, drawn.contexts, mean) if fits(p, drawn.log) else None for p in args.peers}
        lead, span = opl - max(v for v in of.values() if v is not None), best - drawn.logging
        bar = (.03 if args.rows < 2000 else .01) * span
        counts["ahead" if lead > 0 else "within" if lead > -bar else "beyond"] += 1
        shown = [beside.decimal(v, 4) if v is not None else "" for v in (opl, *of.values())]
        print(beside.line([str(seed), world.label(), beside.decimal(drawn.logging, 3), *shown, beside.decimal(best, 3),
                           beside.decimal(lead, 4, "+"), f"{lead / span:+.0%}"]), flush=True)
    print("\n" + ", ".join(f"{n} {name}" for name, n in counts.items()))


if __name__ == "__main__":
    main()
