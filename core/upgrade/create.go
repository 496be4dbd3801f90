package upgrade

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/stage"
	"flotilla/core/validate/upgrades"
	"flotilla/core/version"
)

// Create makes the status of a new run: strategy and policy copied, membership frozen, limits
// resolved, warnings noted. Strategy is the one the run names, nil when it names none. A run is
// created whole or refused with every fault.
func Create(run *api.UpdateRun, strategy *api.UpdateStrategy, view View, now time.Time) (api.UpdateRunStatus, *api.Refusal) {
	c := creation{run: run, view: view}
	if refusal := c.check(strategy); refusal != nil {
		return api.UpdateRunStatus{}, refusal
	}
	c.status = api.UpdateRunStatus{
		Header: api.NewHeader(api.KindRunStatus), Run: run.Name, UID: string(run.UID), ObservedGeneration: run.Generation,
		Status: api.UpdateStatus{State: api.StateNotStarted}, Strategy: stage.Sequence(run.Spec.Strategy), Policy: policyOf(run, strategy),
	}
	if strategy != nil {
		c.status.Strategy = strategy.Spec.RunStrategy
	}
	if refusal := c.version(); refusal != nil {
		return api.UpdateRunStatus{}, refusal
	}
	if refusal := c.populate(now); refusal != nil {
		return api.UpdateRunStatus{}, refusal
	}
	c.warn(now)
	return c.status, nil
}

type creation struct {
	run    *api.UpdateRun
	view   View
	status api.UpdateRunStatus
}

func (c *creation) check(strategy *api.UpdateStrategy) *api.Refusal {
	faults := upgrades.UpdateRun(c.run)
	if strategy != nil {
		faults = append(faults, upgrades.UpdateStrategy(strategy)...)
	}
	if refusal := api.InvalidArgument(faults); refusal != nil {
		return refusal
	}
	if name := c.run.Spec.StrategyName; name != "" && strategy == nil {
		return &api.Refusal{Code: api.CodeRunNotFound, Message: "there is no UpdateStrategy " + name, Next: "flotilla get updatestrategies"}
	}
	return nil
}

// policyOf merges the policies of strategy and run, the run's winning field by field.
func policyOf(run *api.UpdateRun, strategy *api.UpdateStrategy) api.UpdatePolicy {
	var p api.UpdatePolicy
	if strategy != nil && strategy.Spec.Policy != nil {
		p = *strategy.Spec.Policy
	}
	own := run.Spec.Policy
	if own == nil {
		return p
	}
	for _, flag := range []struct{ to, from **bool }{
		{&p.Strict, &own.Strict},
		{&p.ReserveOpeningSoon, &own.ReserveOpeningSoon},
		{&p.FinalStageWait, &own.FinalStageWait},
		{&p.AllowPreview, &own.AllowPreview},
		{&p.DisableUnattendedUpgrades, &own.DisableUnattendedUpgrades},
	} {
		if *flag.from != nil {
			*flag.to = *flag.from
		}
	}
	for _, span := range []struct{ to, from **metav1.Duration }{
		{&p.MemberTimeout, &own.MemberTimeout},
		{&p.PendingTimeout, &own.PendingTimeout},
		{&p.MinRemaining, &own.MinRemaining},
	} {
		if *span.from != nil {
			*span.to = *span.from
		}
	}
	for _, word := range []struct{ to, from *string }{
		{&p.OnIneligible, &own.OnIneligible},
		{&p.OnStopped, &own.OnStopped},
		{&p.OnUnreachable, &own.OnUnreachable},
		{&p.OnPendingTimeout, &own.OnPendingTimeout},
		{&p.Checks, &own.Checks},
	} {
		if *word.from != "" {
			*word.to = *word.from
		}
	}
	if own.MaxAllowedFailures != "" {
		p.MaxAllowedFailures = own.MaxAllowedFailures
	}
	return p
}

// version checks the Kubernetes version against the catalog and resolves it unless it is an alias.
func (c *creation) version() *api.Refusal {
	upgrade := &c.run.Spec.Upgrade
	if c.view.Catalog == nil && upgrade.Images() == api.ImagesConsistent && upgrade.Type != api.UpgradeControlPlaneOnly {
		return &api.Refusal{
			Code: api.CodeInvalidArgument, Message: "spec.upgrade.nodeImageSelection: Consistent needs a VersionCatalog to select from: apply one",
			Next: "flotilla get versioncatalogs",
		}
	}
	if upgrade.Type == api.UpgradeNodeImageOnly {
		return nil
	}
	v, _ := version.Parse(upgrade.KubernetesVersion)
	if c.view.Catalog == nil {
		if v.Alias {
			return &api.Refusal{
				Code:    api.CodeInvalidArgument,
				Message: fmt.Sprintf("spec.upgrade.kubernetesVersion: %s has no patch and there is no VersionCatalog to find its newest in: name the whole version%s", upgrade.KubernetesVersion, c.versionsNow()),
				Next:    "flotilla get members -o wide",
			}
		}
		c.status.ResolvedKubernetesVersion = v.String()
		return nil
	}
	return c.catalogVersion(v)
}

// versionsNow says what members run.
func (c *creation) versionsNow() string {
	seen := map[string]bool{}
	for _, m := range c.view.Fleet.members {
		if !m.ControlPlane.IsZero() {
			seen[m.ControlPlane.String()] = true
		}
	}
	if len(seen) == 0 {
		return ""
	}
	return "; members are at " + phrase.Enumerate(slices.Sorted(maps.Keys(seen)))
}

