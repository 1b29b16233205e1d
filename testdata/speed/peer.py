"""The training steps of opl in PyTorch, to be measured beside it.

Reads requests from standard input and answers on standard output, one JSON
object a line; see peer.go. Arrays are files of little-endian float64.

B examples, K actions, d features, S draws, J nodes. Every objective is written
twice where that matters: plain, as its formula stands, with derivatives by
autograd; and tuned, with what an expert would do to make it fast.
"""

import ctypes
import json
import math
import os
import re
import signal
import statistics
import sys
import time

import torch
import torch.nn.functional as F

ROOT_HALF = math.sqrt(0.5)


class Task:
    """The inputs of one shape in one element type."""

    def __init__(self, r, dtype):
        b, k, d = r["batch"], r["actions"], r["dim"]

        def read(name, *shape):
            values = torch.from_file(os.path.join(r["dir"], name), size=math.prod(shape), dtype=torch.float64)
            return values.reshape(shape).to(dtype, copy=True)

        rows = r["rows"]
        self.dtype, self.k, self.d = dtype, k, d
        self.n, self.delta, self.penalty, self.lr = r["n"], r["delta"], r["penalty"], r["lr"]
        self.x = read("x", rows, d)
        self.norm = read("norm", rows)
        self.action = read("action", rows, 1).long()
        self.cost = read("cost", rows)
        self.pi0a = read("propensity", rows)
        self.pi0 = read("propensities", rows, k)
        self.prior = read("prior", k, d)
        self.start = read("mu", k, d)
        self.start_log_sigma = r["log_sigma"]
        self.tau = r["tau"]
        h = r["units"]
        self.scaled = self.x * r["scale"]
        self.head_prior = read("layer_prior", k, h)
        self.start_layer = read("layer_head", k, h), read("layer_0", h, d), read("layer_1", h)
        self.start_conv = ()
        if r["conv"]:
            shapes = (16, 25), (16,), (32, 400), (32,), (128, 512), (128,)
            self.start_conv = read("conv_head", k, 128), *(read(f"conv_{i}", *s) for i, s in enumerate(shapes))
        # Minibatches lie ready: they are views, which cost a step nothing.
        self.batches = [Batch(self, slice(i, i + b)) for i in range(0, rows - b + 1, b)]
        self.reset()

    def reset(self):
        """Parameters as K×d, the faster layout, and Adam, from the start."""
        self.mu = self.start.clone().requires_grad_()
        self.log_sigma = torch.tensor(self.start_log_sigma, dtype=self.dtype, requires_grad=True)
        self.head, self.first, self.off = self.layer = [x.clone().requires_grad_() for x in self.start_layer]
        self.conv = [x.clone().requires_grad_() for x in self.start_conv]
        # Adam passes over parameters that a step gives no gradient.
        self.adam = torch.optim.Adam([self.mu, self.log_sigma, *self.layer, *self.conv], lr=self.lr)

    def distance(self):
        return F.mse_loss(self.mu, self.prior, reduction="sum")

    def bound(self, risk, bias, v):
        """R̂ + √(KL₁/(2n)) + B + KL₂/(nλ) + (λ/2)V at λ* = √(2 KL₂/(nV)).

        There the last two are √(2 KL₂ V/n), and so are their derivatives with λ held constant.
        """
        rho = self.log_sigma
        kl = 0.5 * (self.k * self.d * (torch.expm1(2 * rho) - 2 * rho) + self.distance())
        kl1 = kl + math.log(4 * math.sqrt(self.n) / self.delta)
        kl2 = kl + math.log(4 / self.delta)
        return risk + torch.sqrt(kl1 / (2 * self.n)) + bias + torch.sqrt(kl2 * v * (2 / self.n))


class Batch:
    """Some rows of a task."""

    def __init__(self, t, rows):
        self.x, self.norm, self.cost, self.scaled = t.x[rows], t.norm[rows], t.cost[rows], t.scaled[rows]
        self.action, self.pi0a, self.pi0 = t.action[rows], t.pi0a[rows], t.pi0[rows]

    def logged(self, pi):
        return pi.gather(1, self.action).squeeze(1)


