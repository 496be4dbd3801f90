package disruptor

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"flotilla/bus/holds"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/subjects"
)

// records are what decisions depend on.
type records struct {
	members     *store.Table[api.Spec]
	seen        *store.Table[api.MemberRecord]
	poolSpecs   *store.Table[api.Spec]
	catalogs    *store.Table[api.Spec]
	objects     *store.Table[api.Spec]
	runs        *store.Table[api.UpdateRunStatus]
	disruptions *store.Records[api.DisruptionRecord]
	pools       *store.Records[api.PoolRecord]
	locks       *holds.Locks
	freezes     *store.Table[api.Freeze]
	results     *watch.Values[api.DisruptionResult]
	// clusters are the members as their specs of a revision hold them, by name.
	clusters sync.Map
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Disruptor)
	spec := func(f subjects.Family) *store.Table[api.Spec] { return store.Reads[api.Spec](a, f) }
	return &records{
		members: spec(subjects.MemberSpecs), poolSpecs: spec(subjects.PoolSpecs), catalogs: spec(subjects.InstanceCatalogSpecs),
		objects:     spec(subjects.ObjectSpecs),
		seen:        store.Reads[api.MemberRecord](a, subjects.Members),
		runs:        store.Reads[api.UpdateRunStatus](a, subjects.Runs),
		disruptions: store.Writes[api.DisruptionRecord](a, subjects.Disruptions),
		pools:       store.Writes[api.PoolRecord](a, subjects.Pools),
		locks:       holds.LocksOf(a),
		freezes:     store.Reads[api.Freeze](a, subjects.Freezes),
		results:     watch.ValuesOf[api.DisruptionResult](s.Results),
	}
}

// names are those of all objects of a kind that can be read, sorted.
func names(specs *store.Table[api.Spec]) (out []string) {
	for _, e := range specs.All() {
		out = append(out, e.Name)
	}
	return out
}

// labels of a member, as selectors see them; false when it is none.
func (r *records) labels(name string) (labels map[string]string, state api.MemberState, found bool, err error) {
	mc, found, err := r.cluster(name)
	if err != nil || !found {
		return nil, "", false, err
	}
	seen, _, known, err := r.seen.Find(name)
	if err != nil {
		return nil, "", false, err
	}
	var record *api.MemberRecord
	state = api.MemberJoining
	if known {
		record, state = &seen, seen.State
	}
	m := api.MemberFrom(mc, record, seen.LastSeen.Time)
	if m.Leaving {
		state = api.MemberLeaving
	}
	return m.Labels, state, true, nil
}

// cluster is what users say of a member; false when it is none.
func (r *records) cluster(name string) (*api.MemberCluster, bool, error) {
	spec, revision, found, err := r.members.Find(name)
	if err != nil || !found {
		r.clusters.Delete(name)
		return nil, false, err
	}
	if held, ok := r.clusters.Load(name); ok && held.(decoded[*api.MemberCluster]).revision == revision {
		return held.(decoded[*api.MemberCluster]).object, true, nil
	}
	mc, err := api.SpecOf[api.MemberCluster](&spec)
	if err != nil {
		return nil, false, err
	}
	r.clusters.Store(name, decoded[*api.MemberCluster]{revision, mc})
	return mc, true, nil
}

// unready says of a member that is not Ready how it does, since when, and why.
func (r *records) unready(name string, state api.MemberState) string {
	text := fmt.Sprintf("the member is %s", state)
	seen, _, _ := r.seen.Get(name)
	if seen.State != state {
		return text
	}
	if !seen.Since.IsZero() {
		text += " since " + seen.Since.UTC().Format(time.RFC3339)
	}
	if seen.Message != "" {
		text += ": " + seen.Message
	}
	return text
}

// frozen says who froze the nodes of a member; nothing where nobody did.
func (r *records) frozen(member string) string {
	return guard.Waits(guard.Read(r.freezes.Find).On(api.FreezeNodes, member))
}

// departed says that neither a user nor an agent knows a member.
func (r *records) departed(name string) bool {
	_, _, spec, err := r.members.Find(name)
	_, _, seen, err2 := r.seen.Find(name)
	return err == nil && err2 == nil && !spec && !seen
}

func resultKey(member, id string) string {
	return subjects.ResultKey(member, subjects.CommandDisruption, id)
}

// resultsOf returns what the agent says of the disruptions of a record that have not ended.
func (r *records) resultsOf(record *api.DisruptionRecord) map[string]*api.DisruptionResult {
	out := map[string]*api.DisruptionResult{}
	for i := range record.Disruptions {
		d := &record.Disruptions[i]
		if !d.Ended.IsZero() {
			continue
		}
		if result, _ := r.results.Get(resultKey(record.Member, d.ID)); result != nil {
			out[d.ID] = result
		}
	}
	return out
}

// holder is who holds a member, as the hub's records name them.
func operation(member string) string { return subjects.CommandDisruption + "/" + member }

// owner of the locks that this room takes.
const owner = "node disruption"

// nameOwner is the owner of a lock as people know it: the run "web-1" is an update run.
func nameOwner(text string) string {
	if strings.HasPrefix(text, "run ") {
		return "update " + text
	}
	return text
}
