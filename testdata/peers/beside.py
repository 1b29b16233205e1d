#!/usr/bin/python3
"""Sets `opl train` beside peers in worlds whose truth is known, and prints a table in Markdown.

    beside.py --opl opl --rows 1000 --seeds 0:4 hicard stores uplift

For each world (worlds.py) and seed it draws a log, trains opl and the peers (peers.py) on it, and
evaluates their policies on other contexts. It reads opl's policy by policies/python/opl_policy.py.
A row of the table has means over seeds:

- logging: what the logging policy earns,
- opl and each peer: what their policies earn, the best in bold,
- best: what the best action earns, played with probability .95, else one at random,
- opl − best peer: the paired difference ± two standard errors over seeds; the best peer is the one
  with the highest mean,
- no policy: the logs for which opl wrote no policy (status 3). They count as the logging policy.

A policy that opl writes with status 3 ("undecided") counts as written. OMP_NUM_THREADS=1 keeps
scikit-learn to one core. Debian: python3-sklearn, python3-pandas.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import peers
import worlds

sys.path.append(str(Path(__file__).resolve().parents[2] / "policies" / "python"))
import opl_policy  # noqa: E402

NOTHING_BETTER = 3  # opl's status where it shows no better policy


def train(opl, log, options, what):
    """Runs `opl train` on a log. Returns the policy, or None if opl wrote none."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "log.csv", Path(folder) / "policy.json"
        log.to_csv(data, index=False)
        command = [opl, "train", str(data), "--out", str(out), "--quiet", *options]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode not in (0, NOTHING_BETTER):
            sys.exit(f"{what}: {' '.join(command)} ended with status {ran.returncode}:\n"
                     + ran.stderr)
        return opl_policy.load(out) if out.exists() else None


def policy_reward(policy, contexts, mean, batch=2000):
    """Returns what a policy of opl earns on contexts. A missing value is a missing feature."""
    rows = [{name[2:]: v for name, v in row.items() if v == v}
            for row in contexts.to_dict("records")]
    p = np.concatenate([policy.propensities(rows[i:i + batch])
                        for i in range(0, len(rows), batch)])
    order = [int(action[1:]) for action in policy.actions]
    return (p * mean[:, order]).sum(1).mean()


def measure(name, seed, args):
    """Returns the rewards of a log's learners by their names, logging and best among them."""
    drawn = worlds.draw(name, seed, args.rows, args.contexts)
    mean = drawn.mean
    policy = train(args.opl, drawn.log, worlds.WORLDS[name].options, f"{name}, seed {seed}")
    rewards = {
        "logging": drawn.logging,
        "best": (1 - peers.FLOOR) * mean.max(1).mean() + peers.FLOOR * mean.mean(),
        "opl": policy_reward(policy, drawn.contexts, mean) if policy else drawn.logging,
        "no policy": policy is None,
    }
    for peer in args.peers:
        rewards[peer] = peers.reward(peer, drawn.log, drawn.contexts, mean)
    return rewards


def decimal(value, digits, sign=""):
    """Formats .1234 without the zero before the point."""
    return f"{value:{sign}.{digits}f}".replace("0.", ".", 1)


def columns(args):
    return ["logging", "opl", *args.peers, "best", "opl − best peer", "no policy"]


def cells(logs, args):
    """Returns the columns of logs' rewards."""
    mean = {key: np.mean([log[key] for log in logs]) for key in logs[0]}
    learners = ["opl", *args.peers]
    first = max(learners, key=mean.get)
    best_peer = max(args.peers, key=mean.get)
    difference = np.array([log["opl"] - log[best_peer] for log in logs])
    shown = decimal(difference.mean(), 4, "+")
    if len(logs) > 1:
        shown += " ± " + decimal(2 * difference.std(ddof=1) / np.sqrt(len(logs)), 4)
    out = [decimal(mean["logging"], 3)]
    for learner in learners:
        value = decimal(mean[learner], 4)
        out.append(f"**{value}**" if learner == first else value)
    return out + [decimal(mean["best"], 3), shown, str(sum(log["no policy"] for log in logs))]


def row(name, logs, args):
    """Returns the row of a world's table, of the rewards of its logs."""
    first = [worlds.WORLDS[name].label, f"{args.rows:,}", f"{args.seeds[0]}–{args.seeds[-1]}"]
    return line(first + cells(logs, args))


def line(cells):
    return "| " + " | ".join(cells) + " |"


def seeds(text):
    first, last = map(int, text.split(":"))
    if not 0 <= first < last:
        raise ValueError
    return range(first, last)


def methods(text):
    names = text.split(",")
    if not set(names) <= set(peers.METHODS):
        raise argparse.ArgumentTypeError(f"{text}: peers are {', '.join(peers.METHODS)}")
    return names


def arguments():
    known = "\n".join(f"  {name:<13} {w.label}" for name, w in worlds.WORLDS.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog="worlds:\n" + known,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", metavar="WORLD", nargs="+", choices=list(worlds.WORLDS))
    parser.add_argument("--opl", metavar="BINARY", default="opl")
    parser.add_argument("--rows", type=int, default=1000, help="of a log")
    parser.add_argument("--seeds", type=seeds, default="0:4", help="FROM:TO, without TO")
    parser.add_argument("--peers", type=methods, default="logistic,boosted,dr-ridge",
                        help="a list of " + ", ".join(peers.METHODS))
    parser.add_argument("--contexts", type=int, default=20000, help="that policies play on")
    args = parser.parse_args()
    if not shutil.which(args.opl):
        parser.error(f"no program {args.opl}: name opl's binary by --opl")
    return args


def main():
    args = arguments()
    head = ["world", "rows", "seeds", *columns(args)]
    print(line(head))
    print("|---|" + "---:|" * (len(head) - 1), flush=True)
    for name in args.worlds:
        print(row(name, [measure(name, seed, args) for seed in args.seeds], args), flush=True)


if __name__ == "__main__":
    main()
