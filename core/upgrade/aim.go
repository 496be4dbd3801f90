package upgrade

import (
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/version"
)

// aim finds what the channel stands for now, and the name of its run.
func (p *profiler) aim() *api.Refusal {
	spec := &p.in.Profile.Spec
	if spec.StrategyName != "" && p.in.Strategy == nil {
		return &api.Refusal{Code: api.CodeRunNotFound, Message: "there is no UpdateStrategy " + spec.StrategyName, Next: "flotilla get updatestrategies"}
	}
	var refusal *api.Refusal
	switch spec.Channel {
	case api.ChannelNodeImage, api.ChannelSecurityPatch:
		refusal = p.aimImages(spec.Channel == api.ChannelSecurityPatch)
	default:
		refusal = p.aimVersion()
	}
	if refusal == nil {
		p.name = p.runName()
		p.keepFormer()
	}
	return refusal
}

func (p *profiler) aimVersion() *api.Refusal {
	spec := &p.in.Profile.Spec
	v, ok := p.in.View.Catalog.ChannelTarget(spec.Channel, spec.TargetKubernetesVersion, spec.LongTermSupport)
	if !ok {
		return &api.Refusal{
			Code: api.CodeUnknownKubernetesVersion, Next: "flotilla get versioncatalogs -o yaml",
			Message: "the catalog has no released version for channel " + spec.Channel,
		}
	}
	p.upgrade = api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: v.String(), NodeImageSelection: spec.NodeImageSelection}
	p.versions = []string{v.String()}
	return nil
}

// aimImages lists the newest image of each family of the catalog, whoever uses it: what members state of themselves neither names a
// run nor makes one (H42). With OnRelease those count alone that were published since the profile was made, once there are any.
func (p *profiler) aimImages(linuxOnly bool) *api.Refusal {
	spec, catalog := &p.in.Profile.Spec, p.in.View.Catalog
	newest := slices.DeleteFunc(catalog.Newest(), func(image version.Image) bool { return linuxOnly && isWindows(image.Family) })
	if len(newest) == 0 {
		return &api.Refusal{
			Code: api.CodeInvalidArgument, Message: "the catalog has no node image for channel " + spec.Channel,
			Next: "flotilla get versioncatalogs -o yaml",
		}
	}
	if spec.TriggerMode == api.TriggerOnRelease {
		made := p.in.Profile.CreationTimestamp.Time
		old := func(image version.Image) bool { return !catalog.ImagePublishedAfter(image, made) }
		if fresh := slices.DeleteFunc(slices.Clone(newest), old); len(fresh) > 0 {
			newest = fresh
		}
	}
	images := make([]api.NodeImageVersion, len(newest))
	for i, image := range newest {
		images[i] = api.NodeImageVersion{Version: image.Name()}
		p.versions = append(p.versions, image.Name())
	}
	p.upgrade = api.Upgrade{
		Type:               api.UpgradeNodeImageOnly,
		NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesCustom, CustomNodeImageVersions: images},
	}
	return nil
}

// isWindows tells families by their names, as the catalog says nothing else of them.
func isWindows(family string) bool { return strings.Contains(strings.ToLower(family), "windows") }

func sortedNames(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *profiler) strategy() api.RunStrategy {
	if p.in.Strategy != nil {
		return p.in.Strategy.Spec.RunStrategy
	}
	return stage.Sequence(nil)
}

// released applies the settings about when a publication counts.
func (p *profiler) released() bool {
	spec := &p.in.Profile.Spec
	if spec.TriggerMode == api.TriggerOnRelease && !p.publishedAfter(p.in.Profile.CreationTimestamp.Time) {
		return false
	}
	return spec.TriggerWhen != api.TriggerAllMemberRegions || p.everywhere()
}

// publishedAfter reports whether anything the channel stands for was published after an instant.
func (p *profiler) publishedAfter(at time.Time) bool {
	catalog := p.in.View.Catalog
	if v, ok := version.Parse(p.upgrade.KubernetesVersion); ok {
		r, found := catalog.Find(v)
		return found && r.Published.After(at)
	}
	for _, name := range p.versions {
		image, _ := version.ParseImage(name)
		if catalog.ImagePublishedAfter(image, at) {
			return true
		}
	}
	return false
}

// everywhere reports whether the regions of the selected members have what the channel stands for: those that people wrote, and,
// where these are not more than half, of the others all but a fifth (A67). A region that the catalog lists nothing for keeps nobody waiting.
func (p *profiler) everywhere() bool {
	strategy := p.strategy()
	picked, err := selectMembers(&strategy, p.in.View.Fleet)
	if err != nil {
		return false
	}
	v, isVersion := version.Parse(p.upgrade.KubernetesVersion)
	catalog := p.in.View.Catalog
	var written, stated tally
	for _, m := range picked.all() {
		region := m.writtenRegion(catalog)
		of := &written
		if region == "" {
			region, of = m.Inventory.Region, &stated
		}
		lacks := catalog.Knows(region) && !catalog.Has(region, v)
		of.count(isVersion && lacks || !isVersion && !p.hasImages(region))
	}
	all := written.members + stated.members
	return written.lacking == 0 && (written.members > stated.members || version.Spares(stated.lacking, all))
}

// tally counts members, and those that lack something.
type tally struct{ members, lacking int }

func (t *tally) count(lacks bool) {
	t.members++
	if lacks {
		t.lacking++
	}
}

// hasImages reports whether a region has the images of all families that it has any of, whichever of them its members state.
func (p *profiler) hasImages(region string) bool {
	catalog := p.in.View.Catalog
	return !slices.ContainsFunc(p.versions, func(name string) bool {
		image, _ := version.ParseImage(name)
		return catalog.HasFamily(region, image.Family) && !catalog.HasImage(region, image)
	})
}
