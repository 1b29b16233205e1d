"""Reads policy files of opl, and asks its server. One file to copy; it needs Python 3.8 and numpy alone.

    import opl_policy
    p = opl_policy.load("policy.json")                    # Error: cut off, altered, numbers missing, not finite
    p.hash, p.actions, p.inputs                           # inputs: the names that contexts may have
    p.propensities({"age": 41, "city": "Oslo"})           # [K], of p.actions
    p.propensities([{"age": 41}, {"age": 29}])            # [n, K]
    p.propensities_of({"age": ages, "city": cities})      # [n, K], of columns: arrays, or those of a data frame
    p.densities([{"age": 41}], [9.5])                     # of numbers, where actions are numbers: p.edges, p.atoms
    p.offered({"age": 41}, [{"id": "a", "price": 2.5}])   # of what is offered, where actions have features
    p.offered({"age": 41}, ["item 1", "item 7"])          # likewise, by ids of the file's catalogue
    p.slots({"age": 41}, ["item 1", "item 7"], 2, seed=1) # a list: its actions, each with its propensity given those above
    p.predict_proba(X)                                    # [n, K], of p.classes_: X a frame, an array or dictionaries
    p.frame(X)                                            # a pandas frame, its columns are p.actions
    p.sample(X, seed=1)                                   # actions drawn, and their propensities
    p.guarantee                                           # {"reward": …, "confidence": …, "verdict": …}, or None

    s = opl_policy.Server("https://host:8443", token=token, cafile="cert.pem")
    s.decide({"age": 41, "city": "Oslo"})                 # {"decision_id": …, "action_name": …, "propensity": …}

Propensities are those of opl within 1e-12; sums run in its order, so that scores are equal to the last bit but
for tanh, cos, odds and joint scores, and so are the ties of an argmax. The format is documented in opl's package policyfile. What has no part in a
propensity (history, reward models, the certificate) is in p.file as it comes, and not checked. The hash tells damage; it is no signature.
"""

import base64
import hashlib
import json
import math
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
from numpy.lib.stride_tricks import as_strided

__all__ = ["load", "loads", "Policy", "Server", "Error", "ServerError"]


class Error(ValueError):
    """A policy file, or a context, that is refused: one line that says why."""


def load(path):
    """The policy of a file."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        return loads(data)
    except Error as e:
        raise Error("%s: %s" % (path, e)) from None


def loads(data):
    """The policy of a file's bytes."""
    try:
        return Policy(*_parse(data))
    except Error:
        raise
    except RecursionError:
        raise Error("no policy file: it is nested too deep") from None
    except (ValueError, OverflowError) as e:  # of numbers and texts: Error is one, too
        raise Error("policy file: %s" % _line(e)) from None


# --- the file


def _line(e):
    return " ".join(str(e).split())


def _shown(v):
    s = json.dumps(v)
    return s if len(s) <= 60 else s[:60] + "…"


def _unique(pairs):
    o = dict(pairs)
    if len(o) < len(pairs):
        names = [name for name, _ in pairs]
        raise Error("policy file: the field %s comes twice" % _shown(next(n for n in names if names.count(n) > 1)))
    return o


def _constant(word):
    raise Error("policy file: %s is no number of JSON" % word)


def _parse(data):
    if not data.strip():
        raise Error("no policy file: it is empty")
    try:
        h = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_constant)
    except UnicodeDecodeError:
        raise Error("no policy file: it is no UTF-8") from None
    except json.JSONDecodeError as e:
        if e.pos >= len(data.decode("utf-8").rstrip()) or "Unterminated" in e.msg:
            raise Error("the policy file is cut off: it ends within the JSON, after %d bytes" % len(data)) from None
        raise Error("no policy file: %s" % _line(e)) from None
    if not isinstance(h, dict) or h.get("format") != "opl policy":
        raise Error('no policy file: its format is not "opl policy"')
    version = h.get("version")
    if type(version) is not int or not 1 <= version <= 8:
        raise Error("the policy file has version %s, and versions 1 to 8 can be read" % _shown(version))
    digest = h.get("digest")
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise Error("policy file: the digest %s is not 64 hexadecimal digits" % _shown(digest))
    at = data.find(digest.encode())
    if at < 0:
        raise Error("policy file: the digest is written with escapes")
    got = hashlib.sha256(data[:at] + b"0" * 64 + data[at + 64:]).hexdigest()
    if got != digest:
        raise Error("the policy file was altered after it was written: its digest is %s, it says %s" % (got, digest))
    f = _first(h) if version == 1 else h
    _fields(f, "policy file", "format version digest actions floor reward_min reward_max components history created",
            "catalogue numbers columns training certificate reward_models")
    return f, digest


def _first(h):
    """A file of version 1, of one component, as one of today."""
    _fields(h, "policy file", "format version digest kind actions sigma floor encoder weights data_hash created",
            "nodes training certificate prior")
    t = h.get("training")
    low, high = (t.get("reward_min"), t.get("reward_max")) if isinstance(t, dict) else (None, None)
    ranged = all(type(v) in (int, float) for v in (low, high)) and low < high
    c = {name: h.get(name) for name in ("kind", "sigma", "nodes", "encoder", "weights")}
    f = {name: h.get(name) for name in ("format", "version", "digest", "actions", "floor", "created", "training", "certificate")}
    f.update(reward_min=low if ranged else 0, reward_max=high if ranged else 1, history={"data_hash": h["data_hash"]},
             components=[dict(c, weight=1, taught="", chosen="")])
    return f


def _fields(o, what, required, optional=""):
    """Checks that o is an object with all fields that are required, none of them null, and none that is not known."""
    if not isinstance(o, dict):
        raise Error("%s: want an object" % what)
    for name in required.split():
        if o.get(name) is None:
            raise Error("%s: %s" % (what, name + " is null" if name in o else "no field %s" % _shown(name)))
    for name in o:
        if name not in required.split() and name not in optional.split():
            raise Error("%s: unknown field %s" % (what, _shown(name)))
    return o


def _optional(o, name, without):
    v = o.get(name)
    return without if v is None else v


def _list(v, what):
    if not isinstance(v, list):
        raise Error("policy file: %s: want a list" % what)
    return v


def _number(v, what):
    if type(v) not in (int, float) or not math.isfinite(v):
        raise Error("policy file: %s is %s, want a finite number" % (what, _shown(v) if v is None or type(v) in (str, bool, list, dict) else v))
    return float(v)


def _whole(v, what, least, most):
    if type(v) is not int or not least <= v <= most:
        raise Error("policy file: %s is %s, want a whole number from %d to %d" % (what, _shown(v), least, most))
    return v


def _numbers(v, n, what):
    if len(_list(v, what)) != n:
        raise Error("policy file: %s: %d numbers, want %d" % (what, len(v), n))
    return np.array([_number(x, what) for x in v], dtype=float)


def _matrix(v, rows, cols, what):
    if len(_list(v, what)) != rows:
        raise Error("policy file: %s: %d rows, want %d" % (what, len(v), rows))
    return np.array([_numbers(r, cols, "%s, row %d" % (what, i)) for i, r in enumerate(v)], dtype=float).reshape(rows, cols)


