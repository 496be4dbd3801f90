package validate

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate/upgrades"
)

// zoneForm is what names of IANA zones look like. Which zones there are only the hub can say.
var zoneForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

func runRules(r *api.UpdateRun) (rules, []string) {
	notes := annotationNotes(r.Annotations)
	if r.Spec.Upgrade.Type == api.UpgradeControlPlaneOnly && r.Spec.Upgrade.NodeImageSelection != nil {
		notes = append(notes, "spec.upgrade.nodeImageSelection: a run of type ControlPlaneOnly touches no node images")
	}
	return outsideRules(api.KindUpdateRun, r).also(upgrades.FindingsOfRun(r)), notes
}

func strategyRules(s *api.UpdateStrategy) (rules, []string) {
	return outsideRules(api.KindUpdateStrategy, s).also(upgrades.FindingsOfStrategy(s)), annotationNotes(s.Annotations)
}

func profileRules(p *api.AutoUpgradeProfile) (rules, []string) {
	return outsideRules(api.KindAutoUpgradeProfile, p).also(upgrades.FindingsOfProfile(p)), annotationNotes(p.Annotations)
}

func versionsRules(c *api.VersionCatalog) (rules, []string) {
	notes := annotationNotes(c.Annotations)
	if c.Name != api.CatalogDefault {
		notes = append(notes, "metadata.name: only the catalog named "+api.CatalogDefault+" counts")
	}
	return outsideRules(api.KindVersionCatalog, c).also(upgrades.FindingsOfCatalog(c)), notes
}

func maintenanceRules(m *api.MemberMaintenance) (rules, []string) {
	return outsideRules(api.KindMemberMaintenance, m).also(upgrades.FindingsOfMaintenance(m, zoneForm.MatchString)), annotationNotes(m.Annotations)
}

// gate refuses a document of a kind that only the hub writes.
func (r *reading) gate() {
	r.findings.Lose(strict.At("kind"), strict.Quote(api.KindGate),
		"another kind: gates are made and removed by the hub alone; complete one with flotilla run approve")
}

// outsideRules checks the metadata, but for the name, of a kind that lies in no namespace.
func outsideRules(kind string, meta metav1.Object) rules {
	f := newRules()
	at := strict.At("metadata")
	if meta.GetNamespace() != "" {
		f.Add(at.Child("namespace"), strict.Quote(meta.GetNamespace()), "nothing: kind "+kind+" lies in no namespace", nil)
	}
	f.labels(meta.GetLabels(), at.Child("labels"))
	f.annotations(meta.GetAnnotations(), at.Child("annotations"))
	return f
}
