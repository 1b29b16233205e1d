package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/dataset"
	"opl/train/library"
	"opl/train/logs"
)

// ListsOf splits a data set's name such as "mnist:3" into that of its files and how many slots the lists have that its
// examples are shown, see [logs.ListsFromLabels]; 0: they are shown an action each.
func ListsOf(dataset string) (name string, slots int) {
	name, text, _ := strings.Cut(dataset, ":")
	if slots, err := strconv.Atoi(text); err == nil && slots > 0 {
		return name, slots
	}
	return dataset, 0
}

// slotsOf is how many slots the lists of a data set have, 0 where it has none.
func slotsOf(name string, d *dataset.Data) (int, error) {
	_, slots := ListsOf(name)
	if slots == 1 || slots >= d.Classes || slots > 0 && d.Classes > train.MostListed {
		return 0, &train.SettingError{Key: "dataset", Reason: fmt.Sprintf("%s: it has %d classes: want lists of 2 to "+
			"%d slots, of at most %d classes", name, d.Classes, d.Classes-1, train.MostListed)}
	}
	return slots, nil
}

// listed are the runs of one problem that can learn lists, where the data set has them.
func listed(lib library.Library, data string, runs []train.Run, left func(what string, why error)) (can []train.Run,
	err error) {
	if _, slots := ListsOf(data); slots == 0 {
		return runs, nil
	}
	for _, r := range runs {
		p, err := lib.Policy(r.Policy)
		if err != nil {
			return nil, err
		}
		why := ""
		switch {
		case p.Make(0, nil, false).HasPosterior():
			why = "under a posterior the slots of a list are not drawn one after the other: take a softmax policy"
		case r.PriorSplit > 0 && !p.Plays:
			why = "its policy has no posterior, and lists no use for the rows of setting prior-split"
		default:
			can = append(can, r)
			continue
		}
		err = &objectives.UnfitError{Reason: data + ": " + why}
		if left == nil {
			return nil, fmt.Errorf("%s: %w", what(r), err)
		}
		left(what(r), err)
	}
	if len(can) == 0 && len(runs) > 0 {
		return nil, fmt.Errorf("nothing is left to run on %s: objectives of softmax policies, and certified, can", data)
	}
	return can, nil
}

// rewardOf is what a policy earns on the test set, by actions or by lists.
func rewardOf(t *Task, r train.Run, p policies.Policy, q policies.Posterior, test logs.Contexts) train.Reward {
	if _, slots := ListsOf(r.Dataset); slots > 0 {
		return train.EvaluateLists(p, q, test, t.Data.Test.Labels, slots, r.Seed)
	}
	return train.Evaluate(p, q, test, t.Data.Test.Labels, r.Seed)
}
