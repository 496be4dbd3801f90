package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/upgrade"
	"flotilla/core/version"
	"flotilla/core/window"
)

// Upgrades is what files say about update runs and the fleet they go over.
type Upgrades struct {
	// Runs that are not finished, with the strategies they name, sorted by name.
	Runs []upgrade.PlannedRun
	// Members are sorted by name.
	Members []UpgradeMember
	// Known are the runs in the files and the locks that they hold: how long upgrades took, and when those
	// that are under way may end.
	Known upgrade.Others

	catalog     *api.VersionCatalog
	strategies  map[string]*api.UpdateStrategy
	maintenance map[string]*api.MemberMaintenance
}

// UpgradeMember is one member as files tell of it: its facts as of the files, and its last heartbeat
// where they tell it without a state, by which View judges whether it is reachable.
type UpgradeMember struct {
	upgrade.MemberFacts
	heartbeat time.Time
}

// View is the fleet at a moment. Zones finds IANA zones. Members that were silent for longer than
// timeout, 0 stands for 5 minutes, count as unreachable. The error names a schedule or a catalog that
// cannot be followed.
func (u *Upgrades) View(zones window.Zones, now time.Time, timeout time.Duration) (upgrade.View, error) {
	timeout = cmp.Or(timeout, memberTimeout)
	view := upgrade.View{Fleet: upgrade.NewFleet(zones), Locks: map[string]string{}}
	for i := range u.Known.Locks {
		view.Locks[u.Known.Locks[i].Member] = u.Known.Locks[i].Owner
	}
	for i := range u.Members {
		m := &u.Members[i]
		facts := m.MemberFacts
		if !m.heartbeat.IsZero() && now.Sub(m.heartbeat) > timeout {
			facts.Reachable, facts.LastSeen = false, m.heartbeat
		}
		if err := view.Fleet.Set(facts); err != nil {
			return view, err
		}
	}
	if u.catalog == nil {
		return view, nil
	}
	var err error
	view.Catalog, err = version.NewCatalog(&u.catalog.Spec)
	return view, err
}

// Assumptions completes what is assumed by what the files tell.
func (u *Upgrades) Assumptions(view upgrade.View, a upgrade.Assumptions) upgrade.Assumptions {
	a.History = upgrade.DurationsOf(u.Known.Runs)
	a.Ends = u.Known.Ends(view.Fleet, a)
	return a
}

// upgradeDocs are the documents around upgrades.
type upgradeDocs struct {
	runs        map[string]*runDocs
	strategies  map[string]*api.UpdateStrategy
	maintenance map[string]*api.MemberMaintenance
	inventories map[string]*api.MemberInventory
	catalog     *api.VersionCatalog
}

// runDocs are the documents of one run: the exported one has its status.
type runDocs struct {
	wanted, exported *api.UpdateRun
}

func newUpgradeDocs() upgradeDocs {
	return upgradeDocs{
		runs: map[string]*runDocs{}, strategies: map[string]*api.UpdateStrategy{},
		maintenance: map[string]*api.MemberMaintenance{}, inventories: map[string]*api.MemberInventory{},
	}
}

// readUpgrade takes in a document around upgrades.
func (c *collector) readUpgrade(d *Document, value any) {
	u := &c.upgrades
	switch value := value.(type) {
	case *api.UpdateRun:
		c.readRun(d, value)
	case *api.UpdateStrategy:
		once(c, d, u.strategies, value.Name, value)
	case *api.MemberMaintenance:
		once(c, d, u.maintenance, value.Name, value)
	case *api.VersionCatalog:
		c.readVersions(d, value)
	case *api.AutoUpgradeProfile:
		c.ignored[api.KindAutoUpgradeProfile]++
	case *api.StagedUpdateRun:
		c.readContentRun(d, value)
	case *api.StagedUpdateStrategy:
		once(c, d, c.contents.strategies, api.Keyed(value.Namespace, value.Name), value)
	case *api.RolloutCheck:
		once(c, d, c.contents.checks, value.Name, value)
	}
}

func (c *collector) readVersions(d *Document, catalog *api.VersionCatalog) {
	if catalog.Name != api.CatalogDefault {
		c.notes = append(c.notes, fmt.Sprintf("VersionCatalog/%s left out: only the catalog named %s counts", catalog.Name, api.CatalogDefault))
		return
	}
	if c.upgrades.catalog != nil {
		c.twice(d, api.KindVersionCatalog+"/"+catalog.Name)
	}
	c.upgrades.catalog = catalog
}

func once[V any](c *collector, d *Document, all map[string]V, name string, value V) {
	if _, seen := all[name]; seen {
		c.twice(d, d.Object.Kind+"/"+name)
	}
	all[name] = value
}

