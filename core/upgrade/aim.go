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

// aimImages lists the newest image of each family the selected members use.
func (p *profiler) aimImages(linuxOnly bool) *api.Refusal {
	strategy := p.strategy()
	picked, err := selectMembers(&strategy, p.in.View.Fleet)
	if err != nil {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: err.Error()}
	}
	families := map[string]bool{}
	for _, m := range picked.all() {
		for i := range m.Pools {
			if p := &m.Pools[i]; p.Family != "" && (!linuxOnly || !isWindows(p)) {
				families[p.Family] = true
			}
		}
	}
	var images []api.NodeImageVersion
	for _, family := range sortedNames(families) {
		if image, ok := p.in.View.Catalog.Latest("", family); ok {
			images = append(images, api.NodeImageVersion{Version: image.Name()})
			p.versions = append(p.versions, image.Name())
		}
	}
	if len(images) == 0 {
		return &api.Refusal{
			Code: api.CodeNoMembers, Message: "no selected member has a node pool of a family in the catalog",
			Next: "flotilla get versioncatalogs -o yaml",
		}
	}
	p.upgrade = api.Upgrade{
		Type:               api.UpgradeNodeImageOnly,
		NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesCustom, CustomNodeImageVersions: images},
	}
	return nil
}

func isWindows(p *Pool) bool {
	return p.OSType == "Windows" || strings.HasPrefix(p.Family, "AKSWindows")
}

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
		of.count(isVersion && lacks || !isVersion && !p.hasImages(m, region))
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

func (p *profiler) hasImages(m *Member, region string) bool {
	for _, name := range p.versions {
		image, _ := version.ParseImage(name)
		uses := slices.ContainsFunc(m.Pools, func(pool Pool) bool { return pool.Family == image.Family })
		lacks := p.in.View.Catalog.HasFamily(region, image.Family) && !p.in.View.Catalog.HasImage(region, image)
		if uses && lacks {
			return false
		}
	}
	return true
}
