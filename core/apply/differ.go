package apply

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// differ is one plan in the making.
type differ struct {
	wanted    Wanted
	strategy  api.ApplyStrategy
	live      map[Identity]*unstructured.Unstructured
	ops       []Op
	conflicts []Conflict
	differing []api.DifferingObject
	suspects  []api.ObjectRef
}

func newDiffer(wanted Wanted, live []*unstructured.Unstructured) *differ {
	d := &differ{wanted: wanted, live: make(map[Identity]*unstructured.Unstructured, len(live)), ops: make([]Op, 0, len(wanted.Manifests))}
	if wanted.Strategy != nil {
		d.strategy = *wanted.Strategy
	}
	for _, object := range live {
		d.live[IdentityOf(RefOf(object))] = object
	}
	return d
}

func (d *differ) conflict(ref api.ObjectRef, reason, message string) {
	d.conflicts = append(d.conflicts, Conflict{ObjectRef: ref, Reason: reason, Message: message})
}

// manifest plans one wanted object; live is nil when the member has none of its name.
func (d *differ) manifest(m *Manifest, live *unstructured.Unstructured) {
	if live == nil {
		d.write(Create, m, nil, "")
		d.last().Exclusive = d.strategy.WhenToTakeOver == api.TakeOverNever || d.strategy.WhenToTakeOver == api.TakeOverIfNoDiff
		return
	}
	if live.GetDeletionTimestamp() != nil {
		d.conflict(m.ObjectRef, ReasonApplyFailed, "the live object is being deleted; it is made again once it is gone")
		return
	}
	owner, owned := OwnerOf(live)
	switch {
	case !owned:
		d.unowned(m, live)
	case owner == d.wanted.Owner:
		d.own(m, live)
	case owner.Placement == d.wanted.Owner.Placement:
		d.write(Replace, m, live, "taken over from an earlier placement "+owner.Placement)
	default:
		d.conflict(m.ObjectRef, ReasonFailedToTakeOver, fmt.Sprintf(
			"placement %s owns the live object; take it out of one of the two placements", owner.Placement))
	}
}

func (d *differ) unowned(m *Manifest, live *unstructured.Unstructured) {
	if d.strategy.WhenToTakeOver == api.TakeOverNever {
		d.conflict(m.ObjectRef, ReasonNotTakenOver, "the member has this object already and whenToTakeOver is Never")
		return
	}
	if others := ownersOf(live); others != "" && !d.strategy.AllowCoOwnership {
		d.conflict(m.ObjectRef, ReasonFailedToTakeOver, "the member has this object already, owned by "+others+", and allowCoOwnership is false")
		return
	}
	if d.strategy.WhenToTakeOver == api.TakeOverIfNoDiff {
		if drifts := d.differences(m, live); len(drifts) > 0 {
			d.conflict(m.ObjectRef, ReasonFailedToTakeOver,
				"the member has this object already, different at "+paths(drifts)+", and whenToTakeOver is IfNoDiff")
			return
		}
	}
	d.write(Replace, m, live, "taken over, nobody owned it")
	if d.strategy.WhenToTakeOver == api.TakeOverIfNoDiff {
		d.last().Version = live.GetResourceVersion()
	}
}

func (d *differ) own(m *Manifest, live *unstructured.Unstructured) {
	if others := ownersOf(live); others != "" && !d.strategy.AllowCoOwnership {
		d.conflict(m.ObjectRef, ReasonApplyFailed, "the live object is owned by "+others+" too, and allowCoOwnership is false")
		return
	}
	kept := d.strategy.WhenToApply == api.WhenToApplyIfNotDrift
	if DigestOf(live) != m.Digest {
		d.write(Replace, m, live, "content changed")
		if kept {
			d.last().Version = live.GetResourceVersion()
		}
		return
	}
	drifts := d.differences(m, live)
	switch {
	case len(drifts) > 0 && kept:
		d.conflict(m.ObjectRef, ReasonFoundDrifts, "changed on the member at "+paths(drifts)+", and whenToApply is IfNotDrifted")
		return
	case len(drifts) > 0 && d.full():
		d.differ(m.ObjectRef, drifts)
		drifts = d.partial(m, live)
	}
	if len(drifts) == 0 {
		d.ops = append(d.ops, Op{Verb: Keep, ObjectRef: m.ObjectRef, Digest: m.Digest, UID: string(live.GetUID()), Object: live})
		return
	}
	d.write(Replace, m, live, "drifted at "+paths(drifts))
	d.last().Drifted, d.last().Live = paths(drifts), live
}