def heuristic(t, b, eps, o):
    """R̂ + λ₁‖θ−θ₀‖² + λ₂Ṽ + λ₃B̃, softmax, Clip."""
    return heuristic_of(t, b, F.linear(b.x, t.mu), t.distance())


def heuristic_of(t, b, scores, distance):
    pi = torch.softmax(scores, 1)  # B×K
    h = b.pi0.clamp(min=t.tau)
    loss = b.logged(pi) / b.pi0a.clamp(min=t.tau) * b.cost
    square, linear = t.penalty * b.pi0 / (h * h), t.penalty * (h - b.pi0) / h
    penalties = (pi * torch.addcmul(linear, pi, square)).sum(1)
    return (loss + t.penalty * loss.square() + penalties).mean() + t.penalty * distance


def through(t, b):
    """The scores of a layer, relu(x·Wᵀ + b)·θᵀ."""
    return F.linear(F.relu(F.linear(b.scaled, t.first, t.off)), t.head)


def heuristic_layer(t, b, eps, o):
    return heuristic_of(t, b, through(t, b), F.mse_loss(t.head, t.head_prior, reduction="sum"))


def likelihood_layer(t, b, eps, o):
    return likelihood_of(b, through(t, b))


def likelihood_conv(t, b, eps, o):
    """The scores of two convolutions by 5×5 pixels with pooling by 2×2 and relu, and a layer of relu."""
    head, w1, b1, w2, b2, w3, b3 = t.conv
    # opl has the channels of a pixel together; the kernels are turned, which costs next to nothing.
    y = F.relu(F.max_pool2d(F.conv2d(b.scaled.view(-1, 1, 28, 28), w1.view(16, 1, 5, 5), b1), 2))
    y = F.relu(F.max_pool2d(F.conv2d(y, w2.view(32, 5, 5, 16).permute(0, 3, 1, 2).contiguous(), b2), 2))
    y = F.relu(F.linear(y.flatten(1), w3.view(128, 4, 4, 32).permute(0, 3, 1, 2).flatten(1), b3))
    return likelihood_of(b, F.linear(y, head))


def likelihood_of(b, scores):
    """−mean[r log π(a|x) + (1 − r) log(1 − π(a|x))], r = −c."""
    log_pi = b.logged(torch.log_softmax(scores, 1))
    miss = torch.log1p(-torch.exp(log_pi).clamp(max=1 - 1e-6))
    return -torch.lerp(miss, log_pi, -b.cost).mean()


def theorem1(t, b, eps, o):
    """Theorem 1, softmax under a Gaussian posterior, B×S×K, term by term, ŵ = π/max(π₀, τ)."""
    scores = F.linear(b.x, t.mu)
    if eps is None:
        eps = torch.randn(len(b.x), o["samples"], t.k, dtype=t.dtype)
    scale = torch.exp(t.log_sigma) * b.norm
    pi = torch.softmax(scores[:, None, :] + scale[:, None, None] * eps, 2)  # B×S×K
    pi0 = b.pi0[:, None, :]
    w = pi / pi0.clamp(min=t.tau)
    kept = pi0 * w
    loss = w.gather(2, b.action[:, :, None].expand(-1, w.shape[1], -1)).squeeze(2) * b.cost[:, None]  # B×S
    v = (kept * w).sum(2) + loss.square()
    bias = (pi - kept).abs().sum(2)
    return t.bound(loss.mean(), bias.mean(), v.mean())


def theorem1_tuned(t, b, eps, o):
    """The same from the draws' means of π and π², all that it needs as Clip is linear in π.

    Few actions go outside of the draws, which keeps the softmax in long rows.
    """
    scores = F.linear(b.x, t.mu)
    scale = (torch.exp(t.log_sigma) * b.norm)[:, None, None]
    s, inner = o["samples"], t.k < o["samples"]
    if eps is None:
        eps = torch.randn((len(b.x), t.k, s) if inner else (len(b.x), s, t.k), dtype=t.dtype)
    elif inner:
        eps = eps.transpose(1, 2).contiguous()
    actions, draws = (1, 2) if inner else (2, 1)
    pi = torch.softmax(torch.addcmul(scores.unsqueeze(draws), scale, eps), actions)
    first, second = pi.mean(draws), (pi * pi).mean(draws)  # B×K
    h = b.pi0.clamp(min=t.tau)
    c = b.cost / b.pi0a.clamp(min=t.tau)
    v = (second * (b.pi0 / (h * h))).sum(1) + b.logged(second) * c.square()
    bias = (first * ((h - b.pi0) / h)).sum(1)
    return t.bound((b.logged(first) * c).mean(), bias.mean(), v.mean())


