package upgrades

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// UpdateRun returns every fault of a run that can be seen without a fleet.
func UpdateRun(r *api.UpdateRun) strict.Faults {
	u := &faults{object: api.KindUpdateRun + "/" + r.Name}
	u.run(r)
	return u.list()
}

func (u *faults) run(r *api.UpdateRun) {
	u.name("metadata.name", r.Name)
	if r.Spec.Strategy != nil && r.Spec.StrategyName != "" {
		u.add("spec.strategyName", strict.Shown(r.Spec.StrategyName), "either strategy or strategyName, not both")
	}
	if r.Spec.StrategyName != "" {
		u.name("spec.strategyName", r.Spec.StrategyName)
	}
	if r.Spec.Strategy != nil {
		u.strategy("spec.strategy", r.Spec.Strategy)
	}
	u.upgrade("spec.upgrade", &r.Spec.Upgrade)
	u.policy("spec.policy", r.Spec.Policy)
}

var upgradeTypes = []string{api.UpgradeFull, api.UpgradeControlPlaneOnly, api.UpgradeNodeImageOnly}

func (u *faults) upgrade(path string, up *api.Upgrade) {
	u.word(path+".type", up.Type, false, upgradeTypes...)
	kind := strict.Meant(up.Type, upgradeTypes...)
	switch {
	case kind == api.UpgradeNodeImageOnly && up.KubernetesVersion != "":
		u.add(path+".kubernetesVersion", strict.Shown(up.KubernetesVersion), "nothing beside type NodeImageOnly")
	case kind == api.UpgradeNodeImageOnly, kind == "" && up.Type != "" && up.KubernetesVersion == "":
	case !upgradeVersion.MatchString(up.KubernetesVersion):
		u.add(path+".kubernetesVersion", strict.Shown(up.KubernetesVersion), `a version, "1.29.9", or a minor, "1.29", for its newest patch`)
	}
	if up.NodeImageSelection != nil {
		u.images(path+".nodeImageSelection", up.NodeImageSelection)
	}
}

func (u *faults) images(path string, s *api.NodeImageSelection) {
	words := []string{api.ImagesLatest, api.ImagesConsistent, api.ImagesCustom}
	u.word(path+".type", s.Type, true, words...)
	kind := strict.Meant(cmp.Or(s.Type, api.ImagesLatest), words...)
	list := path + ".customNodeImageVersions"
	switch {
	case kind == api.ImagesCustom && len(s.CustomNodeImageVersions) == 0:
		u.add(list, "nothing", "at least one image beside type Custom, - version: AKSUbuntu-2204gen2containerd-202401.09.0")
	case kind != api.ImagesCustom && kind != "" && len(s.CustomNodeImageVersions) > 0:
		u.add(list, fmt.Sprintf("%d images", len(s.CustomNodeImageVersions)), "nothing unless type is Custom")
	}
	families := map[string]string{}
	for i := range s.CustomNodeImageVersions {
		at := fmt.Sprintf("%s[%d].version", list, i)
		image := s.CustomNodeImageVersions[i].Version
		family, version, ok := api.NodeImageFamily(image)
		if !ok || !imageVersionPattern.MatchString(version) {
			u.add(at, strict.Shown(image), "an image name that ends in its version, AKSUbuntu-2204gen2containerd-202401.09.0")
			continue
		}
		if first, seen := families[family]; seen {
			u.add(at, strict.Shown(image), "one version for family "+family+"; "+first+" names it already")
			continue
		}
		families[family] = at
	}
}

// UpdateRunChange returns what an edit of a run may not change: nothing but strategy, upgrade and
// policy may, and of the upgrade not the image selection. The caller asks only while the run is
// NotStarted.
func UpdateRunChange(was, is *api.UpdateRun) strict.Faults {
	u := &faults{object: api.KindUpdateRun + "/" + is.Name}
	if !sameImages(was.Spec.Upgrade.NodeImageSelection, is.Spec.Upgrade.NodeImageSelection) {
		u.add("spec.upgrade.nodeImageSelection", "another selection", "the one the run was created with; create another run")
	}
	if was.Spec.AutoUpgradeProfile != is.Spec.AutoUpgradeProfile {
		u.add("spec.autoUpgradeProfile", strict.Shown(is.Spec.AutoUpgradeProfile), "what the hub set: "+strict.Shown(was.Spec.AutoUpgradeProfile))
	}
	return u.list()
}

