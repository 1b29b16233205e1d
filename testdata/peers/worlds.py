"""Worlds whose truth is known, and logs drawn from them, for beside.py.

A world is a function of a generator. It draws the world's constants and returns a sampler, a
function of (generator, n) that returns n contexts, a data frame of columns x_*, and the mean
reward of each action in each context, an array [n, actions]. The first line of its docstring is
the world's row in docs/evidence/learning.md. Its name seeds its draws: a renamed world draws
other logs.
"""
import zlib
from collections import namedtuple

import numpy as np
import pandas as pd

WORLDS = {}

World = namedtuple("World", "make label rewards temperature weights uniform options")

# log has the columns action, reward, propensity and x_*. contexts and mean are other contexts and
# the mean rewards of their actions. logging is what the logging policy earns on them.
Draw = namedtuple("Draw", "log contexts mean logging")


def draw(name, seed, rows, contexts=20000):
    """Draws a log of a world, and contexts with mean rewards to evaluate policies on.

    The logging policy is a softmax of weights[0] times the standardised mean rewards and
    weights[1] times noise by action, mixed with the uniform policy. The same name, seed and rows
    draw the same log, whatever the number of contexts.
    """
    world = WORLDS[name]
    code = zlib.crc32(name.encode())
    structure = np.random.default_rng([code, seed, 7])
    sample = world.make(structure)
    rng = np.random.default_rng([seed, rows, code])
    x, mean = sample(rng, rows)
    actions = mean.shape[1]
    noise = structure.normal(0, 1, actions)

    def propensities(m):
        score = (m - mean.mean()) / mean.std()
        z = world.temperature * (world.weights[0] * score + world.weights[1] * noise)
        return (1 - world.uniform) * softmax(z) + world.uniform / actions

    p = propensities(mean)
    action = (p.cumsum(1) < rng.random(rows)[:, None]).sum(1).clip(0, actions - 1)
    each = np.arange(rows)
    log = x.copy()
    log.insert(0, "action", words("a", action))
    log.insert(1, "reward", world.rewards(rng, mean[each, action]))
    log.insert(2, "propensity", p[each, action])
    t, truth = sample(np.random.default_rng([seed, 99]), contexts)
    return Draw(log, t, truth, (propensities(truth) * truth).sum(1).mean())


def logistic(z):
    return 1 / (1 + np.exp(-z))


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def words(prefix, codes):
    return [f"{prefix}{i}" for i in codes]


def columns(z, prefix="x_"):
    return {f"{prefix}{j}": z[:, j] for j in range(z.shape[1])}


# Rewards: functions of a generator and the mean rewards of the actions that were played.

def bernoulli(rng, mean):
    return (rng.random(len(mean)) < mean) * 1.0


def beta(rng, mean):
    return rng.beta(mean * 4, (1 - mean) * 4).round(4)


def mostly_zero(rng, mean):
    """Seven in ten rewards are 0, the others beta."""
    some, m = rng.random(len(mean)) < .3, mean / .3
    return np.where(some, rng.beta(np.maximum(m, .01) * 2, np.maximum(1 - m, .01) * 2), 0).round(4)


def lognormal(rng, mean):
    return np.minimum(mean * np.exp(.6 * rng.normal(size=len(mean)) - .18), 1).round(6)


def exact(rng, mean):
    return mean.round(4)


def stars(rng, mean):
    """One to five stars, as 0 to 1."""
    return rng.binomial(4, mean) / 4


def signs(rng, mean):
    return np.where(rng.random(len(mean)) < (mean + 1) / 2, 1., -1.)


def world(rewards=bernoulli, temperature=1.0, weights=(.4, .4), uniform=.3, options=()):
    """Adds a world to WORLDS, with how it is logged and the options that `opl train` needs."""
    def add(make):
        label = make.__doc__.splitlines()[0]
        WORLDS[make.__name__] = World(make, label, rewards, temperature, weights, uniform, options)
        return make
    return add


# The worlds of "Codes, and rewards between 0 and 1".

@world()
def hicard(rng):
    """a code of 150 values, as words"""
    effects = rng.normal(0, 1, (150, 5))
    popularity = rng.dirichlet(np.ones(150) * .7)

    def sample(rng, n):
        code = rng.choice(150, n, p=popularity)
        x = {"x_code": words("c", code)}
        for j in range(4):
            x[f"x_n{j}"] = rng.normal(size=n)
        return pd.DataFrame(x), logistic(-.5 + effects[code])
    return sample


@world()
def mixcat(rng):
    """slopes by category"""
    slopes = rng.normal(0, 1.2, (6, 4))
    intercepts = rng.normal(0, .3, 4)

    def sample(rng, n):
        city = rng.integers(0, 6, n)
        age = rng.normal(50, 20, n)
        x = {"x_city": words("t", city), "x_age": age.round(1),
             "x_z": rng.normal(size=n), "x_w": rng.exponential(size=n)}
        return pd.DataFrame(x), logistic(intercepts + slopes[city] * ((age - 50) / 20)[:, None])
    return sample


@world()
def xor(rng):
    """the sign of a product"""
    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        q = np.sign(z[:, 0] * z[:, 1])
        mean = np.stack([.45 + .25 * q, .45 - .25 * q, .5 + 0 * q], 1)
        return pd.DataFrame(columns(z)), mean
    return sample


