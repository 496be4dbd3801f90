package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/content"
	"flotilla/core/disruption"
)

// Classes are the references of NodePools to their node classes, by the name of the pool.
type Classes map[string]*api.NodeClassRef

// Naming lists the NodePools whose reference names an object, sorted.
func (c Classes) Naming(object api.ObjectRef) []string {
	var names []string
	for name, ref := range c {
		if ref.Names(object) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ClassMissing says that the hub does not hold the node class that a pool names.
func ClassMissing(pool *api.NodePool, held func(api.ObjectRef) bool) []string {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || ref.Kind == "" {
		return nil
	}
	group := cmp.Or(ref.Group, content.GroupOf(ref.APIVersion))
	if group == "" || held(api.ObjectRef{APIVersion: group + "/v1", Kind: ref.Kind, Name: ref.Name}) {
		return nil
	}
	return []string{fmt.Sprintf("the hub does not hold %s %s: apply it too, or changes of it are not seen as drift", ref.Kind, ref.Name)}
}

// ClassChange is a node class whose spec changes: the pools that name it, and its hashes; Before is empty where none was
// stored.
type ClassChange struct {
	Object        api.ObjectRef
	Pools         []string
	Before, After string
}

// ClassChangeOf compares the bodies of a node class that pools name; before is nil where none was stored. It says what the
// change does to the nodes of the pools (N16).
func ClassChangeOf(object api.ObjectRef, pools []string, before, after []byte) (change ClassChange, notes []string, err error) {
	change = ClassChange{Object: object, Pools: pools}
	if change.After, err = capacity.ClassHash(after); err != nil || before == nil {
		return change, nil, err
	}
	if change.Before, err = capacity.ClassHash(before); err != nil || change.Before == change.After {
		return change, nil, err
	}
	note := "its spec changes: the nodes of " + kinded(pools) + " drift (" + disruption.DriftClass + ") and are replaced, within their budgets"
	return change, append([]string{note}, capacity.ClassNotes(before, after)...), nil
}

// ClassGone says of a node class that goes which pools name it.
func ClassGone(pools []string) []string {
	if len(pools) == 0 {
		return nil
	}
	return []string{"changes of it are no drift for " + kinded(pools) + " until it is applied again"}
}

// kinded are NodePools as people name them.
func kinded(pools []string) string {
	return api.KindNodePool + "/" + strings.Join(pools, ", "+api.KindNodePool+"/")
}
