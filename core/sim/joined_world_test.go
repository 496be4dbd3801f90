package sim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/eviction"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/strict"
	"flotilla/core/upgrade"
)

// joined is a fleet on which everything goes on at once: a placement that rolls out by itself, web, and one that staged runs
// bring, shop, each with a budget; evictions, drains, update runs and node disruptions; members that fail and fall silent.
// Rooms decide on records, and what they decide is written later, or never: whoever decided may have died.
type joined struct {
	s       *sim.Source
	now     time.Time
	members []api.Member
	fleet   *schedule.Fleet
	tiers   map[string]string
	silent  map[string]bool

	places []*place
	wave   stagedRun
	spring updateRun
	locks  map[string]api.MemberLock

	written map[string]int // how often a record was, by its key
	evicted map[string]int // how often an eviction was carried out
	flying  []*flight
	planted string
	seen    map[string]int // what happened, for a test that nothing happens in proves nothing
}

// place is a placement with its records and what members say of it.
type place struct {
	p         api.Placement
	budget    *api.PlacementDisruptionBudgetSpec
	schedule  *api.Schedule
	release   *api.Release
	snapshots []*api.Snapshot
	results   map[string]*api.PlacementResult
}

// flight is what a room decided, on its way to the store, where it is written if the records that it depends on are as they were.
type flight struct {
	room    string
	depends map[string]int
	writes  []string
	write   func()
	judge   func() error // holds what is written to what was known as it was decided
}

type stagedRun struct {
	strategy api.StagedUpdateStrategy
	run      *api.StagedUpdateRun
	status   api.UpdateRunStatus
	count    int
}

type updateRun struct {
	fleet   *upgrade.Fleet
	run     *api.UpdateRun
	status  api.UpdateRunStatus
	results map[string]api.UpgradeResult
	done    map[string]bool // operations that were carried out
	count   int
}

func newJoined(seed uint64, planted string) *joined {
	j := &joined{
		s: sim.NewSource(seed), now: sim.Now, tiers: map[string]string{}, silent: map[string]bool{}, locks: map[string]api.MemberLock{},
		written: map[string]int{}, evicted: map[string]int{}, planted: planted, seen: map[string]int{},
	}
	j.spring = updateRun{fleet: upgrade.NewFleet(time.LoadLocation), results: map[string]api.UpgradeResult{}, done: map[string]bool{}}
	for i := range 3 + j.s.Below(5) {
		m := api.Member{Name: fmt.Sprintf("m%d", i), HasAgent: true, Joined: "True", Healthy: "True", HealthChanged: sim.Now, LastHeartbeat: sim.Now}
		j.members = append(j.members, m)
		j.tiers[m.Name] = sim.Pick(j.s, "canary", "wide")
		j.observe(m.Name, "1.29.2")
	}
	j.fleet = schedule.NewFleet(j.members...)
	web, shop := j.newPlace("web"), j.newPlace("shop")
	unavailable := intstr.Parse(sim.Pick(j.s, "1", "2", "25%", "50%"))
	web.p.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: &unavailable}
	if wanted := int32(1 + j.s.Below(len(j.members))); !j.s.Chance(3) {
		web.p.Spec.Policy = &api.Policy{PlacementType: api.PickN, NumberOfClusters: &wanted}
	}
	shop.p.Spec.Strategy.Type = api.StrategyExternal
	j.newStrategy()
	return j
}

// newPlace has a budget that a PickAll can have too.
func (j *joined) newPlace(name string) *place {
	least := intstr.FromInt(j.s.Below(len(j.members)))
	p := &place{
		budget: &api.PlacementDisruptionBudgetSpec{MinAvailable: &least}, results: map[string]*api.PlacementResult{},
	}
	p.p.Name, p.p.UID, p.p.Generation, p.p.Kind = name, "u1", 1, api.KindClusterResourcePlacement
	j.places = append(j.places, p)
	p.publish()
	return p
}

