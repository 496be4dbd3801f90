package upgrade

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/version"
)

// labelRegion is the label that people write the region of a member in; regionLabels are all that may hold it.
const labelRegion = "topology.kubernetes.io/region"

var regionLabels = []string{labelRegion, "region", api.LabelLocation}

// written reports whether people wrote that a member is in a region.
func (m *Member) written(region string) bool {
	return slices.ContainsFunc(regionLabels, func(key string) bool { return m.Labels[key] == region && !slices.Contains(m.Agent.Stated, key) })
}

// writtenRegion is the region of the catalog that people wrote in the labels of a member; empty where they wrote none.
func (m *Member) writtenRegion(catalog *version.Catalog) string {
	for _, key := range regionLabels {
		if region := m.Labels[key]; catalog.Lists(region) && m.written(region) {
			return region
		}
	}
	return ""
}

// patch binds the alias of a minor to the patch that the members whose region people wrote can have. Without such members it is
// the newest that most can have (A67).
func patch(minor version.Version, members []*Member, catalog *version.Catalog) (version.Version, bool) {
	var written, stated []string
	for _, m := range members {
		stated = append(stated, m.Inventory.Region)
		if region := m.writtenRegion(catalog); region != "" {
			written = append(written, region)
		}
	}
	if len(written) == 0 {
		return catalog.AliasOfMost(minor, stated)
	}
	return catalog.Alias(minor, written)
}

// images selects for each family the image that the members whose region people wrote can have. Of a family that none of them
// uses it is the newest that most of the others can have (A67).
func images(members []*Member, catalog *version.Catalog) []api.SelectedImage {
	var written, stated []version.Place
	used := map[string]bool{}
	for _, m := range members {
		region := m.writtenRegion(catalog)
		if region == "" {
			stated = append(stated, placesOf(m, m.Inventory.Region, catalog)...)
			continue
		}
		for _, p := range placesOf(m, region, catalog) {
			written, used[p.Family] = append(written, p), true
		}
	}
	stated = slices.DeleteFunc(stated, func(p version.Place) bool { return used[p.Family] })
	selected := append(catalog.Consistent(written), catalog.ConsistentOfMost(stated)...)
	slices.SortFunc(selected, func(a, b api.SelectedImage) int { return cmp.Compare(a.Family, b.Family) })
	return selected
}

// placesOf are the families that a member uses, in a region, each once, however many pools it states. A member whose region
// has no image for one of its pools is left out of the run, so it narrows nothing for the others.
func placesOf(m *Member, region string, catalog *version.Catalog) []version.Place {
	var places []version.Place
	for _, family := range m.families() {
		if !catalog.HasFamily(region, family) {
			return nil
		}
		places = append(places, version.Place{Region: region, Family: family})
	}
	return places
}

// regionWritten leaves out a member whose region nobody wrote, and that cannot have there what was chosen for all: it chose
// nothing, and holds nobody up.
func (e *engine) regionWritten(c *candidate, m *moves) *stage.Verdict {
	region := c.member.Inventory.Region
	if region == "" || c.member.written(region) {
		return nil
	}
	lacks := e.lacksChosen(region, m)
	if lacks == "" {
		return nil
	}
	value := region
	if len(validation.IsValidLabelValue(region)) > 0 {
		value = "REGION"
	}
	return stage.Skip(api.ReasonRegionNotWritten, "the VersionCatalog does not list %s%s, which its agent alone states: correct it there, or write where the member is: "+
		"flotilla label member %s %s=%s --overwrite; then: flotilla run rerun %s --members %s", lacks, inRegion(region), c.member.Name, labelRegion, value, e.Status.Run, c.member.Name)
}

// lacksChosen is what the run chose for all members and a region does not have; empty where it has all, or a person chose.
func (e *engine) lacksChosen(region string, m *moves) string {
	asked, _ := version.Parse(e.run.Spec.Upgrade.KubernetesVersion)
	if asked.Alias && (m.controlPlane || m.poolVersions) && !e.view.Catalog.Has(region, e.goal.version) {
		return "Kubernetes " + e.goal.version.String()
	}
	if e.goal.images != api.ImagesConsistent {
		return ""
	}
	for i := range m.pools {
		image, ok := version.ParseImage(m.pools[i].To)
		if ok && !e.view.Catalog.HasImage(region, image) {
			return fmt.Sprintf("image %s of pool %.*s", image.Name(), mostLetters, m.pools[i].Pool)
		}
	}
	return ""
}
