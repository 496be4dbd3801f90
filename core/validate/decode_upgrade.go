package validate

import (
	"regexp"

	"flotilla/core/api"
	"flotilla/core/strict"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zoneForm is what names of IANA zones look like. Which zones there are only the hub can say.
var zoneForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// upgrade reads a document of the kinds around upgrades. Its status is left out unread: it is the
// hub's own.
func (r *reading) upgrade() {
	r.tree.Remove("status")
	var u updateFaults
	switch r.out.Object.Kind {
	case api.KindUpdateRun:
		r.out.Run = &api.UpdateRun{}
		r.strict(r.out.Run)
		u.run(r.out.Run)
	case api.KindUpdateStrategy:
		r.out.Strategy = &api.UpdateStrategy{}
		r.strict(r.out.Strategy)
		u.strategyObject(r.out.Strategy)
	case api.KindAutoUpgradeProfile:
		r.out.Profile = &api.AutoUpgradeProfile{}
		r.strict(r.out.Profile)
		u.profile(r.out.Profile, nil)
	case api.KindVersionCatalog:
		r.out.Catalog = &api.VersionCatalog{}
		r.strict(r.out.Catalog)
		u.catalog(r.out.Catalog)
	case api.KindMemberMaintenance:
		r.out.Maintenance = &api.MemberMaintenance{}
		r.strict(r.out.Maintenance)
		u.maintenance(r.out.Maintenance, zoneForm.MatchString)
	default:
		r.findings.Lose(strict.At("kind"), strict.Quote(api.KindGate),
			"another kind: gates are made and removed by the hub alone; complete one with flotilla run approve")
		return
	}
	_, meta, _ := r.out.Typed()
	r.check(validateOutside(r.out.Object.Kind, meta).also(u.found))
	r.out.Notes = append(annotationNotes(meta.Annotations), r.upgradeNotes()...)
}

// validateOutside checks the metadata, but for the name, of a kind that lies in no namespace.
func validateOutside(kind string, meta *metav1.ObjectMeta) rules {
	f := newRules()
	at := strict.At("metadata")
	if meta.Namespace != "" {
		f.Add(at.Child("namespace"), strict.Quote(meta.Namespace), "nothing: kind "+kind+" lies in no namespace", nil)
	}
	f.labels(meta.Labels, at.Child("labels"))
	f.annotations(meta.Annotations, at.Child("annotations"))
	return f
}

// upgradeNotes remark on what a document asks for in vain.
func (r *reading) upgradeNotes() []string {
	if run := r.out.Run; run != nil && run.Spec.Upgrade.Type == api.UpgradeControlPlaneOnly && run.Spec.Upgrade.NodeImageSelection != nil {
		return []string{"spec.upgrade.nodeImageSelection: a run of type ControlPlaneOnly touches no node images"}
	}
	if catalog := r.out.Catalog; catalog != nil && catalog.Name != api.CatalogDefault {
		return []string{"metadata.name: only the catalog named " + api.CatalogDefault + " counts"}
	}
	return nil
}