def _names(v, what):
    seen = set()
    for name in _list(v, what):
        if not isinstance(name, str) or name == "" or name in seen:
            raise Error("policy file: %s: the name %s is empty, comes twice, or is no string" % (what, _shown(name)))
        seen.add(name)
    return v


def _bytes(v, dtype, what):
    try:
        return np.frombuffer(base64.b64decode(v, validate=True), dtype=dtype)
    except (ValueError, TypeError):
        raise Error("policy file: %s is not base64 of numbers" % what) from None


class _Encoder:
    """φ(x) of named values: u_j = (b_j − center_j)·scale_j, b_j = v_j or asinh(v_j/width_j), then what is missing,
    then the intercept, then u/‖u‖. Where the encoder imputes, a value that is missing is NaN and gives u_j = 0."""

    def __init__(self, o, what):
        if isinstance(o, dict):  # null is an empty list, as opl writes it
            o = dict(o, **{n: [] for n in ("names", "scale") if n in o and o[n] is None})
        _fields(o, "policy file: " + what, "names scale intercept unit", "center width impute missing")
        self.names = _names(o["names"], what)
        n = len(self.names)
        self.scale = _numbers(o["scale"], n, what + ": scale")
        self.center = np.zeros(n) if o.get("center") is None else _numbers(o["center"], n, what + ": center")
        self.intercept, self.unit = o["intercept"], o["unit"]
        self.width = np.zeros(n) if o.get("width") is None else _numbers(o["width"], n, what + ": width")
        self.impute = o.get("impute", False)
        if not all(type(v) is bool for v in (self.intercept, self.unit, self.impute)):
            raise Error("policy file: %s: intercept, unit and impute are true or false" % what)
        if (self.width < 0).any():
            raise Error("policy file: %s: width: want numbers of at least 0" % what)
        missing = [] if o.get("missing") is None else _names(o["missing"], what + ": missing")
        if missing and not self.impute or not set(missing) <= set(self.names):
            raise Error("policy file: %s: missing has a name that is not in names, or comes without impute" % what)
        self.missing = np.array([self.names.index(name) for name in missing], dtype=int)
        self.bent = np.flatnonzero(self.width)
        self.dim = n + len(missing) + self.intercept
        if self.dim == 0:
            raise Error("policy file: %s: no names and no intercept" % what)

    def __call__(self, raw):
        """[dim, n] of raw values [names, n]."""
        absent = np.isnan(raw)
        if len(self.bent):
            raw = raw.copy()
            raw[self.bent] = np.arcsinh(raw[self.bent] / self.width[self.bent, None])
        u = np.where(absent, 0, (raw - self.center[:, None]) * self.scale[:, None])
        _finite(u, lambda j: self.names[j])
        if len(self.missing):
            u = np.concatenate([u, absent[self.missing].astype(float)])
        if self.intercept:
            u = np.concatenate([u, np.ones((1, u.shape[1]))])
        if self.unit:
            most = np.abs(u).max(axis=0)
            u = u / np.where((most > 1e100) | (most < 1e-100) & (most > 0), most, 1)
            u = u * np.where(most > 0, 1 / np.sqrt(_sum(u * u)), 1)
        return u


def _finite(m, name):
    bad = ~np.isfinite(m)
    if bad.any():
        j, i = np.argwhere(bad)[0]
        raise Error("row %d: %s is %s" % (i, name(j), m[j, i]))


def _sum(rows):
    """The sum of rows in their order, each addition rounded."""
    s = np.zeros(rows.shape[1:])
    for r in rows:
        s += r
    return s


def _dot(w, x):
    """w [m, d] times x [d, n]: [m, n], each sum in order of d."""
    s = np.zeros((len(w), x.shape[1]))
    for j in range(len(x)):
        s += w[:, j:j + 1] * x[j]
    return s


def _layers(v, d, what):
    """Layers one after another, the first of d features, and how many the last gives."""
    layers = []
    for i, o in enumerate(_list(v, what)):
        kind = next((k for k in _KINDS if isinstance(o, dict) and o.get(k) is not None), None)
        name = "%s: layer %d" % (what, i)
        if kind is None:
            layers.append(_Layer(o, d, name))
        else:
            if kind == "branches" and _nested(o) > 64:
                raise Error("policy file: %s is nested too deep" % name)
            layers.append(_KINDS[kind](_fields(o, "policy file: " + name, kind)[kind], d, "%s: %s" % (name, kind)))
        d = layers[-1].out
    return layers, d


def _nested(v):
    inner = v.values() if isinstance(v, dict) else v if isinstance(v, list) else None
    return 0 if inner is None else 1 + max(map(_nested, inner), default=0)


def _wholes(v, most, what, least=0):
    """Whole numbers from least to most."""
    for j in _list(v, what):
        if type(j) is not int or not least <= j <= most:
            raise Error("policy file: %s: %s, want a whole number from %d to %d" % (what, _shown(j), least, most))
    return np.array(v, dtype=int)


class _Trees:
    """base_o plus the values of the leaves that x falls into, of the trees of output o."""

    patches = None

    def __init__(self, o, d, what):
        _fields(o, "policy file: " + what, "in base", "outputs sizes feature value right sets")
        o = dict({name: [] for name in ("outputs", "sizes", "feature", "value", "right", "sets")}, **o)
        _whole(o["in"], what + ": in", d, d)
        self.out = self.wide = _whole(len(_list(o["base"], what + ": base")), what + ": outputs", 1, 1 << 20)
        self.base = _numbers(o["base"], self.out, what + ": base")
        self.outputs, n = _wholes(o["outputs"], self.out - 1, what + ": outputs"), len(_list(o["feature"], what + ": feature"))
        self.sizes = _wholes(o["sizes"], n, what + ": sizes", 1)
        self.sets = [_wholes(s, d - 1, what + ": sets") for s in _list(o["sets"], what + ": sets")]
        self.feature = _wholes(o["feature"], d - 1, what + ": feature", -1 - len(self.sets))
        self.value, self.right = _numbers(o["value"], n, what + ": value"), _wholes(o["right"], n, what + ": right")
        if len(self.sizes) != len(self.outputs) or self.sizes.sum() != n or len(self.right) != n:
            raise Error("policy file: %s: %d nodes in %d trees of %d outputs" % (what, n, len(self.sizes), len(self.outputs)))
        if any(len(s) == 0 or (np.diff(s) <= 0).any() for s in self.sets) or self.value[self.feature < -1].any():
            raise Error("policy file: %s: sets are empty or not ascending, or nodes with a set have a value" % what)
        self.roots = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(int)
        feature, right = self.feature.tolist(), self.right.tolist()
        for root, size in zip(self.roots.tolist(), self.sizes.tolist()):
            after, depth = [(root + size, 0)], 0
            for i in range(root, root + size):
                end, above = after[-1]
                if feature[i] == -1:
                    if right[i] != 0 or end != i + 1:
                        raise Error("policy file: %s: leaf %d has a child, or the node after it no parent" % (what, i))
                    after.pop()
                    depth = above
                    continue
                if not 2 <= right[i] < end - i or depth == 64:
                    raise Error("policy file: %s: node %d has its right child %d nodes on, or is too deep" % (what, i, right[i]))
                depth += 1
                after.append((i + right[i], depth))

    def __call__(self, x):
        n = x.shape[1]
        h = np.repeat(self.base[:, None], n, axis=1)
        some = np.array([(x[s] != 0).any(axis=0) for s in self.sets]).reshape(len(self.sets), n)
        for root, o in zip(self.roots, self.outputs):
            at, rows = np.full(n, root), np.arange(n)
            while len(rows):
                f = self.feature[at[rows]]
                rows, f = rows[f != -1], f[f != -1]
                left = np.empty(len(rows), dtype=bool)
                number = f >= 0
                left[number] = x[f[number], rows[number]] <= self.value[at[rows[number]]]
                left[~number] = some[-2 - f[~number], rows[~number]]
                at[rows] += np.where(left, 1, self.right[at[rows]])
            h[o] += self.value[at]
        return h