def corollary1(t, b, pi):
    """Corollary 1 for the propensities π of a Gaussian policy, Clip."""
    h, ha = b.pi0.clamp(min=t.tau), b.pi0a.clamp(min=t.tau)
    kept = pi * (b.pi0 / h)
    loss = b.logged(pi) * (b.cost / ha)
    v = (kept / h).sum(1) + loss * (b.cost / ha)
    return t.bound(loss.mean(), 1 - kept.sum(1).mean(), v.mean())


def shares(t, b):
    """z = φ(x)ᵀμ/(σ‖φ(x)‖)."""
    return F.linear(b.x, t.mu) / (torch.exp(t.log_sigma) * b.norm)[:, None]


def authors(t, b, eps, o):
    """The paper's estimator, 1/S Σ_s ∏_{k≠a} Φ(ε_s + z_a − z_k), B×K×K×S."""
    z = shares(t, b)
    if eps is None:
        eps = torch.randn(len(b.x), o["samples"], dtype=t.dtype)
    # k = a is left out: Φ(∞) = 1.
    gap = z[:, :, None] - z[:, None, :] + torch.diag(torch.full((t.k,), math.inf, dtype=t.dtype))
    cdf = torch.distributions.Normal(0.0, 1.0, validate_args=False).cdf(gap[:, :, :, None] + eps.view(len(eps), 1, 1, -1))
    return corollary1(t, b, cdf.prod(2).mean(2))


def span(nodes):
    return (-6.0, 8.0) if nodes <= 65 else (-9.0, 9.0)


def quadrature(t, b, eps, o):
    """π_a = h Σ_j φ(t_j − z_a) ∏_{k≠a} Φ(t_j − z_k), B×J×K, through log Φ."""
    z, nodes = shares(t, b), o["nodes"]
    low, high = span(nodes)
    at = z.detach().amax(1, keepdim=True) + torch.linspace(low, high, nodes, dtype=t.dtype)  # B×J
    # v = −u/√2, u = t_j − z_k; 2Φ(u) = erfc(v), √(2π)φ(u) = exp(−v²).
    v = (at * -ROOT_HALF)[:, :, None] + (z * ROOT_HALF)[:, None, :]
    log_cdf = torch.log(torch.erfc(v).mul_(0.5))
    step = (high - low) / (nodes - 1)
    total = log_cdf.sum(2, keepdim=True) + math.log(step / math.sqrt(2 * math.pi))
    pi = torch.exp(torch.addcmul(total - log_cdf, v, v, value=-1)).sum(1)
    return corollary1(t, b, pi)


class Quadrature(torch.autograd.Function):
    """The same with r = φ/Φ, P = h ∏ Φ and the derivative by hand.

    π_a = Σ_j P r_a,  dz_k = Σ_j P r_k [dπ_k (r_k + u_k) − Σ_a dπ_a r_a]
    """

    @staticmethod
    def forward(ctx, z, nodes):
        low, high = span(nodes)
        at = z.amax(1, keepdim=True) + torch.linspace(low, high, nodes, dtype=z.dtype)
        u = at[:, :, None] - z[:, None, :]
        cdf = torch.erfc(u * -ROOT_HALF).mul_(0.5)
        r = torch.exp((u * u).mul_(-0.5)).mul_(1 / math.sqrt(2 * math.pi)).div_(cdf)
        p = torch.exp(torch.log_(cdf).sum(2, keepdim=True)).mul_((high - low) / (nodes - 1)).transpose(1, 2)
        ctx.save_for_backward(r, u, p)
        return torch.bmm(p, r).squeeze(1)

    @staticmethod
    def backward(ctx, dpi):
        r, u, p = ctx.saved_tensors
        both = torch.bmm(r, dpi[:, :, None]).transpose(1, 2)  # Σ_a dπ_a r_a
        own = torch.bmm(p, (u + r).mul_(r)).squeeze(1)
        return dpi * own - torch.bmm(p * both, r).squeeze(1), None


