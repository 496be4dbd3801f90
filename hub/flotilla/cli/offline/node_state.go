package offline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/resource"
)

// State is the member of the files at a moment, under some settings.
func (f *nodeFiles) State(now time.Time, rules capacity.Rules) (*simulate.State, error) {
	s := &simulate.State{Cluster: cluster.NewCluster(), Now: now, Rules: rules}
	catalog := capacity.NewCatalog(f.catalog)
	for _, p := range f.pools {
		class, err := f.classHash(p)
		if err != nil {
			return nil, err
		}
		s.Pools = append(s.Pools, capacity.NewPool(p, catalog, capacity.PoolOptions{ClassHash: class, Zones: time.LoadLocation}))
	}
	f.noteRest()
	f.observe(s.Cluster)
	return s, f.shareBudgets(s)
}

// classHash is the hash of the node class that a pool names, empty when the files do not hold it.
func (f *nodeFiles) classHash(p *api.NodePool) (string, error) {
	ref := p.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return "", nil
	}
	i := slices.IndexFunc(f.rest, func(d Document) bool { return isClass(&d, ref) })
	if i < 0 {
		return "", nil
	}
	return capacity.ClassHash(f.rest[i].Body)
}

func isClass(d *Document, ref *api.NodeClassRef) bool {
	group := cmp.Or(ref.Group, resource.GroupOf(ref.APIVersion))
	return d.Ref.Name == ref.Name && (ref.Kind == "" || d.Ref.Kind == ref.Kind) && (group == "" || resource.GroupOf(d.Ref.APIVersion) == group)
}

// noteRest names kinds that decisions do not read.
func (f *nodeFiles) noteRest() {
	rest := slices.DeleteFunc(slices.Clone(f.rest), func(d Document) bool {
		return slices.ContainsFunc(f.pools, func(p *api.NodePool) bool {
			ref := p.Spec.Template.Spec.NodeClassRef
			return ref != nil && isClass(&d, ref)
		})
	})
	f.Notes = append(f.Notes, NotLookedAt(rest)...)
}

// NotLookedAt counts documents by kind, for people.
func NotLookedAt(documents []Document) []string {
	counts := map[string]int{}
	for i := range documents {
		d := &documents[i]
		counts[cmp.Or(strings.TrimPrefix(d.Ref.APIVersion+" "+d.Ref.Kind, " "), "no kind")]++
	}
	var notes []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		notes = append(notes, fmt.Sprintf("not looked at: %d of %s", counts[kind], kind))
	}
	return notes
}

// observe fills a cluster with nodes, their pods, and what is beside them.
func (f *nodeFiles) observe(c *cluster.Cluster) {
	f.ClaimsUnknown = len(f.Claims) == 0
	seen := cluster.Observe(&f.Listing)
	for _, c := range seen.Unbound {
		f.noteClaim(c)
	}
	for i := range seen.Nodes {
		c.Set(&seen.Nodes[i])
	}
	c.SetInventory(&seen.Inventory)
	for _, name := range slices.Sorted(maps.Keys(seen.Strays)) {
		f.Notes = append(f.Notes, fmt.Sprintf("not looked at: %d pods of node %s, which the files do not hold", seen.Strays[name], name))
	}
}

// shareBudgets settles what the fleet-wide budgets of the pools leave, as far as these files know.
func (f *nodeFiles) shareBudgets(s *simulate.State) error {
	counts, nodes := map[string][]disruption.FleetCount{}, map[string]string{}
	for _, p := range f.pools {
		if name, limit, ok := validate.FleetBudget(p.Annotations[api.AnnotationFleetBudget]); ok {
			counts[name], nodes[name] = append(counts[name], disruption.CountPool(s, p.Name)), limit
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		left, err := disruption.FleetAllowed(nodes[name], counts[name])
		if err != nil {
			return err
		}
		if s.FleetAllowed == nil {
			s.FleetAllowed = map[string]int{}
		}
		s.FleetAllowed[name] = left
		f.Notes = append(f.Notes, fmt.Sprintf("fleet-wide budget %s: counted over the nodes of these files alone", name))
	}
	return nil
}

// NoteAbsent says what a decision takes for granted because the files do not hold it.
func (f *nodeFiles) NoteAbsent() {
	absent := func(missing bool, text string) {
		if missing {
			f.Notes = append(f.Notes, text)
		}
	}
	claims := slices.ContainsFunc(f.Pods, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
	})
	absent(f.catalog == nil, "the files hold no InstanceCatalog: no node has a price, and none can be replaced")
	absent(len(f.Pods) == 0, "the files hold no Pod: every node is taken to be empty")
	absent(len(f.Pods) > 0 && len(f.Budgets) == 0, "the files hold no PodDisruptionBudget: none is taken to protect pods")
	absent(len(f.Pods) > 0 && len(f.DaemonSets) == 0, "the files hold no DaemonSet: new nodes are taken to carry none")
	absent(claims && len(f.Claims) == 0, "the files hold no PersistentVolumeClaim: volumes are taken to restrict nothing")
}