func (c *collector) readRun(d *Document, run *api.UpdateRun) {
	docs := c.upgrades.runs[run.Name]
	if docs == nil {
		docs = &runDocs{}
		c.upgrades.runs[run.Name] = docs
	}
	var body struct {
		Status *api.UpdateRunStatus `json:"status"`
	}
	if err := json.Unmarshal(d.JSON, &body); err != nil {
		c.malformed(d, api.KindUpdateRun, err)
		return
	}
	slot := &docs.wanted
	if body.Status != nil && len(body.Status.Stages) > 0 {
		slot, run.Status = &docs.exported, body.Status
	}
	if *slot != nil {
		c.twice(d, api.KindUpdateRun+"/"+run.Name)
	}
	*slot = run
}

func (c *collector) readInventory(d *Document) {
	inventory := &api.MemberInventory{}
	if err := json.Unmarshal(d.JSON, inventory); err != nil {
		c.malformed(d, api.KindInventory, err)
		return
	}
	once(c, d, c.upgrades.inventories, inventory.Member, inventory)
}

// allUpgrades joins runs with their strategies and members with their inventories and schedules.
func (c *collector) allUpgrades() Upgrades {
	out := Upgrades{catalog: c.upgrades.catalog, strategies: c.upgrades.strategies, maintenance: c.upgrades.maintenance}
	for _, docs := range c.upgrades.runs {
		run := docs.exported
		if run != nil {
			out.Known.Runs = append(out.Known.Runs, *run.Status)
			out.Known.Locks = append(out.Known.Locks, lockedBy(run.Status)...)
		}
		if run, planned := c.runAfter(docs); planned {
			out.Runs = append(out.Runs, upgrade.PlannedRun{
				Run: run, Strategy: c.upgrades.strategies[run.Spec.StrategyName], Status: run.Status,
			})
		}
	}
	slices.SortFunc(out.Runs, func(a, b upgrade.PlannedRun) int { return cmp.Compare(a.Run.Name, b.Run.Name) })
	for name, docs := range c.members {
		out.Members = append(out.Members, c.upgradeMember(name, docs))
	}
	slices.SortFunc(out.Members, func(a, b UpgradeMember) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// runAfter is a run as it would be; false for one that is finished.
func (c *collector) runAfter(docs *runDocs) (*api.UpdateRun, bool) {
	if docs.exported == nil {
		return docs.wanted, true
	}
	run := docs.exported
	state := run.Status.Status.State
	if docs.wanted == nil {
		if state.Terminal() {
			c.notes = append(c.notes, fmt.Sprintf("UpdateRun/%s is %s: left out, and its upgrades count as history", run.Name, state))
		}
		return run, !state.Terminal()
	}
	if refusal := upgrade.CheckEdit(run, docs.wanted, run.Status); refusal != nil {
		c.faults = append(c.faults, strict.Fault{
			Object: api.KindUpdateRun + "/" + run.Name, Path: "spec", Found: refusal.Message, Expected: "a run of another name",
		})
	}
	return docs.wanted, true
}

// lockedBy are the locks that a run holds.
func lockedBy(status *api.UpdateRunStatus) []api.MemberLock {
	var locks []api.MemberLock
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			for k := range status.Stages[i].Groups[j].Members {
				if m := &status.Stages[i].Groups[j].Members[k]; m.Locked {
					locks = append(locks, api.MemberLock{Member: m.Name, Holder: m.OperationID, Owner: "run " + status.Run})
				}
			}
		}
	}
	return locks
}

func (c *collector) upgradeMember(name string, docs *memberDocs) UpgradeMember {
	mc := docs.merged()
	m := api.MemberOf(mc)
	var state api.MemberState
	inventory := c.upgrades.inventories[name]
	if mc.Status != nil {
		state = mc.Status.State
		inventory = cmp.Or(inventory, mc.Status.Inventory)
	}
	if inventory == nil && mc.Status != nil && mc.Status.KubernetesVersion != "" {
		inventory = &api.MemberInventory{Member: name, ControlPlaneVersion: mc.Status.KubernetesVersion}
		c.versionOnly = append(c.versionOnly, name)
	}
	if m.Joined == "" && inventory != nil {
		m.Joined = "True"
	}
	var schedules *api.MaintenanceConfiguration
	if object := c.upgrades.maintenance[name]; object != nil {
		schedules = &object.Spec
	}
	out := UpgradeMember{MemberFacts: upgrade.FactsOf(&m, state, m.LastHeartbeat, inventory, schedules)}
	if state == "" {
		out.heartbeat = m.LastHeartbeat
	}
	return out
}

// upgradeNotes say what the files leave open about upgrades.
func (c *collector) upgradeNotes() []string {
	var notes []string
	if len(c.versionOnly) > 0 && len(c.upgrades.runs) > 0 {
		slices.Sort(c.versionOnly)
		notes = append(notes, fmt.Sprintf("no inventory of %s: only their Kubernetes version is known, no node pools", strings.Join(c.versionOnly, ", ")))
	}
	for name := range c.upgrades.maintenance {
		if c.members[name] == nil {
			notes = append(notes, "MemberMaintenance/"+name+" left out: the files hold no such member")
		}
	}
	return notes
}
