#!/usr/bin/env python3
"""Runs a command of opl and logs its answer as a run of MLflow: numbers as metrics, the verdict as a tag, policy files.

    log_to_mlflow.py opl certify policy.json log.csv
"""
import json
import subprocess
import sys

import mlflow


def numbers(value, name):
    """The numbers within an answer, each with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, name + key + ".")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name[:-1], value


done = subprocess.run(sys.argv[1:] + ["--format", "json"], stdout=subprocess.PIPE)
if done.returncode not in (0, 3, 4):  # 3: not shown to be better, or doubted; 4: nothing is guaranteed
    sys.exit(done.returncode)
said = json.loads(done.stdout)
with mlflow.start_run(run_name=said["command"]):
    mlflow.log_metrics(dict(numbers(said, "")))
    mlflow.set_tags({"verdict": said["verdict"], "status": said["status"]})
    mlflow.log_dict(said, said["command"] + ".json")
    for name in sys.argv:
        if name.endswith(".json"):
            mlflow.log_artifact(name)
sys.exit(done.returncode)