class _Pieces:
    """Some features, or all, and then how far features have come between their knots."""

    patches = None

    def __init__(self, o, d, what):
        _fields(o, "policy file: " + what, "in", "features knots keep")
        o = dict({"features": [], "knots": []}, **o)
        _whole(o["in"], what + ": in", d, d)
        self.keep = np.arange(d) if "keep" not in o else _wholes(o["keep"], d - 1, what + ": keep")
        self.features = _wholes(o["features"], d - 1, what + ": features")
        if len(_list(o["knots"], what + ": knots")) != len(self.features):
            raise Error("policy file: %s: %d features and knots of %d" % (what, len(self.features), len(o["knots"])))
        self.knots = [_numbers(k, len(_list(k, what + ": knots")), what + ": knots") for k in o["knots"]]
        with np.errstate(all="ignore"):
            if any(len(k) < 2 or not (np.diff(k) > 0).all() or not np.isfinite(np.diff(k)).all() for k in self.knots):
                raise Error("policy file: %s: want at least 2 knots of each feature, ascending" % what)
        self.out = self.wide = _whole(len(self.keep) + sum(len(k) - 1 for k in self.knots), what + ": features out", 1, 1 << 20)

    def __call__(self, x):
        h = [x[self.keep]]
        for j, k in zip(self.features, self.knots):
            h.append(np.minimum(1, np.maximum(0, (x[j] - k[:-1, None]) / (k[1:] - k[:-1])[:, None])))
        return np.concatenate(h)


class _Products:
    """x, and then products of pairs of its features."""

    patches = None

    def __init__(self, o, d, what):
        _fields(o, "policy file: " + what, "in", "pairs")
        _whole(o["in"], what + ": in", d, d)
        pairs = [_wholes(p, d - 1, what + ": pairs") for p in _list(o.get("pairs", []), what + ": pairs")]
        if any(len(p) != 2 for p in pairs):
            raise Error("policy file: %s: want pairs of features" % what)
        self.pairs = np.array(pairs, dtype=int).reshape(len(pairs), 2)
        self.out = self.wide = _whole(d + len(pairs), what + ": features out", 1, 1 << 20)

    def __call__(self, x):
        return np.concatenate([x, x[self.pairs[:, 0]] * x[self.pairs[:, 1]]])


class _Clip:
    """Features within ranges."""

    patches = None

    def __init__(self, o, d, what):
        _fields(o, "policy file: " + what, "low high")
        self.low, self.high = (_numbers(o[n], d, "%s: %s" % (what, n))[:, None] for n in ("low", "high"))
        if (self.low > self.high).any():
            raise Error("policy file: %s: low above high" % what)
        self.out = self.wide = _whole(d, what + ": features out", 1, 1 << 20)

    def __call__(self, x):
        return np.clip(x, self.low, self.high)


class _Branches:
    """What several chains of layers make of x, one after the other."""

    patches = None

    def __init__(self, o, d, what):
        _fields(o, "policy file: " + what, "in chains")
        _whole(o["in"], what + ": in", d, d)
        chains = [_layers(c, d, "%s: chain %d" % (what, i)) for i, c in enumerate(_list(o["chains"], what + ": chains"))]
        self.chains = [layers for layers, _ in chains]
        self.out = _whole(sum(out for _, out in chains), what + ": features out", 1, 1 << 20)
        self.wide = max([self.out] + [l.wide for c in self.chains for l in c])

    def __call__(self, x):
        h = []
        for layers in self.chains:
            y = x
            for l in layers:
                y = l(y)
            h.append(y)
        return np.concatenate(h)


class _Parted:
    """Numbers of n contexts and k actions, a row each: [1, n] of contexts alone, [k, 1] of actions alone, or [k, n]. What layers make of
    either alone is computed once, and equal actions have equal scores."""

    def __init__(self, rows, k, n):
        self.rows, self.k, self.n = rows, k, n

    def through(self, l):
        if isinstance(l, _Branches):
            chains = []
            for layers in l.chains:
                h = self
                for inner in layers:
                    h = h.through(inner)
                chains += h.rows
            return _Parted(chains, self.k, self.n)
        if isinstance(l, _Clip):
            return self.of([np.clip(r, low, high) for r, low, high in zip(self.rows, l.low[:, 0], l.high[:, 0])])
        if isinstance(l, _Pieces):
            steps = [np.minimum(1, np.maximum(0, (self.rows[j] - low) / (high - low)))
                     for j, knots in zip(l.features, l.knots) for low, high in zip(knots[:-1], knots[1:])]
            return self.of([self.rows[j] for j in l.keep] + steps)
        if isinstance(l, _Products):
            return self.of(self.rows + [self.rows[i] * self.rows[j] for i, j in l.pairs])
        if isinstance(l, _Layer) and l.patches is None and l.activation is not _odds:
            return self.of([l.activation(self.dot(w) + b) for w, b in zip(l.weights, l.bias)])
        whole = l(np.array([np.broadcast_to(r, (self.k, self.n)) for r in self.rows]).reshape(len(self.rows), -1))
        return self.of(list(whole.reshape(-1, self.k, self.n)))

    def of(self, rows):
        return _Parted(rows, self.k, self.n)

    def dot(self, w):
        """w times the rows: those of one shape first, so that few of [k, n] are added."""
        sums = {}
        for v, r in zip(w, self.rows):
            sums[r.shape] = sums.get(r.shape, 0) + v * r
        return sum(sums.values())


_KINDS = {"trees": _Trees, "pieces": _Pieces, "products": _Products, "clip": _Clip, "branches": _Branches}


def _odds(z):
    """z_a − log Σ_{b≠a} exp(z_b), of columns z."""
    h = np.empty_like(z)
    for a in range(len(z)):
        rest = np.delete(z, a, axis=0)
        most = rest.max(axis=0)
        h[a] = z[a] - most - np.log(np.exp(rest - most).sum(axis=0))
    return h


