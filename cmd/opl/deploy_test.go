package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opl/testdata/long"
)

// mlflowStub and airflowStub stand for the packages, which the registries do not give: they write what they are told.
const (
	mlflowStub = `
import contextlib, json
told = {}
@contextlib.contextmanager
def start_run(run_name):
    told["run"] = run_name
    yield
    with open("told.json", "w") as f:
        json.dump(told, f)
def log_metrics(metrics):
    assert all(type(v) in (int, float) for v in metrics.values())
    told["metrics"] = metrics
def set_tags(tags): told["tags"] = tags
def log_dict(d, name): told["answer"] = name
def log_artifact(name): told["artifact"] = name
`
	airflowStub = `
import json, sys, types
tasks = []
class DAG:
    def __init__(self, dag_id, schedule, start_date, catchup, max_active_runs, default_args): self.name = dag_id
    def __enter__(self): pass
    def __exit__(self, *of): pass
class DockerOperator:
    def __init__(self, task_id, image, command, skip_on_exit_code, auto_remove, mounts, mount_tmp_dir):
        assert task_id.replace("_", "").isalnum() and skip_on_exit_code == 3
        self.after = []
        tasks.append({"id": task_id, "command": command, "after": self.after})
    def __rrshift__(self, before): self.after += [t.after for t in before]
for name, of in {"airflow": {"DAG": DAG}, "airflow.providers": {}, "airflow.providers.docker": {},
                 "airflow.providers.docker.operators": {},
                 "airflow.providers.docker.operators.docker": {"DockerOperator": DockerOperator},
                 "docker": {}, "docker.types": {"Mount": lambda source, target, type: None}}.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(of)
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
for t in tasks:
    t["after"] = len(t["after"])
print(json.dumps(tasks))
`
)

// The examples of docs/how-to/deploy in Python run beside stubs of MLflow and Airflow. What the one logs is in opl's
// answer, and the commands of the other's tasks end as its page says, from a log to a selected and a certified policy.
func TestDeployExamples(t *testing.T) {
	long.Test(t)
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "").Run() != nil {
		t.Skip("no /usr/bin/python3")
	}
	at, err := filepath.Abs("../../docs/how-to/deploy")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(want int, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Fatalf("%s %q: %v, want status %d\n%s%s", name, args, err, want, out, errs.String())
		}
		return string(out)
	}
	for name, text := range map[string]string{"mlflow.py": mlflowStub, "stub.py": airflowStub} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "loop"), "../../testdata/loop").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for n, log := range []string{"first", "later"} {
		if err := os.Mkdir(filepath.Join(dir, log), 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			run(0, filepath.Join(dir, "loop"), "first", "--n", "400", "--seed", fmt.Sprint(10*n+i), "--out", fmt.Sprintf("%s/%d.csv", log, i))
		}
	}
	run(0, "opl", "train", "first", "--out", "policy.json", "--epochs", "2")

	run(0, python, filepath.Join(at, "log_to_mlflow.py"), "opl", "certify", "policy.json", "later")
	var told struct {
		Run, Artifact string
		Tags          map[string]any
		Metrics       map[string]float64
	}
	text, err := os.ReadFile(filepath.Join(dir, "told.json"))
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err != nil || told.Run != "certify" || told.Artifact != "policy.json" || told.Tags["verdict"] != "better" ||
		told.Metrics["guaranteed"] == 0 || told.Metrics["certificate.delta"] != .05 {
		t.Errorf("%v: MLflow was told %+v", err, told)
	}
	run(1, python, filepath.Join(at, "log_to_mlflow.py"), "opl", "certify", "none.json", "later")

	var tasks []struct {
		ID      string
		Command []string
		After   int // how many tasks come before
	}
	if err := json.Unmarshal([]byte(run(0, python, "stub.py", filepath.Join(at, "airflow_dags.py"))), &tasks); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		for i, word := range task.Command {
			task.Command[i] = strings.ReplaceAll(word, "{{ ds }}", "2026-11-24")
		}
		out := run(0, "opl", task.Command...)
		if task.ID == "merge" && (task.After != 4 || !strings.Contains(out, "guaranteed at least")) ||
			task.ID == "select" && (task.After != 3 || !strings.Contains(out, `"selected": `)) {
			t.Errorf("%s after %d tasks says %s", task.ID, task.After, out)
		}
	}
	if len(tasks) != 9 {
		t.Errorf("%d tasks", len(tasks))
	}
}
