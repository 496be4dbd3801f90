package version

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
)

// Catalog is a VersionCatalog, parsed and indexed. The nil Catalog takes every version as available
// everywhere (A57). A catalog never changes and may be shared.
type Catalog struct {
	releases   []Release // ascending
	images     map[string][]offeredImage
	trackerURL string
}

// Release is one Kubernetes version of a catalog.
type Release struct {
	Version
	State     string
	Published time.Time // zero when the catalog does not say
	regions   map[string]bool
}

// offeredImage is one image of a family with the regions that have it.
type offeredImage struct {
	Image
	regions   map[string]bool
	published time.Time
}

// NewCatalog parses a catalog. Its error lists what api.CheckVersionCatalog would have found.
func NewCatalog(spec *api.VersionCatalogSpec) (*Catalog, error) {
	c := &Catalog{images: map[string][]offeredImage{}, trackerURL: spec.TrackerURL}
	for i := range spec.Kubernetes {
		entry := &spec.Kubernetes[i]
		v, ok := Parse(entry.Version)
		if !ok || v.Alias {
			return nil, fmt.Errorf("spec.kubernetes[%d].version: found %q, expected a version x.y.z", i, entry.Version)
		}
		c.releases = append(c.releases, Release{
			Version: v, State: entry.State, Published: entry.PublishedAt.Time, regions: setOf(entry.Regions),
		})
	}
	slices.SortStableFunc(c.releases, func(a, b Release) int { return a.Compare(b.Version) })
	for i := range spec.NodeImages {
		entry := &spec.NodeImages[i]
		image, ok := NewImage(entry.Family, entry.Version)
		if !ok {
			return nil, fmt.Errorf("spec.nodeImages[%d].version: found %q, expected digits and dots", i, entry.Version)
		}
		c.images[entry.Family] = append(c.images[entry.Family], offeredImage{
			Image: image, regions: setOf(entry.Regions), published: entry.PublishedAt.Time,
		})
	}
	for _, list := range c.images {
		slices.SortStableFunc(list, func(a, b offeredImage) int {
			return cmp.Or(a.Compare(b.Image), cmp.Compare(a.Version, b.Version))
		})
	}
	return c, nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// offered reports whether a set of regions serves a region; region "" has everything (A57).
func offered(regions map[string]bool, region string) bool { return region == "" || regions[region] }

// Find returns the catalog's release of a version.
func (c *Catalog) Find(v Version) (*Release, bool) {
	if c == nil {
		return nil, false
	}
	i, ok := slices.BinarySearchFunc(c.releases, v, func(r Release, v Version) int { return r.Compare(v) })
	if !ok {
		return nil, false
	}
	return &c.releases[i], true
}

// Has reports whether a region has a Kubernetes version.
func (c *Catalog) Has(region string, v Version) bool {
	if c == nil {
		return true
	}
	r, ok := c.Find(v)
	return ok && offered(r.regions, region)
}

// HasImage reports whether a region has an image.
func (c *Catalog) HasImage(region string, image Image) bool {
	if c == nil {
		return true
	}
	return slices.ContainsFunc(c.listed(image), func(entry offeredImage) bool { return offered(entry.regions, region) })
}

// HasFamily reports whether a region has any image of a family.
func (c *Catalog) HasFamily(region, family string) bool {
	if c == nil {
		return true
	}
	return slices.ContainsFunc(c.images[family], func(entry offeredImage) bool { return offered(entry.regions, region) })
}

// Knows reports whether a region has any Kubernetes version.
func (c *Catalog) Knows(region string) bool {
	if c == nil {
		return true
	}
	return slices.ContainsFunc(c.releases, func(r Release) bool { return offered(r.regions, region) })
}

// Lists reports whether a region has anything of the catalog.
func (c *Catalog) Lists(region string) bool {
	if c == nil || region == "" {
		return false
	}
	for i := range c.releases {
		if c.releases[i].regions[region] {
			return true
		}
	}
	for _, list := range c.images {
		if slices.ContainsFunc(list, func(entry offeredImage) bool { return entry.regions[region] }) {
			return true
		}
	}
	return false
}

// ImageAge returns the age of an image whose publication the catalog knows.
func (c *Catalog) ImageAge(image Image, now time.Time) (time.Duration, bool) {
	for _, entry := range c.listed(image) {
		if !entry.published.IsZero() {
			return now.Sub(entry.published), true
		}
	}
	return 0, false
}

// ImagePublishedAfter reports whether an image was published after an instant.
func (c *Catalog) ImagePublishedAfter(image Image, at time.Time) bool {
	return slices.ContainsFunc(c.listed(image), func(entry offeredImage) bool { return entry.published.After(at) })
}

// listed returns the entries of an image: its version may be written in two styles.
func (c *Catalog) listed(image Image) []offeredImage {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.images[image.Family]), func(entry offeredImage) bool { return entry.Compare(image) != 0 })
}

// Latest returns the newest image of a family that a region has.
func (c *Catalog) Latest(region, family string) (Image, bool) {
	if c == nil {
		return Image{}, false
	}
	list := c.images[family]
	for _, entry := range slices.Backward(list) {
		if offered(entry.regions, region) {
			return entry.Image, true
		}
	}
	return Image{}, false
}

