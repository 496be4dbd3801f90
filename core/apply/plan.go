package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Verb is what an operation does to an object.
type Verb string

// The verbs. Keep writes nothing; it is in the plan so that the caller checks its availability.
const (
	Create  Verb = "create"
	Replace Verb = "replace"
	Delete  Verb = "delete"
	Disown  Verb = "disown" // take our annotations off and leave the object
	Keep    Verb = "keep"
)

// Op is one operation on one object.
type Op struct {
	Verb Verb
	api.ObjectRef
	// Digest is of the manifest, empty for Delete and Disown.
	Digest string
	// UID of the live object that Replace, Delete, Disown and Keep are about; a write must not touch
	// an object of the same name with another uid.
	UID string
	// Version is the resourceVersion that the live object must still have, empty for any.
	Version string
	// Exclusive has a Create fail where there is such an object by then: it must not be taken over unseen.
	Exclusive bool
	// Object is what Create, Replace and Disown write, complete with its annotations; what Keep
	// found; nil for Delete.
	Object *unstructured.Unstructured
	// Reason says why, "content changed", "drifted at /spec/replicas".
	Reason string
	// Drifted says where the live object had been changed, "/spec/replicas", when a Replace undoes that.
	Drifted string
	// Live is the object as it was found, of such a Replace.
	Live *unstructured.Unstructured
}

// Conflict is one manifest that is left alone.
type Conflict struct {
	api.ObjectRef
	// Reason is one of the results of KubeFleet.
	Reason  string
	Message string
}

// Plan is what to do, in order: the operations of one wave in any order or at once, a wave only
// after the one before it was tried.
type Plan struct {
	Waves     [][]Op
	Conflicts []Conflict
	// Differing are the objects that are not as they are wanted and are left so without being in conflict.
	Differing []api.DifferingObject
	// Suspects are the objects that were found to differ without a preview of them: with one it may turn out
	// that the member's API server would change nothing.
	Suspects []api.ObjectRef
}

// Writes counts the operations that change something.
func (p Plan) Writes() int {
	writes := 0
	for _, wave := range p.Waves {
		for i := range wave {
			if wave[i].Verb != Keep {
				writes++
			}
		}
	}
	return writes
}

// String renders the plan for logs and golden files, one line an operation or conflict.
func (p Plan) String() string {
	var b strings.Builder
	for i, wave := range p.Waves {
		for j := range wave {
			fmt.Fprintf(&b, "%d %s\n", i, wave[j])
		}
	}
	for _, c := range p.Conflicts {
		fmt.Fprintf(&b, "- %s: %s: %s\n", c.ObjectRef, c.Reason, c.Message)
	}
	for i := range p.Differing {
		fmt.Fprintf(&b, "~ %s: %s\n", p.Differing[i].ObjectRef, paths(p.Differing[i].Differences))
	}
	return b.String()
}

// String is one line, "replace Deployment/shop/web: content changed".
func (o Op) String() string {
	if o.Reason == "" {
		return fmt.Sprintf("%s %s", o.Verb, o.ObjectRef)
	}
	return fmt.Sprintf("%s %s: %s", o.Verb, o.ObjectRef, o.Reason)
}

// layered sorts operations into waves: writes and keeps by rising wave of their kind, then deletions
// and disownings by falling wave.
func layered(ops []Op) [][]Op {
	byLayer := map[int][]*Op{}
	for i := range ops {
		at := layer(&ops[i])
		byLayer[at] = append(byLayer[at], &ops[i])
	}
	waves := make([][]Op, 0, len(byLayer))
	for _, at := range slices.Sorted(maps.Keys(byLayer)) {
		slices.SortFunc(byLayer[at], func(a, b *Op) int { return CompareRefs(a.ObjectRef, b.ObjectRef) })
		wave := make([]Op, len(byLayer[at]))
		for i, op := range byLayer[at] {
			wave[i] = *op
		}
		waves = append(waves, wave)
	}
	return waves
}

func layer(o *Op) int {
	wave := Wave(o.ObjectRef)
	if o.Verb == Delete || o.Verb == Disown {
		return 2*lastWave + 1 - wave
	}
	return wave
}

// CompareRefs orders objects by kind, namespace and name.
func CompareRefs(a, b api.ObjectRef) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
}