def quadrature_tuned(t, b, eps, o):
    return corollary1(t, b, Quadrature.apply(shares(t, b), o["nodes"]))


STEPS = {f.__name__: f for f in (heuristic, heuristic_layer, likelihood_layer, likelihood_conv, theorem1, theorem1_tuned, authors, quadrature, quadrature_tuned)}


class Blas:
    """The number of threads of OpenBLAS, which torch.set_num_threads leaves alone."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            found = sorted(set(re.findall(r"(/\S*libopenblas\S*)", maps.read())))
        self.path = found[0] if found else ""
        self.lib = ctypes.CDLL(self.path) if found else None

    def threads(self, n):
        if self.lib is not None:
            self.lib.openblas_set_num_threads(n)


def peak(reset):
    """The largest resident memory of this process since the last reset, in MiB."""
    if reset:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    with open("/proc/self/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) / 1024


class Peer:
    def __init__(self):
        self.blas = Blas()
        self.request = None
        self.tasks = {}

    def hello(self, r):
        return {"torch": torch.__version__, "python": sys.version.split()[0], "blas": os.path.basename(self.blas.path)}

    def load(self, r):
        self.request, self.tasks = r, {}
        return {}

    def task(self, dtype):
        if dtype not in self.tasks:
            self.tasks = {dtype: Task(self.request, getattr(torch, dtype))}
        return self.tasks[dtype]

    def check(self, r):
        """The value and the gradients on the first rows, at noise from a file."""
        t = self.task(r["dtype"])
        t.reset()
        eps = None
        if r["noise"]:
            shape = r["shape"]
            eps = torch.from_file(r["noise"], size=math.prod(shape), dtype=torch.float64).reshape(shape).to(t.dtype)
        value = STEPS[r["step"]](t, Batch(t, slice(0, r["rows"])), eps, r)
        value.backward()
        grad = torch.cat([p.grad.double().flatten() for p in (t.mu, *t.layer, *t.conv) if p.grad is not None])
        torch.from_file(r["gradient"], shared=True, size=len(grad), dtype=torch.float64).copy_(grad)
        sigma = t.log_sigma.grad
        return {"value": value.item(), "log_sigma": 0.0 if sigma is None else sigma.item()}

    def time(self, r):
        """The median of steps for about so many seconds, at least one, after one that does not count."""
        t = self.task("float32")
        torch.set_num_threads(r["threads"])
        self.blas.threads(r["blas_threads"])
        t.reset()
        peak(True)
        step, micros = STEPS[r["step"]], []
        self.step(t, step, 0, r)
        begin = time.perf_counter()
        while not micros or time.perf_counter() - begin < r["seconds"]:
            before = time.perf_counter()
            self.step(t, step, len(micros) + 1, r)
            micros.append((time.perf_counter() - before) * 1e6)
        return {"micros": statistics.median(micros), "peak": peak(False)}

    def product(self, r):
        """Processor time of a product of two square matrices on one thread."""
        torch.set_num_threads(1)
        self.blas.threads(1)
        x, y, micros = torch.randn(r["n"], r["n"]), torch.randn(r["n"], r["n"]), []
        z, begin = torch.mm(x, y), time.perf_counter()
        while len(micros) < 3 or time.perf_counter() - begin < r["seconds"]:
            before = time.process_time()
            torch.mm(x, y, out=z)
            micros.append((time.process_time() - before) * 1e6)
        return {"micros": statistics.median(micros)}

    @staticmethod
    def step(t, objective, i, r):
        t.adam.zero_grad(set_to_none=True)
        objective(t, t.batches[i % len(t.batches)], None, r).backward()
        t.adam.step()


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks ends us
    peer = Peer()
    for line in sys.stdin:
        r = json.loads(line)
        try:
            answer = getattr(peer, r["op"])(r)
        except Exception as e:
            answer = {"error": f"{r['op']} {r.get('step', '')}: {type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


main()
