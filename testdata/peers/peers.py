#!/usr/bin/python3
"""Learns policies from a decision log as a user of scikit-learn would.

    peers.py LOG.csv TRUTH.csv [METHOD ...]

prints what they truly earn. LOG.csv has the columns action, reward, propensity and contexts x_*.
TRUTH.csv has contexts x_* and mean_a, the mean reward of action a. Every policy plays its best
action with probability .95, else one at random. Settings are scikit-learn's own cross-validated
ones. Where rewards are not 0 or 1, HistGradientBoostingRegressor and RidgeCV take the place of the
classifiers. Debian: python3-sklearn, python3-pandas.
"""
import json, sys, time, warnings
import numpy as np, pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler

warnings.filterwarnings("ignore")
FLOOR = .05
METHODS = ["logistic", "boosted", "quadratic", "dr-ridge", "dr-trees"]


def columns(x):
    return [c for c in x if x[c].dtype != object], [c for c in x if x[c].dtype == object]


def linear(x, quadratic=False):
    nums, cats = columns(x)
    numeric = [SimpleImputer(add_indicator=True), StandardScaler()]
    steps = [ColumnTransformer([("n", make_pipeline(*numeric), nums),
                                ("c", OneHotEncoder(handle_unknown="ignore", sparse=False), cats)])]
    if quadratic:
        steps.append(PolynomialFeatures(2, include_bias=False))
    return make_pipeline(*steps)


def ordinal(x):
    nums, cats = columns(x)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan,
                           encoded_missing_value=np.nan)
    return ColumnTransformer([("n", "passthrough", nums), ("c", codes, cats)])


class Constant:
    def __init__(self, v): self.v = v
    def predict_proba(self, x): return np.tile([1 - self.v, self.v], (len(x), 1))


def classifier(kind, prep, seed):
    def make(x, y):
        if y.sum() < 5 or (1 - y).sum() < 5:
            return Constant((y.sum() + 1) / (len(y) + 2))
        m = (HistGradientBoostingClassifier(early_stopping="auto", random_state=seed)
             if kind == "boosted" else
             LogisticRegressionCV(Cs=8, cv=5, scoring="neg_log_loss", max_iter=300))
        return m.fit(prep.transform(x), y)
    return make


def regressor(trees, seed):
    if trees:
        return HistGradientBoostingRegressor(early_stopping="auto", random_state=seed)
    return RidgeCV(np.logspace(-2, 4, 13))


class Regression:
    def __init__(self, m): self.m = m

    def predict_proba(self, x):
        v = self.m.predict(x)
        return np.column_stack([1 - v, v])


def regression(kind, prep, seed):
    def make(x, y):
        if len(y) < 10:
            return Constant(y.mean())
        return Regression(regressor(kind == "boosted", seed).fit(prep.transform(x), y))
    return make


def direct(kind, x, log, k, seed):
    prep = (ordinal(x) if kind == "boosted" else linear(x, kind == "quadratic")).fit(x)
    make = (classifier if log.reward.isin((0, 1)).all() else regression)(kind, prep, seed)
    models = []
    for a in range(k):
        on = (log.action == f"a{a}").to_numpy()
        models.append(make(x[on], log.reward[on].to_numpy()) if on.sum() else Constant(0))
    return lambda t: np.column_stack([m.predict_proba(prep.transform(t))[:, 1] for m in models])


def robust(kind, x, log, k, seed):
    """Regresses cross-fitted doubly robust scores of each action."""
    base = "boosted" if kind == "dr-trees" else "logistic"
    n = len(x)
    a = log.action.str[1:].astype(int).to_numpy()
    score = np.zeros((n, k))
    for fit, out in KFold(3, shuffle=True, random_state=seed).split(x):
        q = direct(base, x.iloc[fit], log.iloc[fit].reset_index(drop=True), k, seed)(x.iloc[out])
        score[out] = q
        error = log.reward.to_numpy()[out] - q[np.arange(len(out)), a[out]]
        score[out, a[out]] += error / log.propensity.to_numpy()[out]
    prep = (ordinal(x) if kind == "dr-trees" else linear(x)).fit(x)
    z = prep.transform(x)
    models = [regressor(kind == "dr-trees", seed).fit(z, score[:, b]) for b in range(k)]
    return lambda t: np.column_stack([m.predict(prep.transform(t)) for m in models])


def reward(method, log, truth, mean):
    """Learns from log, and returns what the policy earns on the contexts of truth."""
    names = [c for c in log if c.startswith("x_")]
    x, t = log[names].copy(), truth[names].copy()
    for c in names:
        if x[c].dtype == object or t[c].dtype == object:
            x[c], t[c] = x[c].astype(object), t[c].astype(object)
    q = (robust if method.startswith("dr-") else direct)(method, x, log, mean.shape[1], 1)(t)
    best = mean[np.arange(len(mean)), q.argmax(1)]
    return float((1 - FLOOR) * best.mean() + FLOOR * mean.mean())


def main():
    log, truth = pd.read_csv(sys.argv[1]), pd.read_csv(sys.argv[2])
    mean = truth[[c for c in truth if c.startswith("mean_")]].to_numpy()
    out = {}
    for m in sys.argv[3:] or METHODS:
        begin = time.time()
        out[m] = {"reward": reward(m, log, truth, mean), "seconds": time.time() - begin}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
