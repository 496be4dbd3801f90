package apply

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Reasons of a Conflict and of a manifest that could not be applied, from placement.md 3.3.
const (
	ReasonDecodingErred     = "DecodingErred"
	ReasonFoundGenerateName = "FoundGenerateName"
	ReasonDuplicated        = "Duplicated"
	ReasonFailedToTakeOver  = "FailedToTakeOver"
	ReasonNotTakenOver      = "NotTakenOver"
	ReasonFoundDrifts       = "FoundDrifts"
	ReasonApplyFailed       = "ManifestApplyFailed"
	ReasonNoDiffReporting   = "FailedToReportDiff"
	ReasonApplied           = "Applied"
)

// Manifest is one wanted object with its content.
type Manifest struct {
	api.Manifest
	// Object is the content that Digest addresses, nil when it could not be decoded.
	Object *unstructured.Unstructured
	// Fault says why Object is nil.
	Fault string
}

// Wanted is what one placement is to hold on this member.
type Wanted struct {
	Owner Owner
	// Strategy is nil for the defaults: take over what nobody owns, overwrite drift.
	Strategy  *api.ApplyStrategy
	Manifests []Manifest
}

// Diff compares what a placement is to hold with live, which must have every object that the owner
// owns and, whoever owns them, the objects that the manifests name.
//
// An object of the owner with the wanted digest and without drift is kept. One that nobody owns is
// taken over unless the strategy says otherwise (KubeFleet's whenToTakeOver, default Always). So is
// one of an earlier placement of the same name, another uid: it cannot come back. An object of any
// other placement is a conflict FailedToTakeOver, whatever the strategy: two placements that write
// one object would fight for ever. What the owner owns beyond the manifests is deleted; a manifest in
// conflict still counts as wanted.
func Diff(wanted Wanted, live []*unstructured.Unstructured) Plan {
	d := differ{wanted: wanted, live: make(map[Identity]*unstructured.Unstructured, len(live))}
	for _, object := range live {
		d.live[IdentityOf(RefOf(object))] = object
	}
	if wanted.Strategy != nil && wanted.Strategy.Type == api.ApplyReportDiff {
		return d.refuse()
	}
	named := make(map[Identity]bool, len(wanted.Manifests))
	for i := range wanted.Manifests {
		m := &wanted.Manifests[i]
		id := IdentityOf(m.ObjectRef)
		if named[id] {
			d.conflict(m.ObjectRef, ReasonDuplicated, "the work names this object more than once; select it once")
			continue
		}
		named[id] = true
		d.manifest(m, d.live[id])
	}
	for id, object := range d.live {
		if owner, ok := OwnerOf(object); ok && owner == wanted.Owner && !named[id] {
			d.ops = append(d.ops, removal(Delete, object, "no longer part of the work"))
		}
	}
	return d.plan()
}

// Withdraw plans the removal of everything that the owner owns: deleted, or, to abandon, left in
// place without our annotations. Objects of other owners in live are not touched.
func Withdraw(owner Owner, live []*unstructured.Unstructured, abandon bool) Plan {
	var d differ
	for _, object := range live {
		if found, ok := OwnerOf(object); !ok || found != owner {
			continue
		}
		if !abandon {
			d.ops = append(d.ops, removal(Delete, object, "withdrawn"))
			continue
		}
		op := removal(Disown, object, "abandoned")
		op.Object = unstamp(object)
		d.ops = append(d.ops, op)
	}
	return d.plan()
}

type differ struct {
	wanted    Wanted
	live      map[Identity]*unstructured.Unstructured
	ops       []Op
	conflicts []Conflict
}

func (d *differ) plan() Plan {
	slices.SortFunc(d.conflicts, func(a, b Conflict) int { return CompareRefs(a.ObjectRef, b.ObjectRef) })
	return Plan{Waves: layered(d.ops), Conflicts: d.conflicts}
}

func (d *differ) refuse() Plan {
	for i := range d.wanted.Manifests {
		d.conflict(d.wanted.Manifests[i].ObjectRef, ReasonNoDiffReporting,
			"apply strategy ReportDiff is not supported by this agent; nothing was written")
	}
	return d.plan()
}

func (d *differ) conflict(ref api.ObjectRef, reason, message string) {
	d.conflicts = append(d.conflicts, Conflict{ObjectRef: ref, Reason: reason, Message: message})
}

// manifest plans one wanted object; live is nil when the member has none of its name.
func (d *differ) manifest(m *Manifest, live *unstructured.Unstructured) {
	switch {
	case m.Object == nil:
		d.conflict(m.ObjectRef, ReasonDecodingErred, m.Fault)
	case m.Object.GetName() == "":
		d.conflict(m.ObjectRef, ReasonFoundGenerateName, "the manifest has no name; metadata.generateName cannot be placed")
	case live == nil:
		d.write(Create, m, nil, "")
	case live.GetDeletionTimestamp() != nil:
		d.conflict(m.ObjectRef, ReasonApplyFailed, "the live object is being deleted; it is made again once it is gone")
	default:
		d.existing(m, live)
	}
}

func (d *differ) existing(m *Manifest, live *unstructured.Unstructured) {
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
	mode := ""
	if d.wanted.Strategy != nil {
		mode = d.wanted.Strategy.WhenToTakeOver
	}
	switch mode {
	case api.TakeOverNever:
		d.conflict(m.ObjectRef, ReasonNotTakenOver, "the member has this object already and whenToTakeOver is Never")
		return
	case api.TakeOverIfNoDiff:
		if drifts := Drifts(m.Object, live); len(drifts) > 0 {
			d.conflict(m.ObjectRef, ReasonFailedToTakeOver,
				"the member has this object already, different at "+paths(drifts)+", and whenToTakeOver is IfNoDiff")
			return
		}
	}
	d.write(Replace, m, live, "taken over, nobody owned it")
}

func (d *differ) own(m *Manifest, live *unstructured.Unstructured) {
	if DigestOf(live) != m.Digest {
		d.write(Replace, m, live, "content changed")
		return
	}
	drifts := Drifts(m.Object, live)
	switch {
	case len(drifts) == 0:
		d.ops = append(d.ops, Op{
			Verb: Keep, ObjectRef: m.ObjectRef, Digest: m.Digest, UID: string(live.GetUID()), Object: live,
		})
	case d.wanted.Strategy != nil && d.wanted.Strategy.WhenToApply == api.WhenToApplyIfNotDrift:
		d.conflict(m.ObjectRef, ReasonFoundDrifts, "changed on the member at "+paths(drifts)+", and whenToApply is IfNotDrifted")
	default:
		d.write(Replace, m, live, "drifted at "+paths(drifts))
		d.ops[len(d.ops)-1].Drifted = paths(drifts)
	}
}

func (d *differ) write(verb Verb, m *Manifest, live *unstructured.Unstructured, reason string) {
	op := Op{
		Verb: verb, ObjectRef: m.ObjectRef, Digest: m.Digest, Reason: reason,
		Object: stamp(m.Object, d.wanted.Owner, m.Digest),
	}
	if live != nil {
		op.UID = string(live.GetUID())
	}
	d.ops = append(d.ops, op)
}

func removal(verb Verb, live *unstructured.Unstructured, reason string) Op {
	return Op{Verb: verb, ObjectRef: RefOf(live), UID: string(live.GetUID()), Reason: reason}
}

// paths shows the first few places of a difference.
func paths(drifts []string) string {
	const shown = 3
	if len(drifts) <= shown {
		return strings.Join(drifts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(drifts[:shown], ", "), len(drifts)-shown)
}
