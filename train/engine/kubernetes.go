package engine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// KubernetesOptions lists the keys of options that stand for places in the manifest. Any other key is a path
// from the root of the Job, with dots, such as spec.template.spec.priorityClassName.
const KubernetesOptions = "image, claim, namespace, cpu, memory, parallelism, retries, deadline, command"

// Where the manifest mounts the claim and the grid file.
const (
	KubernetesOut  = "/out"
	KubernetesGrid = "/grid"
)

type object = map[string]any

// Kubernetes returns the manifest of an Indexed Job of the parts, and that of a Job for the merge, to
// be applied once the first is complete. grid, if not empty, becomes a file of this name in
// KubernetesGrid. The claim is a PersistentVolumeClaim that all pods write to (ReadWriteMany), which
// remote work needs not. A part is tried again on its own.
func (w Work) Kubernetes(gridName string, grid []byte) (parts, merge []byte, err error) {
	c, err := w.cluster()
	if err != nil {
		return nil, nil, err
	}
	c.grid = grid != nil
	spec := object{"completionMode": "Indexed", "completions": w.Of, "parallelism": w.Of,
		"backoffLimitPerIndex": c.numbers["retries"]}
	if c.given["parallelism"] != "" {
		spec["parallelism"] = c.numbers["parallelism"]
	}
	first, err := c.job(w.Name, w.Part[1:], spec)
	if err != nil {
		return nil, nil, err
	}
	second, err := c.job(w.mergeName(), w.Merge[1:], object{"backoffLimit": c.numbers["retries"]})
	if err != nil {
		return nil, nil, err
	}
	docs := []object{first}
	if grid != nil {
		docs = []object{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": c.meta(w.Name),
			"data": object{gridName: string(grid)}}, first}
	}
	if parts, err = manifest(docs); err != nil {
		return nil, nil, err
	}
	merge, err = manifest([]object{second})
	return parts, merge, err
}

// cluster is what options say of jobs.
type cluster struct {
	name    string // of the config map that holds the grid
	grid    bool   // there is one
	given   map[string]string
	numbers map[string]int
	paths   []Option
}

// cluster reads the options.
func (w Work) cluster() (cluster, error) {
	c := cluster{name: w.Name, given: map[string]string{"retries": "6", "command": w.Part[0]},
		numbers: map[string]int{}}
	for _, o := range w.Options {
		switch {
		case strings.Contains(", "+KubernetesOptions+",", ", "+o.Key+","):
			c.given[o.Key] = o.Value
		case strings.Contains(o.Key, "."):
			c.paths = append(c.paths, o)
		default:
			return c, fmt.Errorf("setting engine %s: want one of %s, or a path such as "+
				"spec.template.spec.priorityClassName", o.Key, KubernetesOptions)
		}
	}
	if c.given["image"] == "" {
		return c, errors.New("setting engine: Kubernetes wants image=..., an image that has opl and the data sets")
	}
	if c.given["claim"] == "" && !w.Remote {
		return c, errors.New("setting engine: Kubernetes wants claim=..., " +
			"a PersistentVolumeClaim that all pods can write to")
	}
	for _, key := range []string{"parallelism", "retries", "deadline"} {
		if text := c.given[key]; text != "" {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return c, fmt.Errorf("setting engine %s=%s: want a whole number", key, text)
			}
			c.numbers[key] = int(n)
		}
	}
	return c, nil
}

// meta is the metadata of an object.
func (c cluster) meta(name string) object {
	meta := object{"name": name}
	if c.given["namespace"] != "" {
		meta["namespace"] = c.given["namespace"]
	}
	return meta
}

// job is a Job that runs opl with args.
func (c cluster) job(name string, args []string, spec object) (object, error) {
	args = slices.Clone(args) // those of the caller stay
	for i := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "$", "$$"), Index, "$(JOB_COMPLETION_INDEX)")
	}
	var mounts, volumes []object
	if c.given["claim"] != "" {
		mounts = []object{{"name": "out", "mountPath": KubernetesOut}}
		volumes = []object{{"name": "out", "persistentVolumeClaim": object{"claimName": c.given["claim"]}}}
	}
	if c.grid {
		mounts = append(mounts, object{"name": "grid", "mountPath": KubernetesGrid})
		volumes = append(volumes, object{"name": "grid", "configMap": object{"name": c.name}})
	}
	container := object{"name": "opl", "image": c.given["image"], "command": []string{c.given["command"]},
		"args": args}
	pod := object{"restartPolicy": "Never", "containers": []object{container}}
	if mounts != nil {
		container["volumeMounts"], pod["volumes"] = mounts, volumes
	}
	resources := object{}
	for _, key := range []string{"cpu", "memory"} {
		if c.given[key] != "" {
			resources[key] = c.given[key]
		}
	}
	if len(resources) > 0 {
		container["resources"] = object{"requests": resources, "limits": resources}
	}
	spec["template"] = object{"spec": pod}
	if c.given["deadline"] != "" {
		spec["activeDeadlineSeconds"] = c.numbers["deadline"]
	}
	meta := c.meta(name)
	meta["labels"] = object{"app.kubernetes.io/name": "opl"}
	j := object{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
	for _, o := range c.paths {
		if err := set(j, o); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// set puts a value at a path of an object.
func set(root object, o Option) error {
	keys := strings.Split(o.Key, ".")
	at := root
	for _, k := range keys[:len(keys)-1] {
		next, ok := at[k].(object)
		if !ok {
			if at[k] != nil {
				return fmt.Errorf("setting engine %s: %s has no keys to set", o.Key, k)
			}
			next = object{}
			at[k] = next
		}
		at = next
	}
	var value any
	if err := yaml.Unmarshal([]byte(o.Value), &value); err != nil {
		return fmt.Errorf("setting engine %s=%s: %w", o.Key, o.Value, err)
	}
	at[keys[len(keys)-1]] = value
	return nil
}

func manifest(docs []object) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	for _, d := range docs {
		if err := e.Encode(d); err != nil {
			return nil, err
		}
	}
	err := e.Close()
	return b.Bytes(), err
}