// Newest returns the newest image of each family, sorted by family.
func (c *Catalog) Newest() []Image {
	if c == nil {
		return nil
	}
	out := make([]Image, 0, len(c.images))
	for _, family := range slices.Sorted(maps.Keys(c.images)) {
		list := c.images[family]
		out = append(out, list[len(list)-1].Image)
	}
	return out
}

// Place is a family of images that a member uses in its region.
type Place struct {
	Region, Family string
	// Stated is set where only the agent of the member states the region.
	Stated bool
}

// Voters are the regions of the members for which something is chosen, one for each member.
type Voters struct {
	// Written are those that people wrote, Stated those that agents alone state.
	Written, Stated []string
}

// Spares says that of all members so many may be left aside whose agents alone state regions that are behind (A67).
func Spares(behind, all int) bool { return 5*behind <= all }

// Consistent selects for each family of the places the newest image that all of them can have, as agreed says, else the zero
// Image. The result is sorted by family.
func (c *Catalog) Consistent(places []Place) []api.SelectedImage {
	voters := map[string]Voters{}
	for _, p := range places {
		v := voters[p.Family]
		if p.Stated {
			v.Stated = append(v.Stated, p.Region)
		} else {
			v.Written = append(v.Written, p.Region)
		}
		voters[p.Family] = v
	}
	out := make([]api.SelectedImage, 0, len(voters))
	for family, v := range voters {
		out = append(out, api.SelectedImage{Family: family, Version: c.common(family, v).Version})
	}
	slices.SortFunc(out, func(a, b api.SelectedImage) int { return cmp.Compare(a.Family, b.Family) })
	return out
}

// common returns the image of a family that is agreed on.
func (c *Catalog) common(family string, v Voters) Image {
	if c == nil {
		return Image{}
	}
	list := slices.Clone(c.images[family])
	slices.Reverse(list)
	offers := make([]map[string]bool, len(list))
	for i := range list {
		offers[i] = list[i].regions
	}
	if i := agreed(offers, v); i >= 0 {
		return list[i].Image
	}
	return Image{}
}

// agreed returns which of the offers, the newest first, is chosen; -1 for none. It is the first that all members can have (A66),
// or else the one that most can have; -1 where these are not more than half. A member in whose region nothing is offered can have none of
// them, so it has no say in what the others get. Written regions choose alone where they are more than half. Otherwise all
// do, and a fifth of the members may lack the choice, if only their agents state where they are (A67).
func agreed(offers []map[string]bool, v Voters) int {
	regions, everywhere := v.Written, anywhere(offers)
	if len(v.Written) <= len(v.Stated) {
		regions = slices.Concat(v.Written, v.Stated)
		all, written := served(everywhere, regions), served(everywhere, v.Written)
		sparing := func(has map[string]bool) bool {
			return served(has, v.Written) == written && Spares(all-served(has, regions), all)
		}
		if i := slices.IndexFunc(offers, sparing); all > 0 && i >= 0 {
			return i
		}
	}
	best, most := -1, 0
	for i, has := range offers {
		if n := served(has, regions); n > most {
			best, most = i, n
		}
	}
	if 2*most <= served(everywhere, regions) {
		return -1
	}
	return best
}

// served counts the members whose region has something.
func served(has map[string]bool, regions []string) (n int) {
	for _, region := range regions {
		if offered(has, region) {
			n++
		}
	}
	return n
}

// anywhere are the regions that have any of the offers.
func anywhere(offers []map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, has := range offers {
		maps.Copy(all, has)
	}
	return all
}

// Alias binds a minor to a version: its newest GA patch that all members can have, as agreed says, else its newest GA patch
// anywhere. False when the minor has no GA patch.
func (c *Catalog) Alias(minor Version, v Voters) (Version, bool) {
	if c == nil {
		return Version{}, false
	}
	var patches []Version
	var offers []map[string]bool
	for _, r := range slices.Backward(c.releases) {
		if r.State == api.ReleaseGA && r.sameMinor(minor) {
			patches, offers = append(patches, r.Version), append(offers, r.regions)
		}
	}
	if len(patches) == 0 {
		return Version{}, false
	}
	return patches[max(0, agreed(offers, v))], true
}

// Minors returns the minors of released versions, "1.29", ascending. LTS minors count; previews do not.
func (c *Catalog) Minors() []string {
	var out []string
	for i := range c.releases {
		r := &c.releases[i]
		if r.State == api.ReleasePreview {
			continue
		}
		minor := Version{Major: r.Major, Minor: r.Minor, Alias: true}.String()
		if len(out) == 0 || out[len(out)-1] != minor {
			out = append(out, minor)
		}
	}
	return out
}

// Released returns the released versions, newest first; previews are none.
func (c *Catalog) Released() []string {
	var out []string
	for _, r := range slices.Backward(c.releases) {
		if r.State != api.ReleasePreview {
			out = append(out, r.String())
		}
	}
	return out
}

// Tracker is the sentence about where availability is tracked, empty without an address (A58).
func (c *Catalog) Tracker() string {
	if c == nil || c.trackerURL == "" {
		return ""
	}
	return "; see " + c.trackerURL
}