class _Layer:
    """h = activation(W·x + b), or a convolution with pooling."""

    kinds = {"": lambda h: h, "relu": lambda h: np.maximum(h, 0), "tanh": np.tanh, "cos": np.cos, "odds": _odds}

    def __init__(self, o, d, what):
        _fields(o, "policy file: " + what, "weights", "bias activation image trees pieces products branches")
        name = _optional(o, "activation", "")
        if not isinstance(name, str) or name not in self.kinds:
            raise Error("policy file: %s: activation %s, want none, relu, tanh, cos or odds" % (what, _shown(name)))
        self.activation, self.patches = self.kinds[name], None
        m = len(_list(o["weights"], what + ": weights"))
        if m == 0:
            raise Error("policy file: %s: no weights" % what)
        if name == "odds" and (m < 2 or o.get("image") is not None):
            raise Error("policy file: %s: odds of %d outputs, want at least 2, and no image" % (what, m))
        self.out, seen = m, d
        if o.get("image") is not None:
            seen = self.image(_fields(o["image"], "policy file: %s: image" % what, "height width channels size", "pad pool"), d, m, what + ": image")
        self.weights = _matrix(o["weights"], m, seen, what + ": weights")
        self.wide = self.out
        self.bias = np.zeros(m) if o.get("bias") is None else _numbers(o["bias"], m, what + ": bias")

    def image(self, o, d, m, what):
        height, width, channels, size = (_whole(o[k], "%s: %s" % (what, k), 1, 1 << 14) for k in ("height", "width", "channels", "size"))
        pad = _whole(_optional(o, "pad", 0), what + ": pad", 0, size - 1)
        rows, cols = height + 2 * pad - size + 1, width + 2 * pad - size + 1
        if min(rows, cols) < 1 or rows * cols * size * size * channels > 1 << 26 or height * width * channels != d:
            raise Error("policy file: %s: %d×%d pixels of %d channels and kernels of %d×%d do not fit %d features" % (what, height, width, channels, size, size, d))
        pool = max(1, _whole(_optional(o, "pool", 0), what + ": pool", 0, min(rows, cols)))
        place = np.full((height + 2 * pad, width + 2 * pad, channels), d)  # d: outside of the image
        place[pad:pad + height, pad:pad + width] = np.arange(d).reshape(height, width, channels)
        self.patches = np.stack([place[u:u + rows, v:v + cols, c] for u in range(size) for v in range(size) for c in range(channels)])
        self.pool, self.out = pool, rows // pool * (cols // pool) * m
        return len(self.patches)

    def __call__(self, x):
        m = len(self.weights)
        if self.patches is None:
            h = _dot(self.weights, x)
        else:
            n, (rows, cols), k = x.shape[1], self.patches.shape[1:], self.pool
            x = np.concatenate([x, np.zeros((1, n))])
            h = np.zeros((m, rows, cols, n))
            for w, at in zip(self.weights.T, self.patches):
                h += w[:, None, None, None] * x[at]
            h = h[:, :rows // k * k, :cols // k * k].reshape(m, rows // k, k, cols // k, k, n).max(axis=(2, 4))
            h = h.transpose(1, 2, 0, 3).reshape(-1, n)
        return self.activation(h + np.tile(self.bias, len(h) // m)[:, None])


class _Component:
    def __init__(self, o, k, at):
        what = "component %d" % at
        _fields(o, "policy file: " + what, "weight kind sigma encoder weights taught chosen", "nodes layers items joint prior")
        self.weight, self.kind, self.sigma = _number(o["weight"], what + ": weight"), o["kind"], _number(o["sigma"], what + ": sigma")
        self.nodes = _whole(_optional(o, "nodes", 0), what + ": nodes", 0, 4096)
        self.encoder, self.items = _Encoder(o["encoder"], what + ": encoder"), None
        self.joint, d = _optional(o, "joint", False), self.encoder.dim
        if o.get("items") is not None:
            _fields(o["items"], "policy file: %s: items" % what, "encoder own")
            self.items, own = _Encoder(o["items"]["encoder"], what + ": items"), _names(o["items"]["own"], what + ": own")
            self.own = {name: self.items.dim + j for j, name in enumerate(own)}
            k = self.items.dim + len(own)
        if self.joint not in (True, False) or self.joint and self.items is None:
            raise Error("policy file: %s: joint is %s, want true or false, and true where actions have features" % (what, _shown(self.joint)))
        if self.joint:
            d, k = d + k, 1
        self.layers, d = _layers(_optional(o, "layers", []), d, what)
        gaussian = self.kind == "gaussian"
        if not 0 < self.weight <= 1:
            raise Error("policy file: %s has the weight %s, want one in (0, 1]" % (what, self.weight))
        if self.kind not in ("softmax", "argmax") and (not gaussian or self.items):
            raise Error("policy file: %s: kind %s, want softmax, argmax or, where actions have no features, gaussian" % (what, _shown(self.kind)))
        if gaussian != (self.sigma > 0) or not gaussian and (self.sigma != 0 or self.nodes) or 0 < self.nodes < 65:
            raise Error("policy file: %s: a %s with sigma %s and %d nodes" % (what, self.kind, self.sigma, self.nodes))
        self.mu = _matrix(o["weights"], k, d, what + ": weights")
        self.window = self.intervals = 0  # of an argmax of numbers

    def features(self, raw, place):
        x = self.encoder(raw[place])
        for l in () if self.joint else self.layers:
            x = l(x)
        return x

    def scores(self, x, z, k):
        """s_a [k, n] of φ(x) [d, n] and actions as Policy._describe has them, which layers read together."""
        (d, n), (features, at, own) = x.shape, z
        items = np.zeros((self.items.dim + len(self.own), k, 1))
        for j, (some, v) in enumerate(features):
            items[j, some, 0] = v
        items[own, at] = 1
        h = _Parted(list(x[:, None]) + list(items), k, n)
        for l in self.layers:
            h = h.through(l)
        return h.dot(self.mu[0]) + np.zeros((k, n))

    def family(self, s, x):
        """π [K, n] of scores s [K, n]."""
        _finite(s, lambda a: "the score of action %d" % a)
        if self.kind == "argmax" and self.window > 1:
            w, starts = self.window, self.intervals - self.window + 1
            at = np.vstack([sum(s[i:i + starts] for i in range(w)) / w, s[self.intervals:]]).argmax(axis=0)
            a, window = np.arange(len(s))[:, None], at < starts
            return np.where(window, (a >= at) & (a < at + w), a == at + w - 1) / np.where(window, w, 1)
        if self.kind == "argmax":
            return (np.arange(len(s))[:, None] == s.argmax(axis=0)) * 1.0
        if self.kind == "softmax":
            e = np.exp(s - s.max(axis=0))
            return e / e.sum(axis=0)
        return _gaussian(s, self.sigma * np.sqrt(_sum(x * x)), max(65, self.nodes))


def _gaussian(s, scale, nodes):
    """P(a = argmax_k θ_k), θ ~ N(s, scale²I), by quadrature: h Σ_j φ(u_a)/Φ(u_a) ∏_k Φ(u_k), u_k = low + j·h + gap_k. φ and Φ are
    Taylor's polynomials around the centres of cells whose width divides h, so that those of a gap are next to each other."""
    k, n = s.shape
    low, high = (-6.0, 8.0) if nodes <= 65 else (-9.0, 9.0)
    h = (high - low) / (nodes - 1)
    cells = math.ceil(64 * h)  # of a step
    cell, far, degree = h / cells, 24.0, 8
    table = _taylor(low, cell, int(far / cell) + 2 + cells * (nodes - 1), degree)
    at_node = as_strided(table, (len(table) - cells * (nodes - 1), nodes, degree), (table.strides[0], cells * table.strides[0], table.strides[1]), writeable=False)
    z = s / np.where(scale > 0, scale, 1)
    m = z.max(axis=0)
    same = (z == z[0]).all(axis=0) | ~(scale > 0)
    gap = np.minimum(np.where(z == m, 0, m - z), far).T  # [n, k]
    pi = np.full((n, k), 1 / k)
    block = max(1, (1 << 16) // (k * nodes))
    for at in range(0, n, block):
        g = gap[at:at + block]
        c = np.floor(g / cell + .5).astype(int)
        powers = np.zeros(g.shape + (degree, 2))
        powers[..., 0, 0] = 1
        for p in range(1, degree):
            powers[..., p, 0] = powers[..., p - 1, 0] * (g - c * cell)
            powers[..., p, 1] = p * powers[..., p - 1, 0]
        f = at_node[c] @ powers  # [block, k, nodes, 2]: Φ, φ
        f[..., 0] = np.maximum(f[..., 0], 1e-300)
        pi[at:at + block] = h * (np.maximum(f[..., 1], 0) / f[..., 0] * f[..., 0].prod(axis=1)[:, None]).sum(axis=2)
    pi[same] = 1 / k
    return pi.T


_tables = {}


def _taylor(low, cell, n, degree):
    """Φ^(p)(u)/p! at u = low + i·cell, by φ^(p) = −u φ^(p−1) − (p−1) φ^(p−2)."""
    key = (low, cell, n, degree)
    if key not in _tables:
        u = low + np.arange(n) * cell
        d = [np.exp(-u * u / 2) / math.sqrt(2 * math.pi)]
        for p in range(1, degree - 1):
            d.append(-u * d[p - 1] - (p - 1) * d[p - 2])
        t = np.empty((n, degree))
        t[:, 0] = [math.erfc(-v / math.sqrt(2)) / 2 for v in u]
        for p in range(1, degree):
            t[:, p] = d[p - 1] / math.factorial(p)
        _tables[key] = t
    return _tables[key]


class _Catalogue:
    def __init__(self, o, actions):
        what = "policy file: the catalogue"
        _fields(o, what, "hash columns")
        k, self.columns, self.index = len(actions), {}, {name: a for a, name in enumerate(actions)}
        for c in _list(o["columns"], "the catalogue's columns"):
            forms = [f for f in ("float64", "float32", "ones") if isinstance(c, dict) and c.get(f) is not None]
            _fields(c, what + ": a column", "name", "float64 float32 ones")
            name, of = c["name"], "%s: column %s" % (what, _shown(c["name"]))
            if not isinstance(name, str) or name == "" or name in self.columns or len(forms) != 1:
                raise Error("%s: its name is empty or comes twice, or it is in %d forms, want one" % (of, len(forms)))
            v = _bytes(c[forms[0]], {"float64": "<f8", "float32": "<f4", "ones": "<u4"}[forms[0]], of)
            if forms[0] == "ones":
                at = v.astype(np.int64)
                if len(at) and (at[-1] >= k or (np.diff(at) <= 0).any()):
                    raise Error("%s: its ones are not ascending and below %d" % (of, k))
                v = np.ones(len(at))
            elif len(v) != k or not np.isfinite(v).all():
                raise Error("%s: %d numbers for %d actions, or some that are not finite" % (of, len(v), k))
            else:
                v = v.astype(float)
                at = np.flatnonzero(v)
                v = v[at]
            self.columns[name] = at, v
        if o["hash"] != self.digest(actions):
            raise Error("%s: its hash is %s, its content has %s" % (what, _shown(o["hash"]), self.digest(actions)))

    def digest(self, actions):
        word = lambda n: n.to_bytes(8, "little")
        sum = hashlib.sha256(word(len(actions)))
        put = lambda s: sum.update(word(len(s.encode())) + s.encode())
        for name in actions:
            put(name)
        for name in sorted(self.columns, key=str.encode):
            put(name)
            at, v = self.columns[name]
            both = np.empty((len(at), 2), dtype="<u8")
            both[:, 0], both[:, 1] = at, v.astype("<f8").view("<u8")
            sum.update(both.tobytes() + b"\xff" * 8)
        return sum.hexdigest()

    def raw(self, name, of):
        """The values of a name of some actions, by their numbers."""
        at, v = self.columns.get(name, (np.zeros(0, int), np.zeros(0)))
        out, to = np.zeros(len(of)), np.searchsorted(at, of)
        found = np.flatnonzero(to < len(at))
        found = found[at[to[found]] == of[found]]
        out[found] = v[to[found]]
        return out


class _Names:
    """What values are called, as opl serve takes them: a category v of a column c is the value 1 of "c=v"."""

    def __init__(self, encoders, kept=()):
        self.names = list(dict.fromkeys(name for e in encoders for name in e.names))
        self.place = {name: j for j, name in enumerate(self.names)}
        self.columns = {name.split("=", 1)[0] for name in self.names if name.find("=") > 0}
        self.numbers, self.alias = {}, {}  # categories whose names are numbers, or truth values
        for name, (column, _, v) in [(name, name.partition("=")) for name in self.names]:
            if column and v in _TRUTHS:
                self.numbers.setdefault((column, v.lower()), self.place[name])
            elif column and _NUMERAL.fullmatch(v) and abs(float(v)) < 2 ** 53:
                self.numbers.setdefault((column, float(v)), self.place[name])
        for short, name in [(n[2:], n) for n in list(self.place) + list(self.columns) if n.startswith("x_")] + [(c, n) for n, c in dict(kept).items()]:
            if short and not self.knows(short) and self.knows(name):
                self.alias[short] = name
        self.at = {e: np.array([self.place[name] for name in e.names], dtype=int) for e in encoders}
        self.none = math.nan if any(e.impute for e in encoders) else 0.0

    def knows(self, name):
        return name in self.place or name in self.columns

    def category(self, column, v, what):
        """The place of the category that a value names, by its text or else by the number or truth value, or None."""
        text = _category(v, what)
        j = self.place.get(column + "=" + text)
        if j is None and text in _TRUTHS:
            return self.numbers.get((column, text.lower()))
        return self.numbers.get((column, float(text))) if j is None and _NUMERAL.fullmatch(text) else j

    def vector(self, context, what, without=()):
        """Raw values of one context."""
        x, seen, known = np.full(len(self.names), self.none), set(), False
        filled = set()
        flat = list(self.flat(context, "", what, 0, without))
        for name, v in flat:
            if not self.knows(name):
                name = self.alias.get(name, name)
            if name in seen or name == "":
                raise Error("%s.%s: comes twice" % (what, name) if name else "%s: a value without a name" % what)
            seen.add(name)
            if "=" in name and name not in self.place and isinstance(v, (str, bool)) and v != "":
                raise Error("%s.%s: the value is no number: want a name without =" % (what, name))
            if not self.knows(name):
                continue
            known = True
            if v is None or isinstance(v, str) and v == "":
                continue
            number = name in self.place and not isinstance(v, str)
            j = self.place[name] if number else self.category(name, v, what + "." + name)
            if number or isinstance(v, (int, float)):
                try:
                    v = float(v)
                except OverflowError:
                    v = math.inf
                if not math.isfinite(v):
                    raise Error("%s.%s is %s" % (what, name, v))
            if j is None and name in self.place:
                raise Error("%s.%s: a string, where the policy reads a number" % (what, name))
            if j in filled:
                raise Error("%s.%s: comes twice" % (what, name))
            if j is not None:  # else a category that training did not see
                filled.add(j)
                x[j] = v if number else 1
        if flat and not known:
            raise Error("%s: none of its %d names is one of the policy's: %s" % (what, len(flat), ", ".join(self.names[:4])))
        return x

    def flat(self, o, path, what, depth, without=()):
        if depth > 32:
            raise Error("%s: nested deeper than 32" % what)
        for name, v in o.items() if isinstance(o, dict) else enumerate(o):
            if name in without:
                continue
            if not isinstance(name, (str, int)):
                raise Error("%s: the name %r is no string" % (what, name))
            name = path + str(name)
            if isinstance(v, np.generic):
                v = v.item()
            if isinstance(v, (dict, list, tuple)):
                yield from self.flat(v, name + ".", what, depth + 1)
            elif v is None or isinstance(v, (str, bool, int, float)):
                yield name, v
            else:
                raise Error("%s.%s: a %s, want a number or a string" % (what, name, type(v).__name__))

    def matrix(self, columns, missing_as_zero):
        """Raw values [names, n] of columns."""
        found = {}
        for name in columns:
            to = name if self.knows(name) else self.alias.get(name)
            if to in found:
                raise Error("columns: %s comes twice" % to)
            if to is not None:
                found[to] = _plain(columns[name], name)
        n = {len(c) for c in columns.values()}
        if len(n) != 1:
            raise Error("columns: want some, all of one length")
        n = n.pop()
        x, text = np.full((len(self.names), n), float(self.none)), {}
        for j, name in enumerate(self.names):
            column = name.split("=", 1)[0]
            if name in found:
                try:
                    v = np.array(found[name], dtype=float)  # None is NaN: no value
                except (ValueError, TypeError):
                    raise Error("column %s: not all of it are numbers, as the policy reads them" % name) from None
                if np.isinf(v).any():
                    raise Error("column %s, row %d: %s" % (name, np.flatnonzero(np.isinf(v))[0], v[np.isinf(v)][0]))
                x[j] = np.where(np.isnan(v), self.none, v)
            elif name.find("=") > 0 and column in found:
                if column not in text:
                    at = (None if v is None or v != v else self.category(column, v, column) for v in found[column].tolist())
                    text[column] = np.array([-1 if i is None else i for i in at])
                x[j] = np.where(text[column] == j, 1, self.none)
            elif not missing_as_zero:
                raise Error("columns: no %s, which the policy reads; missing_as_zero=True goes on as if it were 0" % column)
        return x


_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")
_NUMERAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def _category(v, what):
    """The category that a value names: a number by its text in JSON."""
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, float) and not math.isfinite(v):
        raise Error("%s is %s" % (what, v))
    return str(v)


def _plain(values, what):
    """An array of values, in which those that pandas says are missing are None."""
    values = np.asarray(values)
    if values.dtype.kind in "mM":
        raise Error("column %s: dates or times, want them as text, as the log has them" % what)
    if values.dtype == object:
        gone = [type(v).__name__ in ("NAType", "NaTType") for v in values.tolist()]
        values = np.where(gone, None, values)
    return values


class Policy:
    """A policy, by the content of its file; see the beginning of this file."""

    def __init__(self, file, hash):
        self.file, self.hash = file, hash
        self.actions = _names(file["actions"], "actions")
        k, parts = len(self.actions), _list(file["components"], "components")
        self._parts = [_Component(c, k, i) for i, c in enumerate(parts)]
        if not parts:
            raise Error("policy file: no components")
        self.has_items = self._parts[0].items is not None
        catalogue = file.get("catalogue")
        if any((c.items is not None) != self.has_items for c in self._parts):
            raise Error("policy file: components differ in whether actions have features")
        if not self.has_items and catalogue is not None or self.has_items and catalogue is None and k > 0:
            raise Error("policy file: actions that have features without a catalogue, or a catalogue and actions without")
        if k < 2 and (not self.has_items or catalogue is not None):
            raise Error("policy file: %d actions, want at least 2" % k)
        self.floor = _number(file["floor"], "floor")
        self.reward_min, self.reward_max = (_number(file[n], n) for n in ("reward_min", "reward_max"))
        if not 0 <= self.floor < 1 or not self.reward_min < self.reward_max or math.isinf(self.reward_max - self.reward_min):
            raise Error("policy file: floor %s, rewards from %s to %s" % (self.floor, self.reward_min, self.reward_max))
        if file["version"] < 4 and (self.has_items or any(l.patches is not None for c in self._parts for l in c.layers)):
            raise Error("policy file: layers of images, or actions with features, which version %d does not know" % file["version"])
        if file["version"] < 5 and any(isinstance(l, tuple(_KINDS.values())) for c in self._parts for l in c.layers):
            raise Error("policy file: layers of trees, pieces, products or branches, which version %d does not know" % file["version"])
        if file["version"] < 7 and any(c.joint or isinstance(l, _Clip) for c in self._parts for l in [None, *c.layers]):
            raise Error("policy file: scores of contexts and actions together, or a layer clip, which version %d does not know" % file["version"])
        self.edges, self.atoms = None, None  # of the numbers that actions stand for; None: actions are names
        if file.get("numbers") is not None:
            _fields(file["numbers"], "policy file: numbers", "edges", "atoms window")
            self.edges, self.atoms = (np.array([_number(v, n) for v in _list(file["numbers"].get(n, []), n)])
                                      for n in ("edges", "atoms"))
            if file["version"] < 6:
                raise Error("policy file: actions that are numbers, which version %d does not know" % file["version"])
            if len(self.edges) < 2 or len(self.edges) - 1 + len(self.atoms) != k or self.has_items \
                    or not all((np.diff(v) > 0).all() for v in (self.edges, self.atoms)):
                raise Error("policy file: its actions are not those that its numbers stand for")
            for c in self._parts:
                c.intervals = len(self.edges) - 1
                c.window = _whole(_optional(file["numbers"], "window", 0), "window", 0, c.intervals)
        total = sum(c.weight for c in self._parts)
        if abs(total - 1) > 1e-9:
            raise Error("policy file: the weights of the components sum to %s, not 1" % total)
        kept = _optional(file, "columns", {})
        if not isinstance(kept, dict) or not all(isinstance(v, str) for v in kept.values()):
            raise Error("policy file: columns: want names by names")
        self._names = _Names([c.encoder for c in self._parts], kept)
        self._items = _Names([c.items for c in self._parts]) if self.has_items else None
        self.inputs, self.item_inputs = self._names.names, self._items.names if self.has_items else []
        self._catalogue = None
        if catalogue is not None:
            self._catalogue = _Catalogue(catalogue, self.actions)
            has = set(self._catalogue.columns) | {n.split("=", 1)[0] for n in self._catalogue.columns if "=" in n}
            for name in self.item_inputs:
                if name not in has and not ("=" in name and name.split("=", 1)[0] in has):
                    raise Error("policy file: the catalogue has no column %s, which the policy reads" % name)
            self._all = self._describe(np.arange(k), None)

    def propensities(self, contexts):
        """π(·|x) of p.actions: [K] of a dictionary of named values, [n, K] of a list of these, or of an array [n, len(p.inputs)] of
        numbers in the order of p.inputs. Names that the policy does not know are left out, those that are not there are 0."""
        if isinstance(contexts, np.ndarray):
            if contexts.ndim != 2 or contexts.shape[1] != len(self.inputs):
                raise Error("an array of shape %s, want [n, %d]: a column for each of p.inputs" % (contexts.shape, len(self.inputs)))
            return self._of(contexts.T.astype(float))
        one = isinstance(contexts, dict)
        rows = [self._context(c, "context" if one else "context %d" % i) for i, c in enumerate([contexts] if one else contexts)]
        pi = self._of(np.array(rows).reshape(len(rows), len(self.inputs)).T)
        return pi[0] if one else pi

    def densities(self, contexts, numbers):
        """The density of a number for each of a list of contexts, where actions are numbers; of an atom its probability."""
        if self.edges is None:
            raise Error("the policy's actions are names")
        v, pi = np.asarray(numbers, dtype=float), self.propensities(list(contexts))
        n = len(self.edges) - 1
        at = np.clip(np.searchsorted(self.edges, v, "right") - 1, 0, n - 1)
        out = pi[np.arange(len(v)), at] / np.diff(self.edges)[at]
        out[~((v >= self.edges[0]) & (v <= self.edges[-1]))] = 0
        for a, atom in enumerate(self.atoms):
            out[v == atom] = pi[v == atom, n + a]
        return out

    def propensities_of(self, columns, missing_as_zero=False):
        """π(·|x) [n, K] of columns by name: numbers, or the names of categories; None and NaN are no value, which counts as 0."""
        return self._of(self._names.matrix({n: columns[n] for n in columns}, missing_as_zero))

    def predict_proba(self, X):
        """π(·|x) [n, K] of p.classes_: of a data frame, an array of p.inputs, or dictionaries, as scikit-learn's classifiers answer."""
        return self.propensities_of(X) if hasattr(X, "columns") else self.propensities(X if isinstance(X, np.ndarray) else list(X))

    @property
    def classes_(self):
        return np.array(self.actions)

    def frame(self, X):
        """predict_proba as a data frame of pandas: a column for each action, the index of X."""
        import pandas

        return pandas.DataFrame(self.predict_proba(X), columns=self.actions, index=X.index if hasattr(X, "columns") else None)

    def sample(self, X, seed=None):
        """An action drawn for each row, and its propensity: what to play and what to log. seed: a number or a generator of numpy."""
        pi = self.predict_proba(X)
        sums = np.cumsum(pi, axis=1)
        drawn = np.random.default_rng(seed).random((len(pi), 1)) * sums[:, -1:]
        a = (sums > drawn).argmax(axis=1)
        return self.classes_[a], pi[np.arange(len(pi)), a]

    def slots(self, context, actions=None, n=1, seed=None, shown=None):
        """A list of n slots drawn one after the other, and the propensity of each given those above, as the server answers and logs them.
        actions: what is offered, as for offered; None: the catalogue. shown: a list to take instead of one that is drawn."""
        left, taken, chances = list(self.actions if actions is None else actions), [], []
        names = [o.get("id") if isinstance(o, dict) else o for o in left]
        if not all(names):
            raise Error("slots: an action has no id")
        n, draw = n if shown is None else len(shown), np.random.default_rng(seed)
        if not 1 <= n <= len(left):
            raise Error("slots: %s, of %d actions" % (n, len(left)))
        for name, v in zip(self._names.names, self._context(context, "context")):
            if name.startswith("slot=") and v == 1:
                raise Error("context.%s: the slots of a list say where it is: leave it out of the context" % name)
        for l in range(n):
            slot = {"slot": str(l + 1)} if self._names.knows("slot=%d" % (l + 1)) else {}
            pi = self.offered(dict(context, **slot), left)
            sums = np.cumsum(pi)
            if shown is None:
                a = int((sums > draw.random() * sums[-1]).argmax())
            elif shown[l] not in names:
                raise Error("slots: %s was not offered, or is shown twice" % _shown(shown[l]))
            else:
                a = names.index(shown[l])
            taken.append(names.pop(a))
            chances.append(float(pi[a]))
            del left[a]
        return taken, chances

    @property
    def guarantee(self):
        """What the certificate promises: the least mean reward, in units of the rewards, the confidence and the verdict. None: nothing.
        Error: the certificate contradicts itself. opl verifies more of it, and certifies again."""
        c = self.file.get("certificate")
        if not isinstance(c, dict) or c.get("guaranteed") is None:
            return None
        g, delta = (_number(c.get(n), "the certificate: " + n) for n in ("guaranteed", "delta"))
        best = [-_number(b.get("risk"), "the certificate: risk") for b in _list(c.get("bounds"), "the certificate's bounds")
                if isinstance(b, dict) and 0 < _number(b.get("delta"), "the certificate: delta") <= delta]
        low, high = self.reward_min, self.reward_max
        ranged = c.get("reward_min", low) == low and c.get("reward_max", high) == high
        if not 0 <= g <= 1 or not 0 < delta < 1 or not best or g > max(best + [0]) + 1e-9 or not ranged:
            raise Error("policy file: the certificate contradicts itself, so nothing it says is believed: certify the policy again")
        return {"reward": low + g * (high - low), "confidence": 1 - delta, "verdict": c.get("verdict")}

    def __repr__(self):
        g = self.guarantee
        promise = "nothing guaranteed" if g is None else "at least %.4g with probability %.4g, %s" % (g["reward"], g["confidence"], g["verdict"])
        return "<opl policy %.12s: %d actions, %d inputs, floor %.3g; %s>" % (self.hash, len(self.actions), len(self.inputs), self.floor, promise)

    def offered(self, context, actions):
        """π(·|x) of what is offered, where actions have features: ids of the catalogue, or dictionaries of named values with an id."""
        if not self.has_items:
            raise Error("the policy's actions have no features: all of them are offered, always")
        if not isinstance(actions, (list, tuple)) or not actions:
            raise Error("no action is offered: want a list of ids or of dictionaries")
        raw, ids = np.zeros((len(self.item_inputs), len(actions))), []
        known = [i for i, a in enumerate(actions) if isinstance(a, str)]
        for i, a in enumerate(actions):
            if isinstance(a, str):
                if self.item_inputs and (self._catalogue is None or a not in self._catalogue.index):
                    raise Error("action %s is none of the catalogue's, and has no features" % _shown(a))
            elif not isinstance(a, dict) or not isinstance(a.get("id", ""), str):
                raise Error("action %d: want an id, or a dictionary of named values whose id is a string" % i)
            else:
                raw[:, i] = self._items.vector(a, "action %d" % i, ("id",))
            ids.append(a if isinstance(a, str) else a.get("id", ""))
            if ids[-1] and ids[-1] in ids[:-1]:
                raise Error("action %s is offered twice" % _shown(ids[-1]))
        if self._catalogue is not None:
            of = np.array([self._catalogue.index[ids[i]] for i in known], dtype=int)
            for j, name in enumerate(self.item_inputs):
                raw[j, known] = self._catalogue.raw(name, of)
        with np.errstate(all="ignore"):
            return self._of(self._context(context, "context")[:, None], self._describe(raw, ids))[0]

    def _context(self, c, what):
        if not isinstance(c, dict):
            raise Error("%s: want a dictionary of named values" % what)
        return self._names.vector(c, what)

    def _describe(self, raw, ids):
        """z(a) for each component: by feature the actions that have another value than 0, and these; then the actions with a row of
        their own, and these rows. And how many actions there are. raw: values by name [names, m], or numbers of actions of the catalogue."""
        whole, out = ids is None, []
        ids = self.actions if whole else ids
        for c in self._parts:
            e, parts = c.items, [[] for _ in range(c.items.dim)]
            block = max(1, (1 << 22) // e.dim)
            for lo in range(0, len(ids), block):
                hi = min(lo + block, len(ids))
                columns = [self._catalogue.raw(name, raw[lo:hi]) for name in e.names] if whole else raw[self._items.at[e], lo:hi]
                with np.errstate(all="ignore"):
                    z = e(np.array(columns, dtype=float).reshape(len(e.names), hi - lo)).astype(np.float32).astype(float)
                _finite(z, lambda j: "%s of actions, in 32 bits," % (e.names + [1])[j])
                for part, v in zip(parts, z):
                    at = np.flatnonzero(v)
                    part.append((at + lo, v[at]))
            features = [tuple(np.concatenate(x) for x in zip(*part)) for part in parts]
            own = [(a, c.own[name]) for a, name in enumerate(ids) if name in c.own]
            out.append((features,) + tuple(np.array(own, dtype=int).reshape(-1, 2).T))
        return out, len(ids)

    def _of(self, raw, described=None):
        """π [n, K] of raw values [inputs, n]."""
        bad = np.isinf(raw) | (np.isnan(raw) & (self._names.none == 0))
        if bad.any():
            raise Error("row %d: %s is no finite number" % (np.argwhere(bad)[0][1], self.inputs[np.argwhere(bad)[0][0]]))
        if self.has_items and described is None:
            if self._catalogue is None:
                raise Error("the policy has no catalogue: say which actions are offered, by p.offered")
            described = self._all
        z, k = described if self.has_items else (None, len(self.actions))
        n, pi = raw.shape[1], np.empty((raw.shape[1], k))
        wide = max([k, len(raw)] + [len(c.mu) for c in self._parts] + [c.encoder.dim for c in self._parts] + [k * (c.encoder.dim + c.items.dim) for c in self._parts if c.joint] + [l.wide for c in self._parts for l in c.layers])
        block = max(1, (1 << 20) // wide)
        for at in range(0, n, block):
            with np.errstate(all="ignore"):
                try:
                    pi[at:at + block] = self._block(raw[:, at:at + block], z, k).T
                except Error as e:
                    raise Error("%s%s" % (e, " (of those from %d on)" % at if at else "")) from None
        return pi

    def _block(self, raw, z, k):
        total = np.zeros((k, raw.shape[1]))
        for i, c in enumerate(self._parts):
            x = c.features(raw if c.encoder.impute else np.nan_to_num(raw, posinf=math.inf, neginf=-math.inf), self._names.at[c.encoder])
            if c.joint:
                s = c.scores(x, z[i], k)
            else:
                s = _dot(c.mu, x)
            if c.items is not None and not c.joint:
                g, s = s, np.zeros_like(total)
                features, at, own = z[i]
                for j, (some, v) in enumerate(features):
                    s[some] += g[j] * v[:, None]
                s[at] += g[own]
            pi = c.family(s, x)
            if len(self._parts) == 1:
                total = pi
            else:
                total += c.weight * pi
        return (1 - self.floor) * total + self.floor / k if self.floor > 0 else total


# --- the server


class ServerError(Exception):
    """An answer other than 200: its status, and what the server says."""

    def __init__(self, status, reason):
        super().__init__("%d: %s" % (status, reason))
        self.status, self.reason = status, reason


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no one elsewhere with the token."""

    def redirect_request(self, *_):
        return None


class Server:
    """A server of opl serve. token: one of its --token-file, never sent without TLS to other machines, unless insecure. cafile: who signed its certificate,
    if the system does not know; it may be the certificate itself."""

    def __init__(self, url, token=None, cafile=None, timeout=10, insecure=False):
        of = urllib.parse.urlsplit(url)
        if of.scheme not in ("http", "https") or not of.hostname:
            raise Error("%s: want http://HOST:PORT or https://HOST:PORT" % url)
        local = of.hostname in ("localhost", "::1") or of.hostname.startswith("127.")
        if token and of.scheme == "http" and not local and not insecure:
            raise Error("%s: the token would be sent in the clear: use https, or insecure=True" % url)
        self.url, self.timeout, self._headers = url.rstrip("/"), timeout, {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = "Bearer " + token
        handlers = [_Stay]
        if of.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=cafile)))
        self._open = urllib.request.build_opener(*handlers).open

    def decide(self, context, decision_id=None, actions=None, offered=None, top=None, slots=None, group=None):
        """An action drawn from the policy, and its propensity, or a list of slots and theirs, as the server answers them."""
        asked = {"context": context, "decision_id": decision_id, "actions": actions, "offered": offered, "top": top, "slots": slots,
                 "group": group}
        return self._ask("/decide", json.dumps({k: v for k, v in asked.items() if v is not None}, allow_nan=False).encode())

    def policy(self):
        """What the server says of its policy."""
        return self._ask("/policy", None)

    def _ask(self, path, body):
        try:
            with self._open(urllib.request.Request(self.url + path, body, self._headers), timeout=self.timeout) as r:
                return json.loads(r.read())
        except urllib.error.HTTPError as e:
            raise ServerError(e.code, _line(e.read(1000).decode("utf-8", "replace")) or e.reason) from None
