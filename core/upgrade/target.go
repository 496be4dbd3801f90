package upgrade

import (
	"cmp"
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/core/version"
)

// goal is what a run wants of every member, parsed once a step.
type goal struct {
	kind    string // upgrade type
	version version.Version
	images  string            // Latest, Consistent or Custom
	chosen  map[string]string // family -> version, of Consistent and Custom
	// auto marks a run made by a profile.
	auto bool
}

func newGoal(run *api.UpdateRun, status *api.UpdateRunStatus) goal {
	upgrade := &run.Spec.Upgrade
	g := goal{kind: upgrade.Type, images: upgrade.Images(), auto: run.Spec.AutoUpgradeProfile != ""}
	g.version, _ = version.Parse(status.ResolvedKubernetesVersion)
	switch g.images {
	case api.ImagesConsistent:
		g.chosen = map[string]string{}
		if status.NodeImageSelection != nil {
			for _, s := range status.NodeImageSelection.SelectedNodeImageVersions {
				g.chosen[s.Family] = s.Version
			}
		}
	case api.ImagesCustom:
		g.chosen = map[string]string{}
		for _, listed := range upgrade.NodeImageSelection.CustomNodeImageVersions {
			if image, ok := version.ParseImage(listed.Version); ok {
				g.chosen[image.Family] = image.Version
			}
		}
	}
	return g
}

// moves is what an upgrade of one member would do.
type moves struct {
	controlPlane  bool // the control plane moves to the goal's version
	ahead         bool // it is beyond the goal already
	poolVersions  bool // a pool moves to the goal's version
	poolImages    bool // a pool moves to another image
	listed        bool // a pool belongs to a family the selection knows
	pools         []api.PoolUpgrade
	withoutChoice []string // pools of families that Consistent selected nothing for, "pool np2 (family)"
}

// movesOf compares a member with the goal.
func (g *goal) movesOf(m *Member, catalog *version.Catalog) moves {
	var out moves
	if g.kind != api.UpgradeNodeImageOnly {
		c := m.ControlPlane.Compare(g.version)
		out.controlPlane, out.ahead = c < 0, c > 0
	}
	if g.kind == api.UpgradeControlPlaneOnly {
		return out
	}
	out.pools = make([]api.PoolUpgrade, 0, len(m.Pools))
	for i := range m.Pools {
		p := &m.Pools[i]
		move := api.PoolUpgrade{Pool: p.Name, From: p.NodeImageVersion, FromVersion: p.Kubernetes.String(), Result: api.PoolAtTarget}
		if p.Kubernetes.IsZero() {
			move.FromVersion = ""
		}
		if g.kind == api.UpgradeFull && !p.Kubernetes.IsZero() && p.Kubernetes.Compare(g.version) < 0 {
			move.ToVersion, move.Result, out.poolVersions = g.version.String(), api.PoolPlanned, true
		}
		g.imageMove(&out, &move, p, m.Inventory.Region, catalog)
		out.pools = append(out.pools, move)
	}
	return out
}

// imageMove decides the image of one pool.
func (g *goal) imageMove(out *moves, move *api.PoolUpgrade, p *Pool, region string, catalog *version.Catalog) {
	settle := func(result string) {
		if move.Result != api.PoolPlanned {
			move.Result = result
		}
	}
	if g.images == api.ImagesLatest && catalog == nil {
		if g.kind == api.UpgradeNodeImageOnly || move.Result == api.PoolPlanned {
			move.Newest, move.Result = true, api.PoolPlanned
			out.poolImages, out.listed = true, true
		}
		return
	}
	target, known := g.imageFor(p, region, catalog)
	switch {
	case !known && g.images == api.ImagesConsistent:
		out.withoutChoice = append(out.withoutChoice, poolText(p.Name, p.Family))
		return
	case !known && g.images == api.ImagesCustom:
		settle(api.PoolUnlisted)
		return
	case !known:
		settle(api.PoolUnoffered)
		return
	}
	out.listed = true
	switch {
	case p.Image.IsZero():
		settle(api.PoolUnknown)
	case p.FromSnapshot && g.images == api.ImagesLatest:
		settle(api.PoolIsPinned)
	case p.Image.Compare(target) < 0:
		move.To, move.Result, move.DropSnapshot = target.Name(), api.PoolPlanned, p.FromSnapshot
		out.poolImages = true
	}
}

// imageFor returns the image a pool should have.
func (g *goal) imageFor(p *Pool, region string, catalog *version.Catalog) (version.Image, bool) {
	if g.images == api.ImagesLatest {
		return catalog.Latest(region, p.Family)
	}
	chosen := g.chosen[p.Family]
	if chosen == "" {
		return version.Image{}, false
	}
	return version.NewImage(p.Family, chosen)
}

// poolText is "pool np2 (family)".
func poolText(name, family string) string {
	return fmt.Sprintf("pool %.*s (%.*s)", mostLetters, name, mostLetters, cmp.Or(family, "family not known"))
}

// describe says what an upgrade does, for people.
func (m *moves) describe(from, to version.Version) string {
	var parts []string
	if m.controlPlane {
		parts = append(parts, fmt.Sprintf("control plane %s to %s", from, to))
	}
	if m.ahead && m.poolVersions {
		parts = append(parts, fmt.Sprintf("control plane stays at %s, ahead of %s", from, to))
	}
	for i := range m.pools {
		parts = append(parts, describePool(&m.pools[i]))
	}
	return strings.Join(parts, "; ")
}

func describePool(p *api.PoolUpgrade) string {
	switch {
	case p.Result != api.PoolPlanned && p.Result != api.PoolUpgraded:
		return "pool " + p.Pool + " is left alone, " + poolWords[p.Result]
	case p.Newest && p.ToVersion == "":
		return "pool " + p.Pool + " to the newest image offered"
	case p.To == "":
		return "pool " + p.Pool + " to " + p.ToVersion
	case p.ToVersion == "":
		return "pool " + p.Pool + " to image " + p.To
	default:
		return "pool " + p.Pool + " to " + p.ToVersion + " and image " + p.To
	}
}

var poolWords = map[string]string{
	api.PoolAtTarget:  "it is at or ahead of the target",
	api.PoolUnlisted:  "its image family is not listed",
	api.PoolUnknown:   "its image cannot be read",
	api.PoolIsPinned:  "it was made from a snapshot",
	api.PoolUnoffered: "the region offers no image of its family",
	api.PoolNotMoved:  "the operation ended before",
}
