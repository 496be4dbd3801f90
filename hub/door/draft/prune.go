package draft

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

// maxPruned is how many objects one apply may delete: with as many documents as it may have they are one batch.
const maxPruned = maxOps - MaxDocuments

// Set is the set of objects that documents are applied with.
type Set struct {
	// Name is empty where each object stays in its set, or in none.
	Name string
	// Prune deletes what is in the set and not among the documents.
	Prune bool
	// Move takes what is in another set.
	Move bool
}

// Check says what is wrong with a set, nil when nothing is.
func (s *Set) Check() *api.Failure {
	switch {
	case s.Name == "" && (s.Prune || s.Move):
		return &api.Failure{Code: api.CodeInvalid, Message: "set: found nothing, expected the name of a set to prune or to move objects to", Next: "flotilla apply --help"}
	case s.Name != "" && len(validation.IsDNS1123Subdomain(s.Name)) > 0:
		return &api.Failure{
			Code: api.CodeInvalid, Next: "flotilla apply --help",
			Message: fmt.Sprintf("set: found %q, expected at most 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit", s.Name),
		}
	}
	return nil
}

// Pruned are the objects in a set that are not among documents, placements first: nobody is to lose content before the
// placement that selected it.
func (d *Desk) Pruned(set *Set, documents *Documents) []api.ObjectRef {
	if !set.Prune {
		return nil
	}
	passed := map[string]bool{} // by key: kinds share tables
	for _, ref := range documents.Refs() {
		passed[d.keyOf(ref)] = true
	}
	var refs []api.ObjectRef
	r := d.records
	tables := []*store.Records[api.Spec]{r.Placements, r.Objects, r.Members}
	for _, kind := range slices.Sorted(maps.Keys(r.Specs)) {
		tables = append(tables, r.Specs[kind])
	}
	for _, table := range tables {
		from := len(refs)
		for _, entry := range table.All() {
			if key := table.Key(entry.Name); entry.Value.Set == set.Name && !passed[key] {
				passed[key], refs = true, append(refs, entry.Value.Object)
			}
		}
		slices.SortFunc(refs[from:], inOrder)
	}
	return refs
}

func (d *Desk) keyOf(ref api.ObjectRef) string {
	table, name := d.records.Place(ref)
	return table.Key(name)
}

// join puts what would be stored of a document into the draft's set.
func (f *Draft) join(doc *Document, next, stored *api.Spec) {
	next.Set = stored.Set
	if f.Set.Name == "" || next.Set == f.Set.Name {
		return
	}
	if next.Set != "" && !f.Set.Move {
		f.foreign = append(f.foreign, strict.Fault{
			Object: doc.Object.String(), Path: "set", Found: "an object of set " + strict.Quote(next.Set),
			Expected: "one of set " + strict.Quote(f.Set.Name) + " or of none; --move takes it from the other",
		})
	}
	next.Set = f.Set.Name
}

// prune adds the deletion of what the draft's set holds beside the documents. A request that wrote a document before has
// pruned with it: what is in the set since then is of others.
func (f *Draft) prune(documents *Documents) error {
	refs := f.desk.Pruned(&f.Set, documents)
	if len(refs) == 0 || f.repeats {
		return nil
	}
	if len(refs) > maxPruned {
		return f.tooManyPruned(len(refs))
	}
	f.refuseInhabited(documents, refs)
	going, _ := f.lookUp(refs, api.Expected{})
	if err := f.deleteAll(going); err != nil {
		return err
	}
	if len(f.ops) > maxOps {
		return f.tooManyPruned(len(f.going))
	}
	return nil
}

func (f *Draft) tooManyPruned(n int) *api.Failure {
	return &api.Failure{
		Code: api.CodeTooLarge, Next: "flotilla apply --help",
		Message: fmt.Sprintf("nothing was applied: %d objects of set %s are not among the documents, one apply prunes at most %d", n, f.Set.Name, maxPruned),
	}
}

// Prunes says that the draft deletes what its set holds beside the documents.
func (f *Draft) Prunes() bool { return f.Set.Prune && len(f.going) > 0 }

// refuseInhabited refuses to prune a namespace that documents lie in, or what is not of the set: it would take them along.
func (f *Draft) refuseInhabited(documents *Documents, refs []api.ObjectRef) {
	namespaces, inside := map[string]bool{}, map[string]int{}
	for _, ref := range refs {
		if IsNamespace(ref) {
			namespaces[ref.Name] = true
		}
	}
	if len(namespaces) == 0 {
		return
	}
	strangers := f.records.Strangers(namespaces, f.Set.Name)
	for _, doc := range documents.Refs() {
		inside[doc.Namespace]++
	}
	for _, ref := range refs {
		if !IsNamespace(ref) {
			continue
		}
		what := ""
		if of, found := strangers[ref.Name]; found {
			what = of.Object.String() + " in it, which is of " + setOf(&of)
		}
		if n := inside[ref.Name]; n > 0 {
			what = phrase.Count(n, "document") + " in it"
		}
		if what != "" {
			f.foreign = append(f.foreign, strict.Fault{
				Object: ref.String(), Path: "set", Found: "a namespace of set " + strict.Quote(f.Set.Name) + " that is not among the documents, and " + what,
				Expected: "the namespace among the documents, or nothing in it that stays",
			})
		}
	}
}

func setOf(spec *api.Spec) string {
	if spec.Set == "" {
		return "no set"
	}
	return "set " + strict.Quote(spec.Set)
}

func inOrder(a, b api.ObjectRef) int {
	return strings.Compare(a.APIVersion+a.String(), b.APIVersion+b.String())
}
