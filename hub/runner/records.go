package runner

import (
	"time"

	"flotilla/bus/holds"
	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/core/version"
	"flotilla/subjects"
)

// records are what decisions depend on.
type records struct {
	store        *store.Store
	members      *store.Table[api.Spec]
	maintenance  *store.Table[api.Spec]
	runSpecs     *store.Table[api.Spec]
	strategies   *store.Table[api.Spec]
	profileSpecs *store.Table[api.Spec]
	catalogs     *store.Table[api.Spec]
	seen         *store.Table[api.MemberRecord]
	runs         *store.Records[api.UpdateRunStatus]
	profiles     *store.Records[api.AutoUpgradeProfileStatus]

	holding
	told
	ofContent
	decoded
}

// holding is what may keep a member from being changed.
type holding struct {
	locks       *holds.Locks
	disruptions *store.Table[api.DisruptionRecord]
	freezes     *store.Table[api.Freeze]
}

// told is what agents say.
type told struct {
	results     *watch.Values[api.UpgradeResult]
	answers     placed.Results
	inventories *watch.Values[api.MemberInventory]
}

// ofContent is what staged runs of content depend on.
type ofContent struct {
	placements       *store.Table[api.Spec]
	stagedStrategies *store.Table[api.Spec]
	stagedRuns       *placed.StagedRuns
	schedules        *store.Table[api.Schedule]
	releases         *store.Table[api.Release]
	snapshots        *store.Table[api.Snapshot]
	checks           *store.Table[api.CheckRecord]
}

// decoded are records that are decoded once a revision.
type decoded struct {
	runs    map[string]decodedRun // by run
	catalog parsedCatalog
}

// decodedRun is a run as its spec of a revision holds it, of either kind.
type decodedRun struct {
	revision uint64
	run      *api.UpdateRun
	staged   *api.StagedUpdateRun
}

type parsedCatalog struct {
	revision uint64
	catalog  *version.Catalog
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Runner)
	spec := func(f subjects.Family) *store.Table[api.Spec] { return store.Reads[api.Spec](a, f) }
	return &records{
		store:   s,
		members: spec(subjects.MemberSpecs), maintenance: spec(subjects.MaintenanceSpecs), runSpecs: spec(subjects.RunSpecs),
		strategies: spec(subjects.StrategySpecs), profileSpecs: spec(subjects.ProfileSpecs), catalogs: spec(subjects.CatalogSpecs),
		seen:     store.Reads[api.MemberRecord](a, subjects.Members),
		runs:     store.Writes[api.UpdateRunStatus](a, subjects.Runs),
		profiles: store.Writes[api.AutoUpgradeProfileStatus](a, subjects.Profiles),
		holding: holding{
			locks: holds.LocksOf(a), disruptions: store.Reads[api.DisruptionRecord](a, subjects.Disruptions), freezes: store.Reads[api.Freeze](a, subjects.Freezes),
		},
		told: told{
			results:     watch.ValuesOf[api.UpgradeResult](s.Results),
			answers:     placed.ResultsOf(s),
			inventories: watch.ValuesOf[api.MemberInventory](s.Inventories),
		},
		ofContent: ofContent{
			placements: spec(subjects.PlacementSpecs), stagedStrategies: spec(subjects.StagedStrategySpecs), stagedRuns: placed.StagedRunsOf(a),
			schedules: store.Reads[api.Schedule](a, subjects.Schedules),
			releases:  store.Reads[api.Release](a, subjects.Releases),
			snapshots: store.Reads[api.Snapshot](a, subjects.Snapshots),
			checks:    store.Reads[api.CheckRecord](a, subjects.Checks),
		},
		decoded: decoded{runs: map[string]decodedRun{}},
	}
}

// run returns a run as users wrote it, of upgrades or of content; nil both when it has no spec. Each revision is decoded
// once.
func (r *records) run(name string) (*api.UpdateRun, *api.StagedUpdateRun, error) {
	spec, revision, found, err := r.runSpecs.Find(name)
	if err != nil || !found {
		delete(r.decoded.runs, name)
		return nil, nil, err
	}
	if held, ok := r.decoded.runs[name]; ok && held.revision == revision {
		return held.run, held.staged, nil
	}
	read := decodedRun{revision: revision}
	if spec.Object.Kind == api.KindUpdateRun {
		read.run, err = api.SpecOf[api.UpdateRun](&spec)
	} else {
		read.staged, err = api.SpecOf[api.StagedUpdateRun](&spec)
	}
	if err != nil {
		return nil, nil, err
	}
	r.decoded.runs[name] = read
	return read.run, read.staged, nil
}

// strategy returns a strategy, nil when there is none of that name.
func (r *records) strategy(name string) (*api.UpdateStrategy, error) {
	spec, _, found, err := r.strategies.Find(name)
	if name == "" || err != nil || !found {
		return nil, err
	}
	return api.SpecOf[api.UpdateStrategy](&spec)
}

// catalog returns the catalog that counts, nil when there is none.
func (r *records) catalog() (*version.Catalog, error) {
	spec, revision, found, err := r.catalogs.Find(api.CatalogDefault)
	if err != nil || !found {
		return nil, err
	}
	if r.decoded.catalog.revision == revision {
		return r.decoded.catalog.catalog, nil
	}
	object, err := api.SpecOf[api.VersionCatalog](&spec)
	if err != nil {
		return nil, err
	}
	catalog, err := version.NewCatalog(&object.Spec)
	if err != nil {
		return nil, err
	}
	r.decoded.catalog = parsedCatalog{revision, catalog}
	return catalog, nil
}

// facts returns what is known of a member; false when it is none.
func (r *records) facts(name string) (upgrade.MemberFacts, bool, error) {
	spec, _, found, err := r.members.Find(name)
	if err != nil || !found {
		return upgrade.MemberFacts{}, false, err
	}
	mc, err := api.SpecOf[api.MemberCluster](&spec)
	if err != nil {
		return upgrade.MemberFacts{}, false, err
	}
	var record *api.MemberRecord
	var state api.MemberState
	var lastSeen time.Time
	seen, _, known, err := r.seen.Find(name)
	if err != nil {
		return upgrade.MemberFacts{}, false, err
	}
	if known {
		record, state, lastSeen = &seen, seen.State, seen.LastSeen.Time
	}
	var maintenance *api.MaintenanceConfiguration
	schedules, _, found, err := r.maintenance.Find(name)
	if err != nil {
		return upgrade.MemberFacts{}, false, err
	}
	if found {
		object, err := api.SpecOf[api.MemberMaintenance](&schedules)
		if err != nil {
			return upgrade.MemberFacts{}, false, err
		}
		maintenance = &object.Spec
	}
	inventory, _ := r.inventories.Get(name)
	m := api.MemberFrom(mc, record, time.Time{})
	return upgrade.FactsOf(&m, state, lastSeen, inventory, maintenance), true, nil
}

// lastHeard is when the hub last heard of a reachable agent, by a clock that shows now; now itself when
// its heartbeat is not there to tell.
func (r *records) lastHeard(member string, now time.Time) time.Time {
	entry, found := r.store.Heartbeats.Get(member)
	if !found {
		return now
	}
	return now.Add(-r.store.Heartbeats.Age(entry, r.store.Now()))
}
