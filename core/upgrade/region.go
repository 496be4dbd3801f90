package upgrade

import (
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

// patch binds the alias of a minor to the patch that the members can have.
func patch(minor version.Version, members []*Member, catalog *version.Catalog) (version.Version, bool) {
	var v version.Voters
	for _, m := range members {
		if region := m.writtenRegion(catalog); region != "" {
			v.Written = append(v.Written, region)
		} else {
			v.Stated = append(v.Stated, m.Inventory.Region)
		}
	}
	return catalog.Alias(minor, v)
}

// images selects for each family the image that the members who use it can have.
func images(members []*Member, catalog *version.Catalog) []api.SelectedImage {
	var places []version.Place
	for _, m := range members {
		places = append(places, placesOf(m, catalog)...)
	}
	return catalog.Consistent(places)
}

// placesOf are the families that a member uses in its region, each once, however many pools it states. A member whose region
// has no image for one of its pools is left out of the run, so it narrows nothing for the others.
func placesOf(m *Member, catalog *version.Catalog) []version.Place {
	region := m.writtenRegion(catalog)
	stated := region == ""
	if stated {
		region = m.Inventory.Region
	}
	var places []version.Place
	for _, family := range m.families() {
		if !catalog.HasFamily(region, family) {
			return nil
		}
		places = append(places, version.Place{Region: region, Family: family, Stated: stated})
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
	return stage.Skip(api.ReasonRegionNotWritten, "the VersionCatalog does not list %s%s, which its agent alone states: if the member is elsewhere, correct that at the agent, then: flotilla run rerun "+
		"%s --members %s; if it is there: flotilla label member %s %s=%s --overwrite, and another run counts it", lacks, inRegion(region), e.Status.Run, c.member.Name, c.member.Name, labelRegion, value)
}

// lacksChosen is what the run, or the profile that made it, chose for all members and a region does not have; empty where it has
// all, or a person chose.
func (e *engine) lacksChosen(region string, m *moves) string {
	asked, _ := version.Parse(e.run.Spec.Upgrade.KubernetesVersion)
	if (asked.Alias || e.goal.auto) && (m.controlPlane || m.poolVersions) && !e.view.Catalog.Has(region, e.goal.version) {
		return "Kubernetes " + e.goal.version.String()
	}
	if e.goal.images != api.ImagesConsistent && !e.goal.auto {
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