// report lists how one object differs, and plans nothing.
func (d *differ) report(m *Manifest, live *unstructured.Unstructured) {
	if live == nil {
		d.differ(m.ObjectRef, []api.Difference{{Path: wholeObject}})
		return
	}
	if refused := d.wanted.Refused[IdentityOf(m.ObjectRef)]; refused != "" {
		d.conflict(m.ObjectRef, ReasonNoDiffReporting, refused)
		return
	}
	if found := d.differences(m, live); len(found) > 0 {
		d.differ(m.ObjectRef, found)
	}
}

// unwanted is an object of the owner that no manifest names.
func (d *differ) unwanted(object *unstructured.Unstructured, reports bool) {
	if reports {
		d.differ(RefOf(object), []api.Difference{{Path: wholeObject, Manager: FieldManager}})
		return
	}
	d.remove(object, "no longer part of the work")
}

func (d *differ) differ(ref api.ObjectRef, found []api.Difference) {
	d.differing = append(d.differing, api.DifferingObject{ObjectRef: ref, Differences: found, Total: len(found)})
}

// full says that fields which a manifest does not mention count as differences.
func (d *differ) full() bool { return d.strategy.ComparisonOption == api.CompareFull }

func (d *differ) differences(m *Manifest, live *unstructured.Unstructured) []api.Difference {
	if d.full() {
		return named(Beyond(m.Object, live), live)
	}
	return d.partial(m, live)
}

// partial lists where a live object is not as its manifest says. What is found without a preview is suspected
// only.
func (d *differ) partial(m *Manifest, live *unstructured.Unstructured) []api.Difference {
	if preview := d.wanted.Previews[IdentityOf(m.ObjectRef)]; preview != nil {
		return named(Beyond(preview, live), live)
	}
	found := Drifts(m.Object, live)
	if len(found) > 0 {
		d.suspects = append(d.suspects, m.ObjectRef)
	}
	return named(found, live)
}

func (d *differ) write(verb Verb, m *Manifest, live *unstructured.Unstructured, reason string) {
	op := Op{
		Verb: verb, ObjectRef: m.ObjectRef, Digest: m.Digest, Reason: reason,
		Object: Stamped(m, d.wanted.Owner),
	}
	if live != nil {
		op.UID = string(live.GetUID())
	}
	d.ops = append(d.ops, op)
}

func (d *differ) last() *Op { return &d.ops[len(d.ops)-1] }

// remove deletes what nobody else owns, and lets go of the rest.
func (d *differ) remove(live *unstructured.Unstructured, reason string) {
	if others := ownersOf(live); others != "" {
		d.disown(live, reason+", owned by "+others+" too")
		return
	}
	d.ops = append(d.ops, removal(Delete, live, reason))
}

func (d *differ) disown(live *unstructured.Unstructured, reason string) {
	op := removal(Disown, live, reason)
	op.Object = unstamp(live)
	d.ops = append(d.ops, op)
}

func removal(verb Verb, live *unstructured.Unstructured, reason string) Op {
	return Op{
		Verb: verb, ObjectRef: RefOf(live), UID: string(live.GetUID()), Version: live.GetResourceVersion(), Reason: reason,
	}
}

// ownersOf names the first of the owners that a live object itself refers to, "ReplicaSet web".
func ownersOf(live *unstructured.Unstructured) string {
	owners := live.GetOwnerReferences()
	if len(owners) == 0 {
		return ""
	}
	text := owners[0].Kind + " " + owners[0].Name
	if more := len(owners) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// paths shows the first few places of a difference.
func paths(found []api.Difference) string {
	const shown = 3
	texts := make([]string, min(shown, len(found)))
	for i := range texts {
		texts[i] = found[i].String()
	}
	text := strings.Join(texts, ", ")
	if more := len(found) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
