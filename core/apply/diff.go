package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Reasons of a Conflict and of a manifest that could not be applied.
const (
	ReasonDecodingErred     = "DecodingErred"
	ReasonFoundGenerateName = "FoundGenerateName"
	ReasonDuplicated        = "Duplicated"
	ReasonFailedToTakeOver  = "FailedToTakeOver"
	ReasonNotTakenOver      = "NotTakenOver"
	ReasonFoundDrifts       = "FoundDrifts"
	ReasonApplyFailed       = "ManifestApplyFailed"
	ReasonNoDiffReporting   = "FailedToReportDiff"
)

const (
	// FieldManager is under which name an agent owns fields of the objects it writes.
	FieldManager = "flotilla"
	// Creator is under which name it creates objects that must not be there yet, before it owns their fields.
	Creator = "flotilla-create"
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
	// Previews are live objects as they would be once their manifests were written, by the member's own API
	// server: what it adds, fills in and writes otherwise is then no difference. Without one a manifest is
	// compared with the live object itself.
	Previews map[Identity]*unstructured.Unstructured
	// Refused says of live objects why there is no preview: the API server refuses the manifest.
	Refused map[Identity]string
}

// Diff compares what a placement is to hold with live, which must have every object that the owner
// owns and, whoever owns them, the objects that the manifests name.
//
// An object of the owner with the wanted digest and without drift is kept. One that nobody owns is
// taken over unless the strategy says otherwise (KubeFleet's whenToTakeOver, default Always), or it has
// owners of its own and allowCoOwnership is not set. So is one of an earlier placement of the same name,
// another uid: it cannot come back. An object of any other placement is a conflict FailedToTakeOver,
// whatever the strategy: two placements that write one object would fight for ever. What the owner owns
// beyond the manifests is deleted; a manifest in conflict still counts as wanted.
//
// With strategy ReportDiff the plan has no operations: it lists what differs.
func Diff(wanted Wanted, live []*unstructured.Unstructured) Plan {
	d := newDiffer(wanted, live)
	reports := d.strategy.Type == api.ApplyReportDiff
	named := make(map[Identity]bool, len(wanted.Manifests))
	for i := range wanted.Manifests {
		m := &wanted.Manifests[i]
		id := IdentityOf(m.ObjectRef)
		switch found := d.live[id]; {
		case named[id]:
			d.conflict(m.ObjectRef, ReasonDuplicated, "the work names this object more than once; select it once")
			continue
		case m.Object == nil:
			d.conflict(m.ObjectRef, ReasonDecodingErred, m.Fault)
		case m.Object.GetName() == "":
			d.conflict(m.ObjectRef, ReasonFoundGenerateName, "the manifest has no name; metadata.generateName cannot be placed")
		case reports:
			d.report(m, found)
		default:
			d.manifest(m, found)
		}
		named[id] = true
	}
	for id, object := range d.live {
		if owner, ok := OwnerOf(object); ok && owner == wanted.Owner && !named[id] {
			d.unwanted(object, reports)
		}
	}
	return d.plan()
}

// Withdraw plans the removal of everything that the owner owns: deleted, or, to abandon, left in
// place without our annotations. So is what others own too. Objects of other placements in live are not
// touched.
func Withdraw(owner Owner, live []*unstructured.Unstructured, abandon bool) Plan {
	var d differ
	for _, object := range live {
		found, ok := OwnerOf(object)
		switch {
		case !ok || found != owner:
		case abandon:
			d.disown(object, "abandoned")
		default:
			d.remove(object, "withdrawn")
		}
	}
	return d.plan()
}

func (d *differ) plan() Plan {
	slices.SortFunc(d.conflicts, func(a, b Conflict) int { return CompareRefs(a.ObjectRef, b.ObjectRef) })
	slices.SortFunc(d.differing, func(a, b api.DifferingObject) int { return CompareRefs(a.ObjectRef, b.ObjectRef) })
	slices.SortFunc(d.suspects, CompareRefs)
	return Plan{Waves: layered(d.ops), Conflicts: d.conflicts, Differing: d.differing, Suspects: d.suspects}
}
