// Package kubernetes decodes, strictly and with Kubernetes' own types, the manifests that opl writes. It is a module of its
// own, so that those types are no dependency of opl's.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

const grid = "runs: [{objectives: heuristic}]\nlimit: 400\n# $HOME stays\n"

func submit(t *testing.T, args ...string) (parts, merge [][]byte) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "grid.yaml")
	if err := os.WriteFile(path, []byte(grid), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	cmd := exec.Command("go", append([]string{"run", "./cmd/opl", "run", path, "--submit", "kubernetes", "--out", out}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "OPL_DATA=testdata")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	read := func(name string) [][]byte {
		text, err := os.ReadFile(filepath.Join(out, "kubernetes", name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Split(text, []byte("---\n"))
	}
	return read("shards.yaml"), read("merge.yaml")
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}

func TestManifests_DecodeAsKubernetesTypes(t *testing.T) {
	parts, merge := submit(t, "--shards", "2", "--engine", "image=opl:1", "--engine", "claim=results", "--engine", "namespace=lab",
		"--engine", "cpu=2", "--engine", "memory=4Gi", "--engine", "parallelism=1", "--engine", "retries=3", "--engine", "deadline=3600",
		"--engine", "spec.template.spec.nodeSelector.disk=ssd", "--engine", "spec.ttlSecondsAfterFinished=600", "--engine", "metadata.labels.team=ope")
	if len(parts) != 2 || len(merge) != 1 {
		t.Fatalf("%d and %d objects", len(parts), len(merge))
	}
	var config corev1.ConfigMap
	decode(t, parts[0], &config)
	var jobs [2]batchv1.Job
	decode(t, parts[1], &jobs[0])
	decode(t, merge[0], &jobs[1])
	if config.Kind != "ConfigMap" || config.Data["grid.yaml"] != grid || config.Namespace != "lab" || config.Name != jobs[0].Name {
		t.Errorf("%+v", config)
	}
	for i, j := range jobs {
		pod := j.Spec.Template.Spec
		if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Namespace != "lab" || len(j.Name) > 57 || *j.Spec.ActiveDeadlineSeconds != 3600 ||
			*j.Spec.TTLSecondsAfterFinished != 600 || j.Labels["team"] != "ope" {
			t.Errorf("%+v", j)
		}
		c := pod.Containers[0]
		if pod.RestartPolicy != corev1.RestartPolicyNever || pod.NodeSelector["disk"] != "ssd" || len(pod.Containers) != 1 || c.Image != "opl:1" || c.Command[0] != "opl" {
			t.Errorf("%+v", pod)
		}
		for _, r := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			if r.Cpu().Cmp(resource.MustParse("2")) != 0 || r.Memory().Cmp(resource.MustParse("4Gi")) != 0 {
				t.Errorf("resources %v", r)
			}
		}
		volumes := map[string]corev1.Volume{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = v
		}
		for _, m := range c.VolumeMounts {
			if _, is := volumes[m.Name]; !is {
				t.Errorf("job %d mounts %s, which is no volume", i, m.Name)
			}
		}
		if volumes["out"].PersistentVolumeClaim.ClaimName != "results" || volumes["grid"].ConfigMap.Name != config.Name {
			t.Errorf("volumes %+v", pod.Volumes)
		}
	}
	s := jobs[0].Spec
	if *s.CompletionMode != batchv1.IndexedCompletion || *s.Completions != 2 || *s.Parallelism != 1 || *s.BackoffLimitPerIndex != 3 {
		t.Errorf("%+v", s)
	}
	want := []string{"run", "--shard", "$(JOB_COMPLETION_INDEX)+1/2", "--out", "/out/out/shards/$(JOB_COMPLETION_INDEX)+1-of-2", "/grid/grid.yaml"}
	for i, arg := range s.Template.Spec.Containers[0].Args {
		if i >= len(want) || arg != want[i] {
			t.Fatalf("arguments %q, want %q", s.Template.Spec.Containers[0].Args, want)
		}
	}
	if args := jobs[1].Spec.Template.Spec.Containers[0].Args; len(args) != 4 || args[0] != "merge" || *jobs[1].Spec.BackoffLimit != 3 {
		t.Errorf("%q", args)
	}
}

// A path that no Job has is written as it is given, and refused by who reads it strictly, as kubectl does.
func TestUnknownPath(t *testing.T) {
	parts, _ := submit(t, "--engine", "image=opl:1", "--engine", "claim=results", "--engine", "spec.color=red")
	var j batchv1.Job
	if err := yaml.UnmarshalStrict(parts[1], &j); err == nil {
		t.Error("a Job of a color")
	}
}

// The manifest of serve has replicas with a log each, and asks the server itself whether it is ready.
func TestServe_HasReplicasWithALogEach(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/deploy/serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parts := bytes.Split(text, []byte("---\n"))
	if len(parts) != 2 {
		t.Fatalf("%d objects", len(parts))
	}
	var service corev1.Service
	decode(t, parts[0], &service)
	var set appsv1.StatefulSet
	decode(t, parts[1], &set)
	pod, c := set.Spec.Template, set.Spec.Template.Spec.Containers[0]
	if service.Name != set.Spec.ServiceName || service.Spec.Selector["app"] != pod.Labels["app"] ||
		set.Spec.Selector.MatchLabels["app"] != pod.Labels["app"] {
		t.Errorf("%+v selects other pods than %+v", service.Spec, pod.Labels)
	}
	volumes := map[string]bool{set.Spec.VolumeClaimTemplates[0].Name: true}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s is mounted, which is no volume", m.Name)
		}
	}
	cmd := exec.Command("go", "run", "./cmd/opl", "serve", "--help-all")
	cmd.Dir = "../.."
	help, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, help)
	}
	for _, arg := range append(c.Args[2:], c.ReadinessProbe.Exec.Command[2]) {
		if flag, _, _ := strings.Cut(arg, "="); !regexp.MustCompile(`(?m)^ +` + flag + `\b`).Match(help) {
			t.Errorf("serve knows no %s", arg)
		}
	}
}
