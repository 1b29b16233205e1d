package engine

import (
	"bytes"
	"fmt"
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

// Kubernetes is the manifest of an Indexed Job of the parts, and that of a Job for the merge, to be
// applied once the first is complete. grid, if not empty, becomes a file of this name in
// KubernetesGrid. The claim is a PersistentVolumeClaim that all pods write to (ReadWriteMany),
// which remote work needs not. A part is tried again on its own.
func (w Work) Kubernetes(gridName string, grid []byte) (parts, merge []byte, err error) {
	given := map[string]string{"retries": "6", "command": w.Part[0]}
	var paths []Option
	for _, o := range w.Options {
		switch {
		case strings.Contains(", "+KubernetesOptions+",", ", "+o.Key+","):
			given[o.Key] = o.Value
		case strings.Contains(o.Key, "."):
			paths = append(paths, o)
		default:
			return nil, nil, fmt.Errorf("setting engine %s: want one of %s, or a path such as "+
				"spec.template.spec.priorityClassName", o.Key, KubernetesOptions)
		}
	}
	for _, key := range []string{"image", "claim"} {
		if given[key] == "" && (key == "image" || !w.Remote) {
			return nil, nil, fmt.Errorf("setting engine: Kubernetes wants %s=..., %s", key, map[string]string{
				"image": "an image that has opl and the data sets",
				"claim": "a PersistentVolumeClaim that all pods can write to"}[key])
		}
	}
	numbers := map[string]int{}
	for _, key := range []string{"parallelism", "retries", "deadline"} {
		if given[key] != "" {
			n, err := strconv.ParseInt(given[key], 10, 32)
			if err != nil || n < 0 {
				return nil, nil, fmt.Errorf("setting engine %s=%s: want a whole number", key, given[key])
			}
			numbers[key] = int(n)
		}
	}
	job := func(name string, args []string, spec object) (object, error) {
		for i := range args {
			args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "$", "$$"), Index, "$(JOB_COMPLETION_INDEX)")
		}
		var mounts, volumes []object
		if given["claim"] != "" {
			mounts = []object{{"name": "out", "mountPath": KubernetesOut}}
			volumes = []object{{"name": "out", "persistentVolumeClaim": object{"claimName": given["claim"]}}}
		}
		if grid != nil {
			mounts = append(mounts, object{"name": "grid", "mountPath": KubernetesGrid})
			volumes = append(volumes, object{"name": "grid", "configMap": object{"name": w.Name}})
		}
		container := object{"name": "opl", "image": given["image"], "command": []string{given["command"]},
			"args": args}
		pod := object{"restartPolicy": "Never", "containers": []object{container}}
		if mounts != nil {
			container["volumeMounts"], pod["volumes"] = mounts, volumes
		}
		resources := object{}
		for _, key := range []string{"cpu", "memory"} {
			if given[key] != "" {
				resources[key] = given[key]
			}
		}
		if len(resources) > 0 {
			container["resources"] = object{"requests": resources, "limits": resources}
		}
		spec["template"] = object{"spec": pod}
		if given["deadline"] != "" {
			spec["activeDeadlineSeconds"] = numbers["deadline"]
		}
		meta := object{"name": name, "labels": object{"app.kubernetes.io/name": "opl"}}
		if given["namespace"] != "" {
			meta["namespace"] = given["namespace"]
		}
		j := object{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
		for _, o := range paths {
			if err := set(j, o); err != nil {
				return nil, err
			}
		}
		return j, nil
	}
	spec := object{"completionMode": "Indexed", "completions": w.Of, "parallelism": w.Of,
		"backoffLimitPerIndex": numbers["retries"]}
	if given["parallelism"] != "" {
		spec["parallelism"] = numbers["parallelism"]
	}
	first, err := job(w.Name, w.Part[1:], spec)
	if err != nil {
		return nil, nil, err
	}
	second, err := job(w.mergeName(), w.Merge[1:], object{"backoffLimit": numbers["retries"]})
	if err != nil {
		return nil, nil, err
	}
	docs := []object{first}
	if grid != nil {
		meta := object{"name": w.Name}
		if given["namespace"] != "" {
			meta["namespace"] = given["namespace"]
		}
		docs = []object{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta,
			"data": object{gridName: string(grid)}}, first}
	}
	if parts, err = manifest(docs); err != nil {
		return nil, nil, err
	}
	merge, err = manifest([]object{second})
	return parts, merge, err
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