func (c *creation) catalogVersion(v version.Version) *api.Refusal {
	unknown := &api.Refusal{
		Code: api.CodeUnknownKubernetesVersion, Next: "flotilla get versioncatalogs -o yaml",
		Message: fmt.Sprintf("spec.upgrade.kubernetesVersion: found %s, expected a released version of the catalog", v),
	}
	if released := c.view.Catalog.Released(); len(released) > 0 {
		unknown.Message += ": " + phrase.Enumerate(released)
	}
	if v.Alias {
		if _, ok := c.view.Catalog.Alias(v, version.Voters{}); !ok {
			return unknown
		}
		return nil
	}
	r, ok := c.view.Catalog.Find(v)
	if !ok {
		return unknown
	}
	if r.State == api.ReleasePreview && (!api.On(c.status.Policy.AllowPreview, false) || c.run.Spec.AutoUpgradeProfile != "") {
		unknown.Message += "; it is a preview, which only policy.allowPreview of a manual run accepts"
		return unknown
	}
	c.status.ResolvedKubernetesVersion = v.String()
	return nil
}

// populate freezes the membership into a tree of states.
func (c *creation) populate(now time.Time) *api.Refusal {
	picked, err := selectMembers(&c.status.Strategy, c.view.Fleet)
	if err != nil {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: err.Error()}
	}
	if refusal := picked.refuse(c.run.Name); refusal != nil {
		return refusal
	}
	var clamped []string
	c.status.Stages, c.status.Members, clamped = stage.Tree(&c.status.Strategy, picked.frozen, api.MaxStageAtOnce, now)
	if c.status.Members > api.MaxRunMembers {
		return &api.Refusal{
			Code:    api.CodeLimitExceeded,
			Message: fmt.Sprintf("the stages select %d members, a run holds at most %d", c.status.Members, api.MaxRunMembers),
		}
	}
	if len(clamped) > 0 && api.On(c.status.Policy.Strict, false) {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: "policy.strict forbids clamping: " + strings.Join(clamped, "; ")}
	}
	c.status.Warnings = selectionWarnings(clamped, &picked)
	stage.TellLeftOut(&c.status, picked.out)
	return nil
}

// selectionWarnings lists what limits clamped and whom no stage selects.
func selectionWarnings(clamped []string, picked *selection) []string {
	out := slices.Clip(clamped)
	if len(picked.left) > 0 {
		out = append(out, "no stage selects "+phrase.Enumerate(picked.left))
	}
	if len(picked.missing) > 0 {
		out = append(out, "no member bears the group of "+phrase.Enumerate(picked.missing)+"; agents state groups here: to put a member into one yourself, label it "+api.LabelUpdateGroup+"=GROUP")
	}
	if len(picked.leaving) > 0 {
		out = append(out, "left out, as they are leaving the fleet: "+phrase.Enumerate(picked.leaving))
	}
	return out
}

// Days after its publication at which an image is warned about and refused.
const (
	imageWarnAge   = 75 * 24 * time.Hour
	imageExpiryAge = 90 * 24 * time.Hour
)

func (c *creation) warn(now time.Time) {
	upgrade := &c.run.Spec.Upgrade
	add := func(format string, args ...any) {
		c.status.Warnings = append(c.status.Warnings, fmt.Sprintf(format, args...))
	}
	if upgrade.Type == api.UpgradeControlPlaneOnly && upgrade.NodeImageSelection != nil {
		add("nodeImageSelection is ignored by type ControlPlaneOnly")
	}
	if c.view.Catalog == nil {
		add("there is no VersionCatalog: versions are taken as available everywhere")
	}
	var nowhere []string
	for _, m := range c.view.Fleet.frozen(c.status.Stages) {
		if m.Inventory.Region == "" {
			nowhere = append(nowhere, m.Name)
		}
	}
	if len(nowhere) > 0 && c.view.Catalog != nil {
		add("versions are taken as available to members without a region: %s", phrase.Enumerate(nowhere))
	}
	members := c.view.Fleet.frozen(c.status.Stages)
	if closed := shut(members, upgrade.Type, now); len(closed) > 0 {
		add("maintenance windows that do not open within 400 days keep waiting: %s", phrase.Enumerate(closed))
	}
	if text := tooShort(members, upgrade.Type, api.Span(c.status.Policy.MinRemaining), now); text != "" {
		add("policy.minRemaining: %s", text)
	}
	if upgrade.Images() == api.ImagesCustom {
		for _, listed := range upgrade.NodeImageSelection.CustomNodeImageVersions {
			image, _ := version.ParseImage(listed.Version)
			if age, ok := c.view.Catalog.ImageAge(image, now); ok && age > imageWarnAge && inUse(members, image.Family) {
				add("image %s is %d days old; images expire after 90", listed.Version, int(age.Hours()/24))
			}
		}
	}
}

// inUse reports whether a member has a pool of a family: runs of profiles list images that nobody has.
func inUse(members []*Member, family string) bool {
	return slices.ContainsFunc(members, func(m *Member) bool { return slices.Contains(m.families(), family) })
}

// frozen returns the members of a tree that are in the fleet, in its order.
func (f *Fleet) frozen(stages []api.StageStatus) []*Member {
	var out []*Member
	for i := range stages {
		for j := range stages[i].Groups {
			for k := range stages[i].Groups[j].Members {
				if m, ok := f.members[stages[i].Groups[j].Members[k].Name]; ok {
					out = append(out, m)
				}
			}
		}
	}
	return out
}
