package draft

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/advice"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/crowds"
	"flotilla/hub/door/effort"
	"flotilla/hub/door/records"
)

// Draft is everything one request would change. It is filled by deciding and then committed, or, on a
// dry run, only shown.
type Draft struct {
	// Results tell what becomes of each object, in the order of the documents.
	Results []api.ApplyResult
	// Planning is set of a draft that is only shown: it leaves it to the plan to tell why runs could not be created, and to
	// Remark.
	Planning *effort.Bound
	// Show puts into results what would be stored.
	Show bool
	// Set is the set of the documents.
	Set Set

	desk    *Desk
	records *records.Tables
	by      api.Caller
	request string
	now     metav1.Time

	batch
	rejection
	selection
	// typed are the documents of known kinds that the request writes.
	typed []*Document
	// classes are the node classes among the documents whose spec changes.
	classes []advice.ClassChange
	deletion
}

// batch is what a draft stores and tells.
type batch struct {
	ops []store.Op
	// bodies are to be stored, sealed, for their digests.
	bodies map[string][]byte
	// layout makes works whose bodies are stored, or among bodies.
	layout bundles.Layout
	events []api.Audit
	// written maps the position of an op to the result that tells its revision.
	written map[int]int
	// erased maps the position of an op to the object whose spec it removes.
	erased map[int]api.ObjectRef
	// repeats says that the request wrote a document before.
	repeats bool
	// noted are names of objects whose heads are written.
	noted []string
}

// selection is what placements select, as it would be.
type selection struct {
	// index holds the content; touched says that it differs from what is stored.
	index   *content.Index
	touched bool
	// placements are those the request writes, by key; nil for one that is going.
	placements map[string]*api.Placement
	// named are the keys of placements among the documents, changed or not.
	named map[string]struct{}
	// cuts are the snapshots that are cut, by the key of their placement.
	cuts map[string]*api.Snapshot
	// ended are the pins that what is selected ends, by the key of their placement.
	ended map[string]*api.Pin
	// cost is what the placements that the request writes cost, crowd what later changes would.
	cost  effort.Cost
	crowd crowds.Draft
	// whole says that all placements were looked at, missed that a snapshot is missing still.
	whole, missed bool
}

// write adds the spec of an object, and what is said about it, to the draft.
func (f *Draft) write(spec api.Spec, revision uint64, event string) {
	table, name := f.records.Place(spec.Object)
	for at, result := range slices.Backward(f.Results) {
		if result.Object == spec.Object {
			f.written[len(f.ops)] = at
			break
		}
	}
	f.ops = append(f.ops, table.Put(name, &spec, revision))
	if table == f.records.Objects {
		f.noted = append(f.noted, name)
	}
	f.audit(records.EventName(spec.Object), event, spec.Object.String())
	if table == f.records.Placements {
		last := &f.events[len(f.events)-1]
		last.Generation, last.Spec = spec.Generation, records.SpecIn(spec.Body)
	}
}

// erase adds the removal of an object's spec.
func (f *Draft) erase(ref api.ObjectRef, revision uint64) {
	table, name := f.records.Place(ref)
	f.erased[len(f.ops)] = ref
	f.ops = append(f.ops, table.Delete(name, revision))
	if table == f.records.Objects {
		f.noted = append(f.noted, name)
	}
}

// Audit adds an event about an object to the draft.
func (f *Draft) Audit(object api.ObjectRef, reason, message string) {
	f.audit(records.EventName(object), reason, message)
}

func (f *Draft) audit(object, reason, message string) {
	f.events = append(f.events, f.by.Audit(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: f.now, Object: object, Type: "Normal",
		Reason: reason, Message: message,
	}))
}

// cut adds a snapshot for every placement whose selected content differs from its newest one. One that the request
// writes is always looked at, others when content changed that they may select, and all where snapshots may be missing.
func (f *Draft) cut() error {
	if f.Blind() {
		return nil
	}
	for _, p := range f.looked() {
		if err := cmp.Or(f.Planning.GoOn(), f.crowd.GoOn()); err != nil {
			return err
		}
		err := f.cutOne(p)
		if _, written := f.placements[p.Key()]; err != nil && written {
			return err
		}
		if err != nil { // it is nobody's fault here, and stays as it was
			f.desk.complain(records.EventName(RefOf(p)), f.records.Placements.Revision(p.Key()), err)
			f.missed = true
		}
	}
	if f.repeats { // what is missing is cut whatever it costs
		return nil
	}
	return f.crowd.Check()
}

// looked are the placements to look at, by key.
func (f *Draft) looked() (wanted []*api.Placement) {
	everywhere := f.repeats || f.desk.behind.Load() || len(f.records.Objects.Broken()) > 0
	if f.touched {
		f.whole, f.crowd.Several = everywhere, f.crowd.Several && !everywhere
		for _, p := range f.desk.Placements() {
			if _, written := f.placements[p.Key()]; !written && (everywhere || f.concerns(p)) {
				wanted = append(wanted, p)
			}
		}
	}
	for _, p := range f.placements {
		if p != nil {
			wanted = append(wanted, p)
		}
	}
	slices.SortFunc(wanted, func(a, b *api.Placement) int { return strings.Compare(a.Key(), b.Key()) })
	return wanted
}

// concerns says that content changed that a placement may select, or that a snapshot of it cannot be read.
func (f *Draft) concerns(p *api.Placement) bool {
	return f.index.Concerns(p.Spec.ResourceSelectors, p.Namespace) || len(f.records.BrokenSnapshots(p.Key())) > 0
}
