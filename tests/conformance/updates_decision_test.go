package conformance

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/version"
)

// divided is the decision that the region of one member does not choose for the others. Recorded is that nothing is
// selected as soon as the regions of all have nothing in common.
const divided = "A66"

// offers are the regions that have something, by its version.
type offers map[string][]string

// outvoted reports whether nothing is in all regions, and what was chosen is in more than half of those that have any.
func (o offers) outvoted(regions []string, chosen string) bool {
	served := map[string]bool{}
	for _, has := range o {
		if !slices.ContainsFunc(regions, func(region string) bool { return !slices.Contains(has, region) }) {
			return false
		}
		for _, region := range has {
			served[region] = true
		}
	}
	count := func(has func(string) bool) (n int) {
		for _, region := range regions {
			if has(region) {
				n++
			}
		}
		return n
	}
	return 2*count(func(region string) bool { return slices.Contains(o[chosen], region) }) > count(func(region string) bool { return served[region] })
}

// images are the offers of a family.
func images(list []api.NodeImageRelease, family string) offers {
	found := offers{}
	for i := range list {
		if list[i].Family == family {
			found[list[i].Version] = list[i].Regions
		}
	}
	return found
}

// divides reports whether the decision explains the whole difference between two answers about a version.
func (c *versionCase) divides(places []version.Place, want, got map[string]any) bool {
	switch c.Kind {
	case "alias":
		patches := offers{}
		for i := range c.Input.Kubernetes {
			r := &c.Input.Kubernetes[i]
			if r.State == api.ReleaseGA && strings.HasPrefix(r.Version, strings.TrimPrefix(c.Input.Requested, "v")+".") {
				patches[r.Version] = r.Regions
			}
		}
		return patches.outvoted(c.Input.Regions, fmt.Sprint(got["version"]))
	case "consistent":
		want, got := want["selected"].(map[string]any), got["selected"].(map[string]any)
		for family := range want {
			var regions []string
			for _, p := range places {
				if p.Family == family {
					regions = append(regions, p.Region)
				}
			}
			if want[family] != got[family] && !images(c.Input.NodeImages, family).outvoted(regions, fmt.Sprint(got[family])) {
				return false
			}
		}
		return true
	}
	return false
}

// unserved are the members of a run of consistent images in whose regions there is no image for one of their pools.
func (c *runCase) unserved() (names []string) {
	if c.Run.NodeImageSelection == nil || c.Run.NodeImageSelection.Type != api.ImagesConsistent {
		return nil
	}
	for i := range c.Members {
		m := &c.Members[i]
		lacks := func(p api.NodePoolFacts) bool {
			family := p.ImageFamily
			if image, ok := version.ParseImage(p.NodeImageVersion); ok {
				family = image.Family
			}
			for _, regions := range images(c.Catalog.NodeImages, family) {
				if slices.Contains(regions, m.Region) {
					return false
				}
			}
			return true
		}
		if m.Region != "" && slices.ContainsFunc(m.NodePools, lacks) {
			names = append(names, m.Name)
		}
	}
	return names
}

// without is the case with some members left out. The others are to end as if those were not there.
func (c *runCase) without(names []string) *runCase {
	rest := *c
	rest.Catalog.Kubernetes, rest.Catalog.NodeImages = slices.Clone(c.Catalog.Kubernetes), slices.Clone(c.Catalog.NodeImages)
	rest.Members = slices.DeleteFunc(slices.Clone(c.Members), func(m runMember) bool { return slices.Contains(names, m.Name) })
	return &rest
}

// ends are the final states of the members of an answer, by name.
func ends(answer map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	final, _ := answer["final"].(map[string]any)
	stages, _ := final["stages"].([]any)
	for _, stage := range stages {
		for _, group := range stage.(map[string]any)["groups"].([]any) {
			for _, member := range group.(map[string]any)["members"].([]any) {
				found[member.(map[string]any)["name"].(string)] = member.(map[string]any)
			}
		}
	}
	return found
}