func sameImages(a, b *api.NodeImageSelection) bool {
	first, second := api.Upgrade{NodeImageSelection: a}, api.Upgrade{NodeImageSelection: b}
	if first.Images() != second.Images() {
		return false
	}
	if first.Images() != api.ImagesCustom {
		return true
	}
	if len(a.CustomNodeImageVersions) != len(b.CustomNodeImageVersions) {
		return false
	}
	for i := range a.CustomNodeImageVersions {
		if a.CustomNodeImageVersions[i] != b.CustomNodeImageVersions[i] {
			return false
		}
	}
	return true
}

// AutoUpgradeProfile returns every fault of a profile. Published are the minors
// of the catalog's released versions, "1.29"; nil when there is no catalog to judge by.
func AutoUpgradeProfile(p *api.AutoUpgradeProfile, published []string) strict.Faults {
	u := &faults{object: api.KindAutoUpgradeProfile + "/" + p.Name}
	u.profile(p, published)
	return u.list()
}

var channels = []string{api.ChannelStable, api.ChannelRapid, api.ChannelNodeImage, api.ChannelTarget, api.ChannelSecurityPatch}

func (u *faults) profile(p *api.AutoUpgradeProfile, published []string) {
	u.name("metadata.name", p.Name)
	spec := &p.Spec
	u.word("spec.channel", spec.Channel, false, channels...)
	if spec.StrategyName != "" {
		u.name("spec.strategyName", spec.StrategyName)
	}
	u.word("spec.triggerMode", spec.TriggerMode, true, api.TriggerReconcile, api.TriggerOnRelease)
	u.word("spec.triggerWhen", spec.TriggerWhen, true, api.TriggerFirstRegion, api.TriggerAllMemberRegions)
	u.word("spec.overlapPolicy", spec.OverlapPolicy, true, api.OverlapQueue, api.OverlapSupersede, api.OverlapAllow)
	u.profileImages(spec)
	u.profileTarget(spec, published)
	u.policy("spec.policy", spec.Policy)
}

func (u *faults) profileImages(spec *api.AutoUpgradeProfileSpec) {
	selection := spec.NodeImageSelection
	if selection == nil {
		return
	}
	const path = "spec.nodeImageSelection"
	if channel := strict.Meant(spec.Channel, channels...); channel == api.ChannelNodeImage || channel == api.ChannelSecurityPatch {
		u.add(path, strict.Shown(selection.Type), "nothing beside channel "+channel)
		return
	}
	u.word(path+".type", selection.Type, false, api.ImagesLatest, api.ImagesConsistent)
	if len(selection.CustomNodeImageVersions) > 0 {
		u.add(path+".customNodeImageVersions", "images", "nothing; a profile cannot list images")
	}
}

func (u *faults) profileTarget(spec *api.AutoUpgradeProfileSpec, published []string) {
	const path = "spec.targetKubernetesVersion"
	target := spec.TargetKubernetesVersion
	switch strict.Meant(spec.Channel, channels...) {
	case api.ChannelTarget:
	case "":
		return
	default:
		if target != "" {
			u.add(path, strict.Shown(target), "nothing unless channel is TargetKubernetesVersion")
		}
		if spec.LongTermSupport {
			u.add("spec.longTermSupport", "true", "false unless channel is TargetKubernetesVersion")
		}
		return
	}
	if !upgradeMinor.MatchString(target) {
		u.addFix(path, strict.Shown(target), `a minor version, "1.29"`, minorNode(target))
		return
	}
	if published == nil {
		return
	}
	if slices.Contains(published, trimV(target)) {
		return
	}
	u.add(path, strict.Shown(target), "a minor that is released: "+listed(published))
}

// minorNode is the minor of a whole version, nil when target is none.
func minorNode(target string) *strict.Node {
	if !upgradeRelease.MatchString(target) {
		return nil
	}
	return strict.TextNode(target[:strings.LastIndexByte(target, '.')])
}

func trimV(version string) string {
	if len(version) > 0 && version[0] == 'v' {
		return version[1:]
	}
	return version
}

// AutoUpgradeProfileChange returns what an edit of a profile may not change.
func AutoUpgradeProfileChange(is, was *api.AutoUpgradeProfile) strict.Faults {
	u := &faults{object: api.KindAutoUpgradeProfile + "/" + is.Name}
	if was.Spec.StrategyName != is.Spec.StrategyName {
		u.add("spec.strategyName", strict.Shown(is.Spec.StrategyName), "the one the profile was created with, "+strict.Shown(was.Spec.StrategyName))
	}
	return u.list()
}