func (p *place) publish() {
	i := int64(len(p.snapshots) + 1)
	p.snapshots = append(p.snapshots, &api.Snapshot{UID: "u1", Placement: p.p.Name, Index: i, Work: fmt.Sprintf("%s-%d", p.p.Name, i)})
}

func (p *place) latest() *api.Snapshot { return p.snapshots[len(p.snapshots)-1] }

func (p *place) entry(member string) *api.ReleaseEntry {
	if p.release == nil {
		return nil
	}
	for i := range p.release.Entries {
		if e := &p.release.Entries[i]; e.Member == member {
			return e
		}
	}
	return nil
}

func (j *joined) shop() *place { return j.places[1] }

// observe lets a member be of a version.
func (j *joined) observe(member, version string) {
	_ = j.spring.fleet.Set(upgrade.MemberFacts{
		Name: member, UID: "uid-" + member, Group: j.tiers[member], Eligible: true, Reachable: !j.silent[member], LastSeen: j.now,
		Inventory: api.MemberInventory{ControlPlaneVersion: version},
	})
}

// upgrading is a run of the whole fleet to the next patch.
func (j *joined) upgrading() *api.UpdateRun {
	u := &api.UpdateRun{}
	u.Name, u.UID = fmt.Sprintf("spring-%d", j.spring.count), "r1"
	u.Spec.Strategy = &api.RunStrategy{Stages: []api.UpdateStage{{
		Name: "all", MemberSelector: &api.MemberSelector{ByLabel: ""}, MaxConcurrency: strict.CountOrPercent(sim.Pick(j.s, "1", "2", "50%")), MaxAllowedFailures: "100%",
	}}}
	u.Spec.Upgrade = api.Upgrade{Type: api.UpgradeControlPlaneOnly, KubernetesVersion: fmt.Sprintf("1.29.%d", 3+j.spring.count)}
	return u
}

func (j *joined) drained(member string) bool {
	return slices.ContainsFunc(j.members, func(m api.Member) bool { return m.Name == member && api.Draining(m.Taints) })
}

// book is how the bindings of a placement stand, as the scheduler reads it.
func (j *joined) book(p *place) *eviction.Book {
	return eviction.Open(eviction.Input{Placement: &p.p, Schedule: p.schedule, Release: p.release, Budget: p.budget, Known: func(member string) eviction.Known {
		known := eviction.Known{Result: p.results[member], Silent: j.silent[member], Holder: j.locks[member].Owner}
		if j.planted == "holders are not counted" {
			known.Holder = ""
		}
		return known
	}})
}

// available are the members that hold a placement and work, as a person would count them now.
func (j *joined) available(p *place) map[string]bool {
	all := map[string]bool{}
	if p.release == nil || p.schedule == nil {
		return all
	}
	for i := range p.release.Entries {
		e := &p.release.Entries[i]
		r := p.results[e.Member]
		gone := e.Withdrawn || slices.Contains(p.schedule.Evicted, e.Member) || slices.Contains(p.schedule.Drained, e.Member)
		if _, held := j.locks[e.Member]; !gone && !held && !j.silent[e.Member] && r != nil && r.Generation == e.Generation && r.Available == "True" {
			all[e.Member] = true
		}
	}
	return all
}

// fly sends a decision on its way; reads are the records that it depends on.
func (j *joined) fly(f *flight, reads ...string) {
	f.depends = map[string]int{}
	for _, key := range reads {
		f.depends[key] = j.written[key]
	}
	j.flying = append(j.flying, f)
}

// land writes a decision, unless a record that it depends on was written since, and holds it to what it was to keep.
func (j *joined) land(f *flight) error {
	for key, revision := range f.depends {
		if j.written[key] != revision {
			j.seen["dropped"]++
			return nil
		}
	}
	f.write()
	for _, key := range f.writes {
		j.written[key]++
	}
	j.seen[f.room]++
	if f.judge == nil {
		return nil
	}
	return f.judge()
}

// stored is a value as it comes back from a record.
func stored[T any](value T) (out T) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func names(of map[string]bool) []string { return slices.Sorted(maps.Keys(of)) }