@world(rewards=mostly_zero)
def revenue(rng):
    """amounts that are mostly 0"""
    slopes = rng.normal(0, .6, (8, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        return pd.DataFrame(columns(z)), .3 * logistic(-1 + z @ slopes)
    return sample


@world(rewards=beta)
def gauss(rng):
    """beta rewards, linear"""
    slopes = rng.normal(0, .5, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), np.clip(.5 + .12 * (z @ slopes), .05, .95)
    return sample


@world()
def sparse(rng):
    """100 features that are mostly 0, ten matter"""
    slopes = np.zeros((100, 4))
    slopes[:10] = rng.normal(0, 2.5, (10, 4))

    def sample(rng, n):
        z = (rng.random((n, 100)) < .06) * 1
        return pd.DataFrame(columns(z)), logistic(-.6 + z @ slopes)
    return sample


@world(temperature=12, weights=(.3, .5), uniform=.08)
def confounded(rng):
    """a nearly deterministic logging policy"""
    slopes = rng.normal(0, .8, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), logistic(-.3 + z @ slopes)
    return sample


@world()
def corr(rng):
    """20 features of three factors"""
    loadings = rng.normal(0, 1, (3, 20))
    slopes = rng.normal(0, .9, (3, 4))

    def sample(rng, n):
        u = rng.normal(size=(n, 3))
        z = u @ loadings + .5 * rng.normal(size=(n, 20))
        return pd.DataFrame(columns(z)), logistic(-.3 + u @ slopes)
    return sample


@world()
def manyshared(rng):
    """40 actions of rank two"""
    actions = rng.normal(0, 1, (2, 40))
    slopes = rng.normal(0, .9, (5, 2))

    def sample(rng, n):
        z = rng.normal(size=(n, 5))
        return pd.DataFrame(columns(z)), logistic(-1 + (z @ slopes) @ actions * .6)
    return sample


@world()
def dose(rng):
    """doses

    Six in order. The best one grows with the weight, and women tolerate large ones better.
    """
    doses = np.arange(6)

    def sample(rng, n):
        weight = rng.uniform(0, 100, n)
        woman = rng.integers(0, 2, n)
        right = weight / 100 * 5
        mean = .6 - .09 * np.abs(doses - right[:, None]) + .08 * woman[:, None] * (doses > 2)
        x = {"x_weight": weight.round(1), "x_sex": np.where(woman, "f", "m"),
             "x_n1": rng.normal(size=n), "x_n2": rng.normal(size=n)}
        return pd.DataFrame(x), np.clip(mean, .05, .95)
    return sample


@world()
def heavy(rng):
    """Cauchy features"""
    slopes = rng.normal(0, 1.0, (6, 4))

    def sample(rng, n):
        z = rng.standard_t(1, size=(n, 6))
        x = {f"x_{j}": z[:, j] * 10**j for j in range(6)}
        return pd.DataFrame(x), logistic(-.3 + np.tanh(z) @ slopes)
    return sample


@world()
def hours(rng):
    """hour and weekday

    Effects of hours are smooth around the clock.
    """
    raw = rng.normal(0, 1, (24, 4))
    kernel = np.array([.2, .5, 1, .5, .2]) / 1.2
    around = np.concatenate([raw[-2:], raw, raw[:2]])
    hourly = np.stack([np.convolve(around[:, a], kernel, "valid") for a in range(4)], 1)
    daily = rng.normal(0, .4, (7, 4))

    def sample(rng, n):
        hour = rng.integers(0, 24, n)
        day = rng.integers(0, 7, n)
        x = {"x_hour": hour, "x_weekday": day,
             "x_a": rng.normal(size=n), "x_b": rng.integers(0, 5, n)}
        return pd.DataFrame(x), logistic(-.3 + hourly[hour] + daily[day])
    return sample


@world()
def smallgain(rng):
    """features that hardly matter"""
    intercepts = np.array([.35, .4, .45, .5, .42])
    slopes = rng.normal(0, .02, (6, 5))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), np.clip(intercepts + z @ slopes, .01, .99)
    return sample


@world()
def rare(rng):
    """rewards of 1 in 20"""
    slopes = rng.normal(0, .5, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), logistic(-4 + z @ slopes)
    return sample


@world()
def segments(rng):
    """20 actions, ten segments"""
    effects = rng.normal(0, .8, (10, 20))
    intercepts = rng.normal(0, .5, 20)

    def sample(rng, n):
        segment = rng.integers(0, 10, n)
        x = {"x_seg": words("s", segment), "x_a": rng.normal(size=n), "x_b": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-.8 + intercepts + effects[segment])
    return sample


@world()
def stores(rng):
    """30 stores, by their numbers"""
    effects = rng.normal(0, 1, (30, 4))

    def sample(rng, n):
        store = rng.integers(0, 30, n)
        x = {"x_store": store + 101, "x_a": rng.normal(size=n), "x_b": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-.5 + effects[store])
    return sample


@world(rewards=signs, options=("--reward-min", "-1"))
def negative(rng):
    """rewards of -1 and 1"""
    slopes = rng.normal(0, .8, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), np.tanh(z @ slopes * .5)
    return sample


@world()
def radial(rng):
    """distance from a point"""
    def sample(rng, n):
        z = rng.normal(size=(n, 5))
        q = np.tanh(z[:, 0]**2 + z[:, 1]**2 - 1.4)
        mean = np.stack([.45 + .25 * q, .45 - .25 * q, .45 + .1 * z[:, 2].clip(-2, 2)], 1)
        return pd.DataFrame(columns(z * 7 + 3)), mean
    return sample


@world()
def net(rng):
    """a random network"""
    inner = rng.normal(0, 1, (8, 16))
    outer = rng.normal(0, 1, (16, 5))

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        return pd.DataFrame(columns(z)), logistic(-.4 + np.tanh(z @ inner * .6) @ outer * .7)
    return sample


@world()
def funnel(rng):
    """frequent and rare channels, missing income"""
    effects = rng.normal(0, .9, (12, 4))
    popularity = np.array([.5, .2, .1, .05, .04, .03, .02, .02, .01, .01, .01, .01])
    slopes = rng.normal(0, .5, (3, 4))
    missing_effects = rng.normal(0, .6, 4)

    def sample(rng, n):
        channel = rng.choice(12, n, p=popularity)
        z = rng.normal(size=(n, 3))
        missing = rng.random(n) < .3
        income = np.exp(10 + z[:, 0]).round()
        x = {"x_channel": words("ch", channel), "x_income": np.where(missing, np.nan, income),
             "x_days": (z[:, 1] * 300 + 900).round(), "x_c": z[:, 2],
             "x_new": np.where(rng.random(n) < .5, "yes", "no")}
        z[missing, 0] = 0
        odds = -.6 + effects[channel] + z @ slopes + missing[:, None] * missing_effects
        return pd.DataFrame(x), logistic(odds)
    return sample


@world(rewards=beta)
def crules(rng):
    """beta rewards, rules

    Each action has a table of three conditions.
    """
    features = rng.integers(0, 6, (4, 3))
    thresholds = rng.normal(0, .5, (4, 3))
    values = rng.uniform(.2, .7, (4, 2, 2, 2))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        mean = np.zeros((n, 4))
        for a in range(4):
            i, j, k = ((z[:, features[a]] > thresholds[a]) * 1).T
            mean[:, a] = values[a, i, j, k]
        return pd.DataFrame(columns(z)), mean
    return sample


@world(rewards=beta)
def cpeaks(rng):
    """beta rewards, peaks"""
    peaks = rng.uniform(-1.5, 1.5, (2, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 5))
        mean = (.3 + .25 * np.exp(-(z[:, :1] - peaks[0])**2)
                + .2 * np.exp(-(z[:, 1:2] - peaks[1])**2))
        return pd.DataFrame(columns(z)), mean
    return sample


@world(rewards=exact)
def exactc(rng):
    """rewards without noise, linear"""
    slopes = rng.normal(0, .5, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        mean = .5 + .1 * (z @ slopes) + .05 * z[:, :1] * np.arange(4)
        return pd.DataFrame(columns(z)), np.clip(mean, .02, .98)
    return sample


@world(rewards=stars)
def ratings(rng):
    """five stars"""
    slopes = rng.normal(0, .4, (5, 6))
    effects = rng.normal(0, .5, (8, 6))

    def sample(rng, n):
        z = rng.normal(size=(n, 5))
        genre = rng.integers(0, 8, n)
        x = {**columns(z), "x_genre": words("g", genre)}
        return pd.DataFrame(x), logistic(.3 + z @ slopes + effects[genre])
    return sample


@world()
def storescat(rng):
    """30 stores, as words"""
    effects = rng.normal(0, 1, (30, 4))

    def sample(rng, n):
        store = rng.integers(0, 30, n)
        x = {"x_store": words("s", store), "x_a": rng.normal(size=n), "x_b": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-.5 + effects[store])
    return sample


@world()
def likert(rng):
    """ten answers of seven points, linear"""
    slopes = rng.normal(0, .4, (10, 4))

    def sample(rng, n):
        answers = rng.integers(1, 8, (n, 10))
        return pd.DataFrame(columns(answers, "x_q")), logistic(-.3 + ((answers - 4) / 2) @ slopes)
    return sample


@world()
def counts(rng):
    """counts (Poisson), linear in their logarithms"""
    slopes = rng.normal(0, .5, (6, 4))
    rates = [.5, 1, 3, 5, 10, 20]

    def sample(rng, n):
        count = rng.poisson(rates, (n, 6))
        odds = -.3 + np.log1p(count) @ slopes - np.log1p(rates) @ slopes
        return pd.DataFrame(columns(count, "x_q")), logistic(odds)
    return sample


@world()
def weeks(rng):
    """week, weekday, age"""
    weekly = np.cumsum(rng.normal(0, .5, (53, 5)), 0)
    weekly -= weekly.mean(0)
    daily = rng.normal(0, .5, (7, 5))

    def sample(rng, n):
        week = rng.integers(1, 54, n)
        day = rng.integers(0, 7, n)
        x = {"x_week": week, "x_dow": day, "x_age": rng.integers(18, 80, n)}
        return pd.DataFrame(x), logistic(-.5 + .7 * weekly[week - 1] + daily[day])
    return sample


@world(rewards=lognormal)
def cents(rng):
    """lognormal amounts of a hundredth"""
    slopes = rng.normal(0, .5, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), .01 * np.exp((z @ slopes).clip(-2, 2))
    return sample


# The worlds of "Sixteen more worlds".

@world()
def uplift(rng):
    """two actions: large shared effects, small differences"""
    slopes = rng.normal(0, .9, 8)

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        segment = rng.integers(0, 4, n)
        shared = z @ slopes * .6
        difference = .35 * z[:, 0] + np.array([.3, -.3, .1, -.1])[segment]
        x = {**columns(z), "x_seg": words("s", segment)}
        odds = np.stack([-.5 + shared, -.5 + shared + difference], 1)
        return pd.DataFrame(x), logistic(odds)
    return sample


@world()
def ratio(rng):
    """a price over an income"""
    rng.normal(0, .3, 3)  # keeps the noise of the logging policy, which is drawn next

    def sample(rng, n):
        price = np.exp(rng.normal(3, .8, n))
        income = np.exp(rng.normal(3.2, .8, n))
        z = rng.normal(size=n)
        q = np.log(price / income)
        mean = np.stack([.6 * logistic(-2 * q) + .1, .6 * logistic(2 * q) + .1,
                         .42 + 0 * q + .05 * np.tanh(z)], 1)
        x = {"x_price": price.round(2), "x_income": income.round(2), "x_z": z}
        return pd.DataFrame(x), mean
    return sample


@world()
def zipfcat(rng):
    """a category of 2,000 values (Zipf)"""
    effects = rng.normal(0, 1, (2000, 4))
    popularity = 1 / np.arange(1, 2001)**.9
    popularity /= popularity.sum()
    slopes = rng.normal(0, .4, (3, 4))

    def sample(rng, n):
        item = rng.choice(2000, n, p=popularity)
        z = rng.normal(size=(n, 3))
        x = {"x_item": words("i", item), **columns(z)}
        return pd.DataFrame(x), logistic(-.4 + effects[item] * .8 + z @ slopes)
    return sample


@world()
def twocats(rng):
    """two categories of 40 and 30 values, and their product"""
    u = rng.normal(0, .9, (40, 2, 5))
    v = rng.normal(0, .9, (30, 2, 5))

    def sample(rng, n):
        a = rng.integers(0, 40, n)
        b = rng.integers(0, 30, n)
        x = {"x_a": words("a", a), "x_b": words("b", b), "x_n": rng.normal(size=n)}
        odds = -.5 + .7 * (u[a, 0] + v[b, 0]) + .5 * u[a, 1] * v[b, 1]
        return pd.DataFrame(x), logistic(odds)
    return sample


@world()
def ands(rng):
    """rules of three conditions"""
    def sample(rng, n):
        z = rng.uniform(size=(n, 8))
        group = rng.integers(0, 3, n)
        mean = np.full((n, 4), .3)
        mean[:, 0] += .35 * ((z[:, 0] > .4) & (z[:, 1] > .4) & (group != 1))
        mean[:, 1] += .35 * ((z[:, 0] < .5) & (z[:, 2] < .6))
        mean[:, 2] += .3 * ((group == 1) & (z[:, 3] > .3))
        mean[:, 3] += .12
        x = {**columns(z.round(3)), "x_g": np.array(["u", "v", "w"])[group]}
        return pd.DataFrame(x), mean
    return sample


@world()
def hundred(rng):
    """100 actions, six segments"""
    effects = rng.normal(0, .7, (6, 100))
    intercepts = rng.normal(0, .5, 100)
    slopes = rng.normal(0, .3, (3, 100))

    def sample(rng, n):
        segment = rng.integers(0, 6, n)
        z = rng.normal(size=(n, 3))
        x = {"x_c": words("c", segment), **columns(z)}
        return pd.DataFrame(x), logistic(-1.5 + intercepts + effects[segment] + z @ slopes)
    return sample


@world()
def minutes(rng):
    """the minute of the day, two peaks an action"""
    peaks = rng.uniform(0, 1440, (4, 2))

    def sample(rng, n):
        minute = rng.integers(0, 1440, n)
        distance = np.abs(minute[:, None, None] - peaks)
        distance = np.minimum(distance, 1440 - distance)
        mean = .25 + .5 * np.exp(-(distance / 90.)**2).max(2)
        x = {"x_minute": minute, "x_z": rng.normal(size=n), "x_w": rng.normal(size=n)}
        return pd.DataFrame(x), mean
    return sample


@world()
def stamps(rng):
    """a time in seconds with a trend"""
    slopes = rng.normal(0, .8, (3, 3))
    trends = rng.normal(0, 1.2, 3)
    start, length = 1.7e9, 86400 * 120

    def sample(rng, n):
        time = start + rng.integers(0, length, n)
        u = (time - start) / length
        z = rng.normal(size=(n, 3))
        x = {"x_time": time.astype(np.int64), "x_hour": (time // 3600 % 24).astype(int),
             **columns(z)}
        return pd.DataFrame(x), logistic(-.4 + z @ slopes + np.outer(2 * u - 1, trends))
    return sample


@world()
def flags(rng):
    """40 answers yes, no, unknown; eight matter"""
    effects = rng.normal(0, 1, (8, 3, 4))

    def sample(rng, n):
        answers = rng.choice(3, (n, 40), p=[.5, .35, .15])
        total = sum(effects[j][answers[:, j]] for j in range(8))
        texts = np.array(["yes", "no", "unknown"])[answers]
        return pd.DataFrame(columns(texts, "x_q")), logistic(-.6 + total * .5)
    return sample


@world()
def copies(rng):
    """four features, five noisy copies of each"""
    slopes = rng.normal(0, .9, (4, 4))
    noise = [0, 0, .1, .3, .6]

    def sample(rng, n):
        z = rng.normal(size=(n, 4))
        x = {}
        for j in range(4):
            for c in range(5):
                scale = 10**(c - 2)
                x[f"x_{j}_{c}"] = z[:, j] * scale + noise[c] * scale * rng.normal(size=n) + c * 100
        return pd.DataFrame(x), logistic(-.4 + z @ slopes)
    return sample


@world()
def mnar(rng):
    """60 % missing, by their value"""
    slopes = rng.normal(0, .9, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        seen = np.where(rng.random((n, 6)) < logistic(.5 + 1.2 * z), np.nan, z)
        return pd.DataFrame(columns(seen)), logistic(-.4 + z @ slopes)
    return sample


@world()
def geo(rng):
    """the nearest of eight places"""
    places = rng.uniform(0, 1, (8, 2))
    means = rng.uniform(.15, .75, (8, 4))

    def sample(rng, n):
        at = rng.uniform(size=(n, 2))
        nearest = ((at[:, None] - places)**2).sum(2).argmin(1)
        x = {"x_lat": 45 + 5 * at[:, 0], "x_lon": 5 + 8 * at[:, 1], "x_z": rng.normal(size=n)}
        return pd.DataFrame(x), means[nearest]
    return sample


@world()
def nearly(rng):
    """rewards of 19 in 20"""
    slopes = rng.normal(0, .7, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), logistic(2.5 + z @ slopes)
    return sample


@world(temperature=5, uniform=.05)
def tiny(rng):
    """ten actions, small propensities"""
    slopes = rng.normal(0, .7, (6, 10))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), logistic(-1 + z @ slopes)
    return sample


@world()
def zeros(rng):
    """counts that are mostly 0

    Their logarithms have effects, and whether they are 0.
    """
    slopes = rng.normal(0, .5, (6, 4))
    positive = rng.normal(0, .7, (6, 4))

    def sample(rng, n):
        v = np.where(rng.random((n, 6)) < .6, 0, np.exp(rng.normal(2, 1.5, (n, 6)))).round()
        odds = -.5 + (np.log1p(v) - 1) @ slopes * .6 + (v > 0) @ positive * .6 - .5
        return pd.DataFrame(columns(v)), logistic(odds)
    return sample


@world()
def steps10(rng):
    """ten discounts in order"""
    right = rng.uniform(1, 8, 5)
    steps = np.arange(10)

    def sample(rng, n):
        segment = rng.integers(0, 5, n)
        income = rng.normal(size=n)
        best = right[segment] + 1.2 * income
        mean = .7 - .02 * (steps - best[:, None])**2 - .01 * steps
        x = {"x_seg": words("s", segment), "x_income": np.exp(10 + income).round(),
             "x_z": rng.normal(size=n)}
        return pd.DataFrame(x), np.clip(mean, .05, .95)
    return sample


# The worlds of "Thirteen more worlds".

@world(temperature=0)
def control(rng):
    """three actions alike, linear effects of six numbers"""
    slopes = rng.normal(0, .8, (3, 6))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), logistic(-.4 + z @ slopes.T)
    return sample


@world()
def baseline(rng):
    """large shared effects by rules, small linear differences"""
    slopes = rng.normal(0, .35, (4, 8))
    at = rng.normal(0, .5, 4)

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        shared = (1.6 * ((z[:, 0] > at[0]) & (z[:, 1] < at[1]))
                  - 1.3 * ((z[:, 2] > at[2]) != (z[:, 3] > at[3])))
        return pd.DataFrame(columns(z)), logistic(shared[:, None] + z @ slopes.T)
    return sample


@world()
def onebest(rng):
    """one action is best everywhere, large shared effects"""
    slopes = rng.normal(0, .7, 8)
    effects = np.array([0, .35, .1, -.1, .05])

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        return pd.DataFrame(columns(z)), logistic((z @ slopes)[:, None] + effects)
    return sample


@world()
def niche(rng):
    """three actions, each good in few contexts"""
    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        good = [z[:, 0] > 1.3, (z[:, 1] < -1.3) & (z[:, 2] > -1), z[:, 3] + z[:, 4] > 2]
        mean = np.stack([np.full(n, .35)] + [np.where(g, .85, .2) for g in good], 1)
        return pd.DataFrame(columns(z)), mean
    return sample


@world()
def cities(rng):
    """200 cities of twelve countries, effects by country"""
    country = rng.integers(0, 12, 200)
    effects = rng.normal(0, 1, (12, 4))
    popularity = rng.dirichlet(np.ones(200) * .6)
    by_age = np.array([1, -1, .5, 0])

    def sample(rng, n):
        city = rng.choice(200, n, p=popularity)
        x = {"x_city": words("c", city), "x_country": words("n", country[city]),
             "x_age": rng.integers(18, 80, n)}
        age = .02 * (x["x_age"] - 50)
        return pd.DataFrame(x), logistic(-.5 + effects[country[city]] + age[:, None] * by_age)
    return sample


@world()
def clusters(rng):
    """ten clusters of customers in six numbers"""
    centers = rng.normal(0, 2, (10, 6))
    effects = rng.normal(0, 1.2, (10, 5))

    def sample(rng, n):
        cluster = rng.integers(0, 10, n)
        z = centers[cluster] + rng.normal(0, .7, (n, 6))
        return pd.DataFrame(columns(z)), logistic(-.6 + effects[cluster])
    return sample


@world()
def hinges(rng):
    """hinges of eight numbers"""
    at = rng.normal(0, .8, (5, 8))
    slopes = rng.normal(0, 1.3, (5, 8))

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        hinge = np.maximum(z[:, None, :] - at[None], 0)
        return pd.DataFrame(columns(z)), logistic(-.5 + ((hinge - .5) * slopes).sum(2))
    return sample


@world()
def minima(rng):
    """the smaller of two numbers"""
    pairs = [(0, 1), (2, 3), (4, 5), (1, 4)]

    def sample(rng, n):
        z = rng.normal(size=(n, 7))
        least = np.stack([np.minimum(z[:, i], z[:, j]) for i, j in pairs], 1)
        return pd.DataFrame(columns(z)), logistic(1.5 * least + .3)
    return sample


@world()
def index(rng):
    """four ranges of one sum of eight numbers"""
    w = rng.normal(size=8)
    w /= np.linalg.norm(w)
    centers = np.array([-1.4, -.5, .4, 1.3])

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        return pd.DataFrame(columns(z)), logistic(.6 - 1.2 * np.abs((z @ w)[:, None] - centers))
    return sample


@world()
def twenty(rng):
    """twenty distinct contexts"""
    effects = rng.normal(0, 1, (20, 5))

    def sample(rng, n):
        cell = rng.integers(0, 20, n)
        x = {"x_a": words("a", cell % 4), "x_b": words("b", cell // 4), "x_n": (cell * 7 % 5) * 1.0}
        return pd.DataFrame(x), logistic(-.5 + effects[cell])
    return sample


@world()
def bought(rng):
    """lognormal spending, by region"""
    slopes = rng.normal(0, 1, (5, 4))
    levels = rng.normal(0, .4, (5, 4))

    def sample(rng, n):
        region = rng.integers(0, 5, n)
        spend = rng.normal(0, 1, n)
        x = {"x_region": words("r", region), "x_spend": np.exp(4 + 1.2 * spend).round(2),
             "x_visits": rng.poisson(3, n), "x_new": np.where(rng.random(n) < .3, "yes", "no")}
        return pd.DataFrame(x), logistic(-.4 + levels[region] + slopes[region] * spend[:, None])
    return sample


@world(rewards=beta)
def hetero(rng):
    """beta rewards, linear and squared effects"""
    slopes = rng.normal(0, .5, (4, 6))
    squares = rng.normal(0, .4, (4, 6))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        mean = logistic(-.2 + z @ slopes.T + (z**2 - 1) @ squares.T)
        return pd.DataFrame(columns(z)), mean
    return sample


@world()
def tenure(rng):
    """months in four steps, age by plan"""
    slopes = rng.normal(0, .8, (3, 4))
    steps = rng.normal(0, .8, (4, 4))

    def sample(rng, n):
        months = np.minimum(rng.exponential(20, n), 72).astype(int)
        age = rng.normal(45, 14, n).clip(18, 90).astype(int)
        plan = rng.integers(0, 3, n)
        step = np.digitize(months, [3, 12, 36])
        effects = slopes[plan] * ((age - 45) / 14)[:, None] + steps[step]
        x = {"x_months": months, "x_age": age, "x_plan": words("p", plan),
             "x_calls": rng.poisson(1, n), "x_bill": rng.gamma(3, 20, n).round(2)}
        return pd.DataFrame(x), logistic(-.5 + effects)
    return sample


# Wide tables: numbers or values of categories by the hundreds.

@world()
def numbers600(rng):
    """600 numbers, of which eight matter"""
    slopes = rng.normal(0, .5, (4, 8))

    def sample(rng, n):
        z = rng.normal(size=(n, 600))
        return pd.DataFrame(columns(z)), logistic(-.5 + z[:, :8] @ slopes.T)
    return sample


def sited(rng, effects):
    """Draws effects of 600 sites, beside effects of eight numbers."""
    slopes, sites = rng.normal(0, .5, (4, 8)), rng.normal(0, .6, (600, 4))

    def sample(rng, n):
        z, site = rng.normal(size=(n, 8)), rng.integers(0, 600, n)
        x = {**columns(z), "x_site": words("s", site)}
        return pd.DataFrame(x), logistic(-.5 + effects(z) @ slopes.T + sites[site])
    return sample


@world()
def sites(rng):
    """a category of 600 values, eight numbers"""
    return sited(rng, lambda z: z)


@world()
def siterules(rng):
    """a category of 600 values, signs of products of numbers"""
    return sited(rng, lambda z: np.sign((z - .3) * (np.roll(z, 1, 1) + .2)))


@world()
def three400(rng):
    """three categories of 400 values, and nothing else"""
    effects = rng.normal(0, .6, (3, 400, 5))

    def sample(rng, n):
        codes = rng.integers(0, 400, (3, n))
        x = {f"x_c{i}": words("v", c) for i, c in enumerate(codes)}
        return pd.DataFrame(x), logistic(-.5 + sum(e[c] for e, c in zip(effects, codes)))
    return sample


# The worlds of "Fourteen other worlds".

def spending(rng, mean):
    """Lognormal amounts up to 500 of those who buy, in units of 500. mean is who buys."""
    buys = rng.random(len(mean)) < mean
    amounts = np.minimum(np.exp(3 + .8 * rng.normal(size=len(mean))), 500)
    return np.where(buys, amounts, 0).round(2) / 500


@world()
def zipnum(rng):
    """800 postcodes, as numbers, neighbours alike"""
    codes = np.sort(rng.choice(90000, 800, replace=False)) + 10000
    effects = np.cumsum(rng.normal(0, .25, (800, 4)), 0)
    effects -= effects.mean(0)
    by_a = np.array([1, -1, 0, .5])

    def sample(rng, n):
        code = rng.integers(0, 800, n)
        a = rng.normal(size=n)
        x = {"x_zip": codes[code], "x_a": a, "x_b": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-.4 + .5 * effects[code] + .4 * a[:, None] * by_a)
    return sample


@world()
def sentinel(rng):
    """-999 for missing numbers"""
    slopes = rng.normal(0, .7, (6, 4))
    missing_effects = rng.normal(0, .6, (3, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        missing = rng.random((n, 3)) < .25
        known, x = z.copy(), z * 10 + 50
        known[:, :3][missing] = 0
        x[:, :3][missing] = -999
        odds = -.4 + known @ slopes + missing @ missing_effects
        return pd.DataFrame(columns(x.round(1))), logistic(odds)
    return sample


def rank(rng, number):
    """Draws effects of rank three of a number of actions."""
    actions = rng.normal(0, 1, (3, number))
    slopes = rng.normal(0, .7, (6, 3))
    levels = rng.normal(0, .4, number)

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), logistic(-1 + levels + (z @ slopes) @ actions * .6)
    return sample


@world()
def hundredrank(rng):
    """100 actions of rank three"""
    return rank(rng, 100)


@world(rewards=spending)
def shop(rng):
    """lognormal features and spending"""
    slopes = rng.normal(0, .7, (8, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        return pd.DataFrame(columns(np.exp(z).round(2))), logistic(-1.5 + z @ slopes)
    return sample


@world()
def binands(rng):
    """50 flags, of which pairs matter"""
    pairs = rng.integers(0, 50, (4, 3, 2))
    effects = rng.choice([-.18, .18], (4, 3))

    def sample(rng, n):
        z = (rng.random((n, 50)) < .5) * 1
        both = z[:, pairs[..., 0]] & z[:, pairs[..., 1]]
        return pd.DataFrame(columns(z)), np.clip(.45 + (both * effects).sum(2), .03, .97)
    return sample


@world()
def tencats(rng):
    """ten categories, two of which interact"""
    levels = rng.integers(4, 16, 10)
    effects = [rng.normal(0, .35, (k, 4)) for k in levels]
    pair = rng.normal(0, .7, (levels[0], levels[1], 4))

    def sample(rng, n):
        codes = [rng.integers(0, k, n) for k in levels]
        odds = -.4 + sum(e[c] for e, c in zip(effects, codes)) + pair[codes[0], codes[1]]
        x = {f"x_c{i}": words("v", c) for i, c in enumerate(codes)}
        return pd.DataFrame(x), logistic(odds)
    return sample


@world()
def abtest(rng):
    """two flags, three actions"""
    effects = rng.normal(0, .5, (2, 2, 3))

    def sample(rng, n):
        new, mobile = rng.integers(0, 2, (2, n))
        x = {"x_new": words("n", new), "x_mobile": mobile}
        return pd.DataFrame(x), logistic(-.5 + effects[new, mobile])
    return sample


@world()
def onestep(rng):
    """one number, a step an action"""
    at = rng.uniform(-1, 1, 4)
    values = rng.uniform(.2, .7, (4, 2))

    def sample(rng, n):
        z = rng.normal(size=n)
        mean = np.stack([values[a][(z > at[a]) * 1] for a in range(4)], 1)
        return pd.DataFrame({"x_age": (z * 15 + 45).round()}), mean
    return sample


@world()
def triple(rng):
    """a product of three numbers, one of two"""
    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        q, r = np.tanh(2 * z[:, 0] * z[:, 1] * z[:, 2]), np.tanh(z[:, 3] * z[:, 4])
        mean = np.stack([.45 + .25 * q, .45 - .25 * q, .45 + .2 * r, .5 + 0 * q], 1)
        return pd.DataFrame(columns(z)), mean
    return sample


@world()
def spiral(rng):
    """spirals in two numbers"""
    def sample(rng, n):
        z = rng.uniform(-3, 3, (n, 2))
        turn = np.arctan2(z[:, 1], z[:, 0]) - 2 * np.hypot(*z.T)
        w, v = np.cos(turn), np.sin(turn)
        x = {**columns(z), "x_n": rng.normal(size=n)}
        return pd.DataFrame(x), np.stack([.5 + .3 * w, .5 - .3 * w, .5 + .3 * v], 1)
    return sample


@world()
def pricing(rng):
    """twelve prices, by income and segment"""
    price = np.linspace(5, 27, 12)
    effects = rng.normal(0, .3, 6)

    def sample(rng, n):
        income = np.exp(rng.normal(10, .6, n))
        segment = rng.integers(0, 6, n)
        worth = 14 * (income / np.exp(10))**.5 * np.exp(effects[segment])
        buys = logistic((worth[:, None] - price) / 3)
        x = {"x_income": income.round(), "x_seg": words("s", segment),
             "x_age": rng.integers(18, 80, n)}
        return pd.DataFrame(x), buys * price / 40
    return sample


@world()
def ads(rng):
    """an advertisement: categories, hour, age, visits"""
    levels = dict(device=3, os=5, browser=8, country=40)
    effects = {name: rng.normal(0, .35, (k, 5)) for name, k in levels.items()}
    countries = rng.dirichlet(np.ones(40) * .5)
    hourly = rng.normal(0, .3, (2, 5))
    by_age, by_visits = rng.normal(0, .3, 5), rng.normal(0, .2, 5)

    def sample(rng, n):
        codes = {name: (rng.choice(40, n, p=countries) if name == "country"
                        else rng.integers(0, k, n)) for name, k in levels.items()}
        hour = rng.integers(0, 24, n)
        age = rng.normal(38, 13, n).round()
        missing = rng.random(n) < .4
        visits = rng.geometric(.3, n)
        clock = np.stack([np.cos(2 * np.pi * hour / 24), np.sin(2 * np.pi * hour / 24)], 1)
        odds = (-2 + sum(effects[name][codes[name]] for name in levels) + clock @ hourly
                + np.where(missing, 0, (age - 38) / 13)[:, None] * by_age
                + np.log(visits)[:, None] * by_visits)
        x = {f"x_{name}": words(name[0], codes[name]) for name in levels}
        x.update(x_hour=hour, x_age=np.where(missing, np.nan, age), x_sessions=visits)
        return pd.DataFrame(x), logistic(odds)
    return sample


@world(temperature=3)
def drifted(rng):
    """scales of 1 to 10,000, a determined logging policy"""
    slopes = rng.normal(0, .6, (10, 6))
    scale = np.array([1, 1, 1, 1, 1, 1, 10, 100, 1000, 1e4])

    def sample(rng, n):
        z = rng.normal(size=(n, 10))
        return pd.DataFrame(columns(z * scale)), logistic(-.4 + z @ slopes + .5 * np.sin(2 * z[:, :1]))
    return sample


@world()
def bow(rng):
    """300 rare words, of which 40 matter"""
    popularity = np.minimum(.4, 3 / (np.arange(300) + 5))
    slopes = np.zeros((300, 4))
    slopes[:40] = rng.normal(0, 1, (40, 4))

    def sample(rng, n):
        z = (rng.random((n, 300)) < popularity) * 1
        return pd.DataFrame(columns(z)), logistic(-.5 + (z - popularity) @ slopes)
    return sample


# Worlds in which no feature has an effect.

@world()
def null(rng):
    """no effects at all"""
    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        return pd.DataFrame(columns(z)), np.full((n, 5), .3) + 1e-9 * z[:, :1]
    return sample


@world()
def null2(rng):
    """no effects of features, small ones of actions"""
    means = rng.uniform(.26, .34, 5)

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        x = {**columns(z), "x_c": words("c", rng.integers(0, 4, n))}
        return pd.DataFrame(x), np.tile(means, (n, 1)) + 1e-9 * z[:, :1]
    return sample


# The worlds of "Sixteen more worlds".

@world()
def cat3way(rng):
    """three categories of six values, every cell its own effects"""
    effects = rng.normal(0, .7, (6, 6, 6, 4)) + rng.normal(0, .4, (6, 1, 1, 4))

    def sample(rng, n):
        a, b, c = rng.integers(0, 6, (n, 3)).T
        x = {"x_a": words("a", a), "x_b": words("b", b), "x_c": words("c", c),
             "x_n": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-.4 + effects[a, b, c])
    return sample


@world()
def seasonal(rng):
    """day of the year by region"""
    phase, base = rng.uniform(0, 2 * np.pi, (4, 4)), rng.normal(0, .3, (4, 4))

    def sample(rng, n):
        day, region = rng.integers(1, 366, n), rng.integers(0, 4, n)
        x = {"x_day": day, "x_region": words("r", region), "x_age": rng.integers(18, 80, n)}
        wave = np.sin(2 * np.pi * day[:, None] / 365 + phase[region])
        return pd.DataFrame(x), logistic(-.4 + base[region] + 1.1 * wave)
    return sample


@world()
def switch(rng):
    """slopes whose sign another number switches"""
    slopes = rng.normal(0, 1, (3, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 7))
        sign = np.where(z[:, 3] > .3, 1, -1)[:, None]
        return pd.DataFrame(columns(z)), logistic(-.4 + sign * (z[:, :3] @ slopes))
    return sample


@world()
def embed(rng):
    """embeddings of 64 numbers of eight factors, 20 actions"""
    loads, slopes = rng.normal(0, 1, (8, 64)) / 8 ** .5, rng.normal(0, 1, (8, 20))

    def sample(rng, n):
        factors = rng.normal(size=(n, 8))
        e = factors @ loads + .3 * rng.normal(size=(n, 64))
        e /= np.linalg.norm(e, axis=1, keepdims=True)
        return pd.DataFrame(columns(e.round(5))), logistic(-1 + .5 * factors @ slopes)
    return sample


@world()
def sphere(rng):
    """the nearest of twelve points in three numbers"""
    points = rng.normal(0, 1, (12, 3))

    def sample(rng, n):
        z = rng.normal(size=(n, 3))
        far = ((z[:, None] - points) ** 2).sum(2)
        return pd.DataFrame(columns((100 + 20 * z).round(1))), .1 + .6 * np.exp(-far / 1.5)
    return sample


@world()
def mixed30(rng):
    """30 numbers, categories and flags with holes; six matter"""
    values, slopes = rng.normal(0, .6, (5, 4)), rng.normal(0, .6, (3, 4))
    step, by, holes = rng.normal(0, .8, 4), rng.normal(0, .6, (5, 4)), rng.normal(0, .5, 4)

    def sample(rng, n):
        z, c = rng.normal(size=(n, 18)), rng.integers(0, 5, (n, 8))
        flag = rng.random((n, 4)) < .3
        odds = (-.4 + values[c[:, 0]] + z[:, :3] @ slopes + (z[:, 3] > .5)[:, None] * step
                + z[:, 4:5] * by[c[:, 1]])
        numbers = np.exp(.5 * z) * 100
        numbers[:, 9:] = z[:, 9:]
        missing = rng.random((n, 18)) < .1
        x = columns(np.where(missing, np.nan, numbers.round(2)))
        x.update({f"x_c{j}": words("v", c[:, j]) for j in range(8)})
        x.update({f"x_f{j}": np.where(flag[:, j], "yes", "no") for j in range(4)})
        return pd.DataFrame(x), logistic(odds + missing[:, :1] * holes)
    return sample


@world()
def deeptree(rng):
    """trees of depth five in ten numbers"""
    feature, cut = rng.integers(0, 10, (4, 31)), rng.normal(0, .6, (4, 31))
    leaves = rng.normal(0, .9, (4, 32))

    def sample(rng, n):
        z = rng.normal(size=(n, 10))
        odds = np.zeros((n, 4))
        for a in range(4):
            node = np.zeros(n, int)
            for _ in range(5):
                node = 2 * node + 1 + (z[np.arange(n), feature[a, node]] > cut[a, node])
            odds[:, a] = leaves[a, node - 31]
        return pd.DataFrame(columns(z)), logistic(-.4 + odds)
    return sample


@world()
def addsines(rng):
    """waves of five numbers, added"""
    phase, speed = rng.uniform(0, 2 * np.pi, (5, 4)), rng.uniform(1, 2.5, (5, 4))
    height = rng.normal(0, .6, (5, 4))

    def sample(rng, n):
        z = rng.uniform(-2, 2, size=(n, 8))
        odds = -.4 + sum(height[j] * np.sin(speed[j] * z[:, j:j + 1] + phase[j]) for j in range(5))
        return pd.DataFrame(columns(z)), logistic(odds)
    return sample


@world()
def offers(rng):
    """four offers by three channels, effects added"""
    offer, channel = rng.normal(0, .6, (8, 4)), rng.normal(0, .6, (8, 3))
    by_offer, by_channel = rng.normal(0, .4, 4), rng.normal(0, .4, 3)

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        odds = (z @ offer + by_offer)[:, :, None] + (z @ channel + by_channel)[:, None, :]
        return pd.DataFrame(columns(z)), logistic(-1 + odds.reshape(n, 12))
    return sample


@world()
def votes12(rng):
    """twelve flags, more than half of an action's six"""
    of = np.stack([rng.choice(12, 6, replace=False) for _ in range(4)])
    sign = rng.choice([-1, 1], (4, 6))

    def sample(rng, n):
        flag = rng.random((n, 12)) < .5
        won = np.stack([((2 * flag[:, of[a]] - 1) * sign[a]).sum(1) > 0 for a in range(4)], 1)
        return pd.DataFrame(columns(flag * 1)), .25 + .4 * won
    return sample


@world()
def lowrank2(rng):
    """a quadratic form of rank two in ten numbers"""
    directions, sign = rng.normal(0, 1 / 10 ** .5, (4, 10, 2)), rng.choice([-1, 1], (4, 2))
    slopes = rng.normal(0, .2, (10, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 10))
        form = np.stack([((z @ directions[a]) ** 2 - 1) @ sign[a] for a in range(4)], 1)
        return pd.DataFrame(columns(z)), logistic(-.4 + .8 * form + z @ slopes)
    return sample


@world(temperature=.15, weights=(.8, .8), uniform=.05)
def sixcats(rng):
    """six categories of seven values, logged nearly evenly"""
    effects = rng.normal(0, .5, (6, 7, 4))

    def sample(rng, n):
        c = rng.integers(0, 7, (n, 6))
        x = {f"x_c{j}": words("v", c[:, j]) for j in range(6)}
        x["x_n"] = rng.normal(size=n)
        return pd.DataFrame(x), logistic(-.4 + sum(effects[j][c[:, j]] for j in range(6)))
    return sample


@world(rewards=exact, options=("--reward-min", "-60", "--reward-max", "240"))
def profit(rng):
    """profits of eight discounts, without noise"""
    slopes, taste = rng.normal(0, .5, 5), rng.normal(0, .5, 5)
    discount = np.linspace(0, .35, 8)

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        basket = np.exp(4 + .4 * z[:, 5]).round(2)
        lift = 8 * discount * np.exp(.6 * (z[:, :5] @ taste))[:, None] * .7
        bought = logistic(-1.2 + (z[:, :5] @ slopes)[:, None] + lift)
        x = columns(z[:, :5])
        x["x_basket"] = basket
        return pd.DataFrame(x), np.clip(basket, 5, 200)[:, None] * (bought * (.5 - discount) - .03)
    return sample


@world()
def saturate(rng):
    """saturating effects of skewed counts"""
    half, height = rng.uniform(1, 20, (5, 4)), rng.normal(0, 1.2, (5, 4))

    def sample(rng, n):
        x = rng.negative_binomial(.6, .05, (n, 8))
        full = [x[:, j:j + 1] / (x[:, j:j + 1] + half[j]) - .4 for j in range(5)]
        return pd.DataFrame(columns(x)), logistic(-.4 + sum(h * f for h, f in zip(height, full)))
    return sample


@world()
def rivals(rng):
    """the difference of two prices decides"""
    base = rng.normal(0, .2, 4)

    def sample(rng, n):
        ours, theirs = rng.lognormal(3, .5, n), rng.lognormal(3, .5, n)
        z = rng.normal(size=(n, 4))
        d = np.tanh((ours - theirs) / 8)
        odds = np.stack([1.2 * d, -1.2 * d, .9 - 1.5 * np.abs(d), .5 * z[:, 0]], 1)
        x = {"x_ours": ours.round(2), "x_theirs": theirs.round(2), **columns(z)}
        return pd.DataFrame(x), logistic(-.5 + base + odds)
    return sample


@world()
def fifteen(rng):
    """15 categories of 2 to 39 values, effects added"""
    sizes = rng.integers(2, 40, 15)
    effects = [rng.normal(0, .35, (k, 4)) for k in sizes]

    def sample(rng, n):
        c = [np.minimum(rng.geometric(min(1, 2.5 / k), n) - 1, k - 1) for k in sizes]
        x = {f"x_c{j}": words("v", code) for j, code in enumerate(c)}
        return pd.DataFrame(x), logistic(-.4 + sum(e[code] for e, code in zip(effects, c)))
    return sample


# The worlds of "Fourteen more worlds".

@world()
def uniqueid(rng):
    """an id of each row, a date, four numbers"""
    slopes, months = rng.normal(0, .8, (4, 4)), rng.normal(0, .6, (12, 4))

    def sample(rng, n):
        z, day = rng.normal(size=(n, 4)), rng.integers(0, 365, n)
        date = pd.Timestamp("2025-01-01") + pd.to_timedelta(day, unit="D")
        x = {"x_id": [f"u{i:06d}" for i in rng.integers(0, 10**6, n)],
             "x_date": date.strftime("%Y-%m-%d"), **columns(z)}
        return pd.DataFrame(x), logistic(-.5 + z @ slopes + months[date.month - 1])
    return sample


@world()
def collinear(rng):
    """50 numbers of three factors and noise"""
    loadings, slopes = rng.normal(0, 1, (3, 50)), rng.normal(0, .8, (3, 4))

    def sample(rng, n):
        f = rng.normal(size=(n, 3))
        z = f @ loadings + .5 * rng.normal(size=(n, 50))
        return pd.DataFrame(columns(z)), logistic(-.5 + f @ slopes)
    return sample


@world()
def cauchy(rng):
    """Cauchy numbers, effects of their logarithms"""
    slopes = rng.normal(0, .7, (5, 4))

    def sample(rng, n):
        z = rng.standard_cauchy((n, 5)) * 10
        logs = np.sign(z) * np.log1p(np.abs(z) / 5)
        return pd.DataFrame(columns(z.round(2))), logistic(-.4 + logs @ slopes)
    return sample


@world()
def geo(rng):
    """twelve cities on a map"""
    places, effects = rng.uniform(-10, 10, (12, 2)), rng.normal(0, 1, (12, 4))

    def sample(rng, n):
        city = rng.integers(0, 12, n)
        at = places[city] + rng.normal(0, .7, (n, 2))
        x = {"x_lat": at[:, 0].round(3), "x_lon": at[:, 1].round(3), "x_z": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-.5 + effects[city])
    return sample


@world(rewards=stars)
def starred(rng):
    """stars, effects of counts"""
    slopes, base = rng.normal(0, .5, (6, 5)), rng.normal(0, .2, 5)
    means = np.array([1, 3, 8, 2, .4, 20])

    def sample(rng, n):
        x = rng.poisson(means, (n, 6))
        odds = .3 + base + (np.log1p(x) - np.log1p(means)) @ slopes
        return pd.DataFrame(columns(x)), logistic(odds)
    return sample


@world()
def uplift2(rng):
    """two actions, a small effect by three of eight numbers"""
    slopes, effects = rng.normal(0, 1, 8), rng.normal(0, .35, 3)

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        shared = z @ slopes * .8 - .5
        own = .1 + z[:, :3] @ effects
        return pd.DataFrame(columns(z)), logistic(np.stack([shared, shared + own], 1))
    return sample


@world()
def zeroinf(rng):
    """amounts that are mostly 0: whether and how much"""
    whether, amount = rng.normal(0, .6, (5, 4)), rng.normal(0, .6, (5, 4))

    def sample(rng, n):
        on = rng.random((n, 5)) < .35
        x = rng.lognormal(2, 1, (n, 5)) * on
        logs = np.where(on, np.log(np.maximum(x, .01)) - 2, 0)
        return pd.DataFrame(columns(x.round(2))), logistic(-.4 + on @ whether + logs @ amount)
    return sample


@world()
def segslope(rng):
    """eight segments, slopes of three numbers by segment"""
    base, slopes = rng.normal(0, .4, (8, 5)), rng.normal(0, .6, (8, 3, 5))

    def sample(rng, n):
        segment, z = rng.integers(0, 8, n), rng.normal(size=(n, 3))
        odds = -.5 + base[segment] + np.einsum("ni,nik->nk", z, slopes[segment])
        return pd.DataFrame({"x_seg": words("s", segment), **columns(z)}), logistic(odds)
    return sample


@world()
def hours(rng):
    """hour and weekday as numbers, effects of windows"""
    effects = rng.normal(0, .9, (4, 7, 6))

    def sample(rng, n):
        hour, day = rng.integers(0, 24, n), rng.integers(0, 7, n)
        x = {"x_hour": hour, "x_day": day, **columns(rng.normal(size=(n, 2)))}
        return pd.DataFrame(x), logistic(-.6 + effects[:, day, hour // 4].T)
    return sample


@world(weights=(.9, .2), uniform=.02, temperature=2.0)
def strongold(rng):
    """a strong logging policy that seldom explores"""
    slopes, bends = rng.normal(0, .8, (6, 4)), rng.normal(0, .5, (6, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        odds = -.5 + z @ slopes + (np.abs(z) - .8) @ bends
        return pd.DataFrame(columns(z)), logistic(odds)
    return sample


@world()
def ordinals(rng):
    """ten answers from 1 to 5, monotone effects"""
    effects = np.sort(rng.normal(0, .5, (10, 5, 4)), 1) * rng.choice([-1, 1], (10, 1, 4))

    def sample(rng, n):
        x = rng.integers(0, 5, (n, 10))
        odds = -.3 + sum(effects[j][x[:, j]] for j in range(10))
        return pd.DataFrame(columns(x + 1)), logistic(odds)
    return sample


@world()
def ratio(rng):
    """the ratio of two amounts"""
    base, slopes = rng.normal(0, .3, 4), rng.normal(0, 1, 4)

    def sample(rng, n):
        u, v = rng.lognormal(3, .7, n), rng.lognormal(2, .7, n)
        r = np.tanh(2 * (np.log(u / v) - 1))
        x = {"x_u": u.round(2), "x_v": v.round(2), **columns(rng.normal(size=(n, 3)))}
        return pd.DataFrame(x), logistic(-.5 + base + r[:, None] * slopes)
    return sample


@world()
def noisy100(rng):
    """100 numbers, thresholds of four"""
    effects = rng.normal(0, 1, (4, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 100))
        return pd.DataFrame(columns(z)), logistic(-.5 + (z[:, :4] > 0) @ effects)
    return sample


@world()
def softpair(rng):
    """a smooth interaction of three numbers, two actions"""
    def sample(rng, n):
        z = rng.uniform(-1, 1, (n, 5))
        q = np.tanh(2 * (np.sin(3 * z[:, 0]) * z[:, 1] + z[:, 2]**2 - .3))
        mean = np.stack([.5 + .35 * q, .5 - .35 * q, .45 + 0 * q, .4 + 0 * q], 1)
        return pd.DataFrame(columns(z.round(4))), mean
    return sample


# The worlds of "Sixteen ordinary tables".

@world()
def patients(rng):
    """patients: peaks of age, slopes of diagnoses by sex, three treatments"""
    diagnoses, sexes = rng.normal(0, .4, (5, 3)), rng.normal(0, .7, (2, 3))
    best, weights = rng.uniform(35, 70, 3), rng.normal(0, .08, 3)

    def sample(rng, n):
        age = rng.normal(55, 15, n).clip(18, 95).round()
        sex, bmi = rng.integers(0, 2, n), rng.normal(27, 5, n).round(1)
        d = (rng.random((n, 5)) < [.4, .3, .2, .1, .05]) * 1
        odds = .3 + sexes[sex] - ((age[:, None] - best) / 20)**2 * .8 + d @ diagnoses
        x = {"x_age": age, "x_sex": np.array(["f", "m"])[sex], "x_bmi": bmi, **columns(d, "x_d")}
        return pd.DataFrame(x), logistic(odds + (bmi - 27)[:, None] * weights)
    return sample


@world()
def insurance(rng):
    """30 regions, a premium, a car's age with thresholds, five offers"""
    regions, limit, jump = rng.normal(0, .4, (30, 5)), rng.uniform(3, 12, 5), rng.normal(0, .9, 5)
    premiums, loyal = rng.normal(0, .6, 5), rng.normal(0, .6, 5)

    def sample(rng, n):
        region = rng.choice(30, n, p=rng.permutation(np.ones(30) / 30))
        premium, car = np.exp(rng.normal(6, .6, n)).round(2), rng.exponential(7, n).round(1)
        years = rng.poisson(4, n)
        odds = (-.4 + regions[region] + jump * (car[:, None] > limit)
                + (np.log(premium) - 6)[:, None] / .6 * premiums * .8
                + np.minimum(years, 8)[:, None] * loyal / 8)
        x = {"x_region": words("r", region), "x_premium": premium, "x_car": car, "x_years": years}
        return pd.DataFrame(x), logistic(odds)
    return sample


@world(rewards=stars)
def movies(rng):
    """twelve kinds of films, liked by taste; how many of 18 genres were watched"""
    genres, films = rng.normal(0, 1, (3, 18)), rng.normal(0, .8, (3, 12))
    ages = rng.normal(0, .4, (5, 12))

    def sample(rng, n):
        taste = rng.normal(size=(n, 3))
        watched, age = rng.poisson(np.exp(.3 + .5 * (taste @ genres) / 1.7)), rng.integers(0, 5, n)
        names = np.array(["18-24", "25-34", "35-49", "50-64", "65+"])
        x = {**columns(watched, "x_g"), "x_age": names[age]}
        return pd.DataFrame(x), logistic(.2 + taste @ films + ages[age])
    return sample


@world()
def articles(rng):
    """25 articles, users by 16 numbers of length 1"""
    slopes, base = rng.normal(0, 1, (16, 25)), rng.normal(-1.5, .4, 25)

    def sample(rng, n):
        z = rng.normal(size=(n, 16))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        return pd.DataFrame(columns(z.round(4))), logistic(base + 1.5 * z @ slopes)
    return sample


@world()
def checker(rng):
    """a checkerboard of two numbers, beside four others"""
    board, slopes = rng.integers(0, 4, (4, 4)), rng.normal(0, .3, (4, 4))

    def sample(rng, n):
        z = rng.uniform(0, 1, (n, 6))
        field = board[(z[:, 0] * 4).astype(int), (z[:, 1] * 4).astype(int)]
        odds = -.7 + 1.8 * (field[:, None] == np.arange(4)) + (z[:, 2:] - .5) @ slopes
        return pd.DataFrame(columns(z.round(3))), logistic(odds)
    return sample


@world()
def parity(rng):
    """whether colour, shape and size agree decides"""
    effects = rng.normal(0, .3, (4, 3))

    def sample(rng, n):
        a, b, c = (rng.integers(0, 4, n) for _ in range(3))
        z = rng.normal(size=n)
        odds = np.stack([-.2 + 0 * a, -.6 + 1.4 * (a == b), -.6 + 1.4 * (b == c)], 1)
        x = {"x_colour": np.array(["red", "green", "blue", "grey"])[a],
             "x_shape": np.array(["square", "round", "long", "flat"])[b],
             "x_size": np.array(["s", "m", "l", "xl"])[c], "x_z": z.round(2)}
        return pd.DataFrame(x), logistic(odds + effects[a] + .3 * z[:, None] * [0, 1, -1])
    return sample


@world()
def tfidf(rng):
    """weights of 80 words, mostly 0; twelve matter"""
    slopes = np.zeros((80, 5))
    slopes[:12] = rng.normal(0, 2.2, (12, 5))

    def sample(rng, n):
        w = np.where(rng.random((n, 80)) < .12, rng.gamma(2, .5, (n, 80)), 0)
        w /= np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-9)
        return pd.DataFrame(columns(w.round(4))), logistic(-.6 + w @ slopes)
    return sample


@world()
def largest(rng):
    """the largest of five numbers says the best of five actions"""
    def sample(rng, n):
        z = rng.normal(size=(n, 5))
        largest = z == z.max(1, keepdims=True)
        return pd.DataFrame(columns(z.round(3))), logistic(-1 + 1.6 * largest)
    return sample


@world()
def oblique(rng):
    """thresholds of three sums of eight numbers"""
    w = rng.normal(0, 1, (8, 3))
    w /= np.linalg.norm(w, axis=0)
    effects = rng.normal(0, .9, (3, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, 8))
        return pd.DataFrame(columns(z.round(3))), logistic(-.3 + (z @ w > 0) @ effects)
    return sample


@world()
def hourofweek(rng):
    """the hour of the week from 0 to 167, effects by day and by part of the day"""
    days, parts = rng.normal(0, .5, (7, 4)), rng.normal(0, .7, (4, 4))
    slopes = rng.normal(0, .5, (3, 4))

    def sample(rng, n):
        hour, z = rng.integers(0, 168, n), rng.normal(size=(n, 3))
        odds = -.4 + days[hour // 24] + parts[hour % 24 // 6] + z @ slopes
        return pd.DataFrame({"x_hour": hour, **columns(z.round(3))}), logistic(odds)
    return sample


@world()
def experts(rng):
    """six kinds of customers, each with slopes of its own in eight numbers"""
    slopes = rng.normal(0, .7, (6, 8, 4))

    def sample(rng, n):
        kind, z = rng.integers(0, 6, n), rng.normal(size=(n, 8))
        x = {"x_kind": words("k", kind), **columns(z.round(3))}
        return pd.DataFrame(x), logistic(-.3 + np.einsum("nj,njk->nk", z, slopes[kind]))
    return sample


@world()
def nested(rng):
    """products in groups in departments: effects of 5, 25 and 125 values"""
    departments = rng.normal(0, .5, (5, 4))
    groups, products = rng.normal(0, .4, (25, 4)), rng.normal(0, .3, (125, 4))

    def sample(rng, n):
        p, z = rng.integers(0, 125, n), rng.normal(size=n)
        x = {"x_department": words("d", p // 25), "x_group": words("g", p // 5),
             "x_product": words("p", p), "x_z": z.round(2)}
        return pd.DataFrame(x), logistic(-.3 + departments[p // 25] + groups[p // 5] + products[p])
    return sample


@world()
def histories(rng):
    """shares of six kinds among what was bought, and how many"""
    effects, number = rng.normal(0, 1.6, (6, 6)), rng.normal(0, .5, 6)

    def sample(rng, n):
        taste, k = rng.dirichlet(np.ones(6) * .6, n), rng.poisson(6, n)
        bought = np.stack([rng.binomial(k, taste[:, j]) for j in range(6)], 1)
        total = bought.sum(1)
        share = np.where(total[:, None] > 0, bought / np.maximum(total, 1)[:, None], np.nan)
        odds = -.8 + np.nan_to_num(share) @ effects * .8 + np.log1p(total)[:, None] * number * .5
        return pd.DataFrame({**columns(share.round(3), "x_s"), "x_n": total}), logistic(odds)
    return sample


@world(weights=(.8, .2), temperature=2, uniform=.1)
def thirty(rng):
    """30 actions, a good logging policy, ten numbers of rank four"""
    factors, loadings = rng.normal(0, 1, (10, 4)) / 2, rng.normal(0, .6, (4, 30))
    base = rng.normal(-1, .4, 30)

    def sample(rng, n):
        z = rng.normal(size=(n, 10))
        return pd.DataFrame(columns(z.round(3))), logistic(base + z @ factors @ loadings)
    return sample


@world()
def bands(rng):
    """an income in bands and a decile, as words of an order"""
    incomes = np.cumsum(rng.normal(0, .4, (7, 4)), 0)
    deciles = np.cumsum(rng.normal(0, .25, (10, 4)), 0)
    incomes, deciles = incomes - incomes.mean(0), deciles - deciles.mean(0)

    def sample(rng, n):
        a, b, f = rng.integers(0, 7, n), rng.integers(0, 10, n), rng.integers(0, 2, n)
        names = np.array(["<10k", "10-20k", "20-30k", "30-50k", "50-80k", "80-120k", ">120k"])
        x = {"x_income": names[a], "x_decile": words("d", b), "x_new": np.array(["yes", "no"])[f]}
        odds = -.2 + incomes[a] + deciles[b] + .4 * f[:, None] * [1, -1, 0, 0]
        return pd.DataFrame(x), logistic(odds)
    return sample


@world()
def rareflag(rng):
    """a flag of 3 % changes everything; three linear numbers"""
    slopes, effects = rng.normal(0, .5, (3, 4)), rng.normal(0, 2.5, 4)

    def sample(rng, n):
        z = rng.normal(size=(n, 3))
        f = (rng.random((n, 5)) < [.03, .03, .2, .2, .5]) * 1
        x = {**columns(z.round(3)), **columns(f, "x_f")}
        return pd.DataFrame(x), logistic(-.4 + z @ slopes + f[:, :1] * effects)
    return sample


# Worlds of a kind, with so many numbers or actions.

def numbered(kind, label, *numbers):
    for number in numbers:
        def make(rng, number=number):
            return kind(rng, number)
        make.__name__ = f"{kind.__name__}{number}"
        make.__doc__ = f"{number:,} {label}"
        world()(make)


def prods(rng, number):
    """Draws effects of products of four pairs of numbers, and of five numbers."""
    products, slopes = rng.normal(0, .8, (4, 4)), rng.normal(0, .4, (5, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, number))
        odds = -.4 + (z[:, 0:8:2] * z[:, 1:8:2]) @ products + z[:, 8:13] @ slopes
        return pd.DataFrame(columns(z)), logistic(odds)
    return sample


def bents(rng, number):
    """Draws where each of five numbers has a peak or a dip for each action."""
    height, at = rng.normal(0, 1, (5, 4)), rng.normal(0, .6, (5, 4))

    def sample(rng, n):
        z = rng.normal(size=(n, number))
        bumps = np.exp(-(z[:, :5, None] - at)**2 * 3)
        return pd.DataFrame(columns(z)), logistic(-.4 + (2 * height * bumps).sum(1))
    return sample


def rules(rng, number):
    """Draws three thresholds an action, in six numbers."""
    base = rng.normal(0, .3, number)
    feature = rng.integers(0, 6, (number, 3))
    cut, height = rng.normal(0, .7, (number, 3)), rng.normal(0, 1, (number, 3))

    def sample(rng, n):
        z = rng.normal(size=(n, 6))
        odds = np.tile(base - 1, (n, 1))
        for j in range(3):
            odds += height[:, j] * (z[:, feature[:, j]] > cut[:, j])
        return pd.DataFrame(columns(z)), logistic(odds)
    return sample


def embedding(rng, width):
    """Draws effects of 60 factors of an embedding, of which the first make up most of it."""
    to = rng.normal(size=(60, width)) * np.exp(-np.arange(60) / 20)[:, None]
    effects = rng.normal(0, .35, (60, 4))

    def sample(rng, n):
        factors = rng.normal(size=(n, 60))
        x = factors @ to + .3 * rng.normal(size=(n, width))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return pd.DataFrame(columns(x.round(4))), logistic(-.5 + factors @ effects)
    return sample


def embedded(width):
    """Makes a world of an embedding."""
    def make(rng):
        return embedding(rng, width)
    make.__name__, make.__doc__ = f"embedding{width}", f"an embedding of {width} numbers"
    world()(make)


for width in (24, 48, 64, 96, 384, 768):
    embedded(width)


@world()
def survey40(rng):
    """40 answers of seven points, five of each of eight scales"""
    effects, loads = rng.normal(0, .5, (8, 4)), rng.uniform(.5, .9, 40)

    def sample(rng, n):
        scales = rng.normal(size=(n, 8))
        z = scales.repeat(5, axis=1) * loads + np.sqrt(1 - loads ** 2) * rng.normal(size=(n, 40))
        x = (4 + 1.3 * z).round().clip(1, 7).astype(int)
        return pd.DataFrame(columns(x)), logistic(-.4 + scales @ effects)
    return sample


@world()
def topics(rng):
    """twelve topics in an embedding of 768 numbers"""
    centres, effects = rng.normal(size=(12, 768)), rng.normal(0, 1.2, (12, 4))

    def sample(rng, n):
        topic = rng.integers(0, 12, n)
        x = centres[topic] + 2.5 * rng.normal(size=(n, 768))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return pd.DataFrame(columns(x.round(4))), logistic(-.5 + effects[topic])
    return sample


@world()
def thousandwords(rng):
    """how often each of 1,000 words occurs; 60 matter"""
    often = 1 / (np.arange(1000) + 5)
    often = np.minimum(60 * often / often.sum(), .9)
    effects = np.zeros((1000, 4))
    effects[rng.permutation(400)[:60]] = rng.normal(0, .8, (60, 4))

    def sample(rng, n):
        x = np.minimum(rng.poisson(often, (n, 1000)), 3)
        return pd.DataFrame(columns(x)), logistic(-.5 + x @ effects)
    return sample


def peaks(rng, number):
    """Draws where in one number each action is best."""
    at = rng.uniform(0, 100, number)

    def sample(rng, n):
        age, z = rng.uniform(0, 100, n), rng.normal(size=(n, 3))
        odds = -2 + 2.5 * np.exp(-((age[:, None] - at) / 12)**2)
        return pd.DataFrame({"x_age": age.round(1), **columns(z)}), logistic(odds)
    return sample


def segs(rng, number):
    """Draws effects of 15 segments and eight channels."""
    segments, channels = rng.normal(0, .8, (15, number)), rng.normal(0, .5, (8, number))

    def sample(rng, n):
        a, b = rng.integers(0, 15, n), rng.integers(0, 8, n)
        x = {"x_seg": words("s", a), "x_ch": words("c", b), "x_z": rng.normal(size=n)}
        return pd.DataFrame(x), logistic(-1.2 + segments[a] + channels[b])
    return sample


def codes(rng, number):
    """Draws effects of a category of 300 values by three factors, and of four numbers."""
    users, factors = rng.normal(0, 1, (300, 3)), rng.normal(0, .5, (3, number))
    slopes, base = rng.normal(0, .4, (4, number)), rng.normal(-1, .4, number)
    popularity = rng.dirichlet(np.ones(300) * .8)

    def sample(rng, n):
        code, z = rng.choice(300, n, p=popularity), rng.normal(size=(n, 4))
        x = {"x_code": words("c", code), **columns(z.round(3))}
        return pd.DataFrame(x), logistic(base + (users @ factors)[code] + z @ slopes)
    return sample


numbered(prods, "numbers, products of four pairs", 30, 40, 60)
numbered(bents, "numbers, peaks of five", 140)
numbered(rules, "actions, three thresholds each", 75, 95)
numbered(peaks, "actions, each best near its own value", 75, 95, 150)
numbered(segs, "actions, effects of 15 segments and eight channels", 75, 95, 150)
numbered(rank, "actions of rank three", 101, 150, 300, 1000, 1200, 3000)
numbered(codes, "actions, a category of 300 values and four numbers", 10, 20, 40, 56, 60, 80, 150)
