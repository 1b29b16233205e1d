"""Answers for each policy file of cases.json what opl_policy says of it: propensities, or why it is refused."""
import json
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np
import opl_policy

try:
    import pandas
except ImportError:
    pandas = None

np.seterr(all="raise")  # a warning would be a traceback elsewhere


def answer(case):
    try:
        p = opl_policy.load(case["file"])
        if case["offered"]:
            names = lambda o: o if len(o) > 1 else o["id"]
            return {"pi": [p.offered(x, [names(a) for a in o]).tolist() for x, o in zip(case["contexts"], case["offered"])], "hash": p.hash}
        if case.get("slots"):
            lists = [p.slots(x, None, case["slots"], seed=i) for i, x in enumerate(case["contexts"])]
            again = [p.slots(x, p.actions, shown=list(reversed(s[0]))) for x, s in zip(case["contexts"], lists)]
            own = [n for n in p.inputs if n.startswith("slot=")]
            try:
                p.slots(dict(case["contexts"][0], **{n: 1 for n in own}), None, 1)
            except opl_policy.Error as e:
                assert own and ("context.%s: the slots" % own[0]) in str(e), e
            else:
                assert not own
            try:
                p.slots(case["contexts"][0], [{}, {"id": "a"}])
                assert False, "an action without an id"
            except opl_policy.Error as e:
                assert "no id" in str(e), e
            return {"shown": [s for s, _ in lists + again], "pi": [q for _, q in lists + again], "hash": p.hash}
        pi = p.propensities(case["contexts"])
        one = [p.propensities(x) for x in case["contexts"][:3]]
        columns = {name: [x.get(name) for x in case["contexts"]] for name in {n for x in case["contexts"] for n in x}}
        probs, (drawn, pa) = p.predict_proba(case["contexts"]), p.sample(case["contexts"], seed=1)
        if (probs != pi).any() or not all(row[p.actions.index(a)] == q > 0 for row, a, q in zip(pi, drawn, pa)) or p.hash[:12] not in repr(p):
            return {"error": "predict_proba, samples or repr are others", "pi": [], "hash": ""}
        if pandas is not None:
            frame = p.frame(case["contexts"])
            if list(frame.columns) != p.actions or (frame.to_numpy() != pi).any():
                return {"error": "the frame is another", "pi": [], "hash": ""}
        same = abs(pi[:3] - one).max() <= 1e-15 and (pi == p.propensities_of(columns, True)).all()
        return {"pi": pi.tolist(), "hash": p.hash, "error": "" if same else "one by one, or by columns, they are others"}
    except opl_policy.Error as e:
        return {"error": str(e), "refused": True}


with open(sys.argv[2]) as f:
    for case in json.load(f):
        print(json.dumps(answer(case)))
