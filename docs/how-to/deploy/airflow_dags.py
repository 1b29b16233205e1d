"""Two DAGs for Airflow whose tasks run opl's image and go by its exit status.

Files are in /srv/opl, which every worker mounts; the image works in /data. Status 3 (not shown to be better, doubtful,
nothing learned) skips what comes after, and others fail the task. A killed shard is run again by the same command.
"""
from datetime import datetime

from airflow import DAG
from airflow.providers.docker.operators.docker import DockerOperator
from docker.types import Mount

SHARDS = 4
LEARNERS = ["linear", "trees", "quadratic"]


def opl(name, *command):
    return DockerOperator(
        task_id=name, image="opl:1.0.0", command=list(command), skip_on_exit_code=3, auto_remove="success",
        mounts=[Mount(source="/srv/opl", target="/data", type="bind")], mount_tmp_dir=False)


DAILY = {"schedule": "@daily", "start_date": datetime(2026, 1, 1), "catchup": False, "max_active_runs": 1,
         "default_args": {"retries": 2}}

# Certifies the policy that plays by all later logs: shards by files, then their sum.
with DAG("opl_certify", **DAILY):
    shards = [opl(f"certify_{i}", "certify", "policy.json", "later", "--any-time", "--shard", f"{i}/{SHARDS}", "--out",
                  "sums/{{ ds }}") for i in range(1, SHARDS + 1)]
    shards >> opl("merge", "merge", "sums/{{ ds }}", "--out", "certified/{{ ds }}")

# Learns candidates beside each other, and selects one by a log that taught none of them.
with DAG("opl_learn", **DAILY):
    candidates = [opl(f"train_{name}", "train", "first", "--learner", name, "--out", f"{name}.json", "--overwrite")
                  for name in LEARNERS]
    targets = [word for name in LEARNERS for word in ("--target", f"{name}.json")]
    candidates >> opl("select", "select", *targets, "later", "--format", "json")
