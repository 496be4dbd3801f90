package scheduler_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/verdict"
	"flotilla/hub/scheduler"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// house is a leader's store with a scheduler on it. The test writes what door, registrar and roller
// would.
type house struct {
	server     *bustest.Server
	store      *store.Store
	placements *store.Table[api.Spec]
	members    *store.Table[api.Spec]
	seen       *store.Table[api.MemberRecord]
	schedules  *store.Table[api.Schedule]
	verdicts   *store.Table[verdict.Verdicts]
	releases   *store.Table[api.Release]
	stop       func()
}

func start(t *testing.T, o scheduler.Options) *house { return startAt(t, o, elsewhen.Now) }

// startAt is start for a hub that goes by another clock.
func startAt(t *testing.T, o scheduler.Options, now func() time.Time) *house {
	server := bustest.Start(t)
	options := server.TCP()
	options.Now = now
	conn, err := bus.ConnectHub(bustest.Context(t), options)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	h := &house{server: server, store: bustest.Lead(t, conn, "hub-test", store.LeadOptions{})}
	h.placements = store.TableOf[api.Spec](h.store.State, subjects.PlacementSpecs)
	h.members = store.TableOf[api.Spec](h.store.State, subjects.MemberSpecs)
	h.seen = store.TableOf[api.MemberRecord](h.store.State, subjects.Members)
	h.schedules = store.TableOf[api.Schedule](h.store.State, subjects.Schedules)
	h.verdicts = store.TableOf[verdict.Verdicts](h.store.State, subjects.Verdicts)
	h.releases = store.TableOf[api.Release](h.store.State, subjects.Releases)
	bustest.AsStored(t, h.store.State, subjects.Schedules, func(read, held *api.Schedule) bool { return equality.Semantic.DeepEqual(read, held) })
	bustest.AsStored(t, h.store.State, subjects.Verdicts, (*verdict.Verdicts).Equal)
	h.run(t, o)
	return h
}

// run starts a scheduler; an earlier one is to be stopped first.
func (h *house) run(t *testing.T, o scheduler.Options) {
	o.Log = h.store.Conn.Log
	room := scheduler.New(h.store, o)
	h.stop = bustest.Room(t, room)
}

// put writes a record over whatever is there; nil deletes it.
func put[T any](t *testing.T, h *house, table *store.Table[T], name string, value any) {
	t.Helper()
	for {
		_, revision, found := table.Get(name)
		if value == nil && !found {
			return
		}
		_, err := h.store.Writer.Write(bustest.Context(t), store.Op{Key: table.Key(name), Value: value, Revision: revision})
		if err == nil {
			return
		}
		require.ErrorIs(t, err, bus.ErrConflict)
	}
}

// place writes the spec of a placement as the door would.
func (h *house) place(t *testing.T, name, uid string, generation int64, p api.Placement) {
	t.Helper()
	body, err := json.Marshal(&p)
	require.NoError(t, err)
	kind := api.KindClusterResourcePlacement
	if p.Namespace != "" {
		kind = api.KindResourcePlacement
	}
	put(t, h, h.placements, name, &api.Spec{
		Header: api.NewHeader(api.KindSpec), UID: uid, Generation: generation, Body: body, Deleted: p.DeletionTimestamp,
		Object: api.ObjectRef{APIVersion: api.GroupPlacement + "/v1", Kind: kind, Namespace: p.Namespace, Name: strings.TrimPrefix(name, p.Namespace+"/")},
	})
}

func withPolicy(p *api.Policy) api.Placement {
	return api.Placement{Spec: api.PlacementSpec{Policy: p}}
}

func pickN(n int32) *api.Policy {
	return &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n}
}

// healthySince is one instant for all records, because another one is a turn of the member.
var healthySince = metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

// join writes spec and record of a healthy member; change may make the record another.
func (h *house) join(t *testing.T, name string, labels map[string]string, change func(*api.MemberRecord)) {
	t.Helper()
	put(t, h, h.members, name, memberSpec(name, nil))
	record := &api.MemberRecord{
		Header: api.NewHeader(api.KindMemberRecord), Name: name, UID: "uid-" + name, State: api.MemberReady, Healthy: "True",
		Labels: labels, Properties: map[string]string{api.PropertyNodeCount: "3"}, LastSeen: healthySince, HealthySince: healthySince,
	}
	if change != nil {
		change(record)
	}
	put(t, h, h.seen, name, record)
}

func memberSpec(name string, deleted *metav1.Time) *api.Spec {
	return &api.Spec{
		Header: api.NewHeader(api.KindSpec), UID: "uid-" + name, Generation: 1, Body: json.RawMessage(`{}`), Deleted: deleted,
		Object: api.ObjectRef{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster, Name: name},
	}
}

// eventually waits until the placement is bound to exactly these members and returns its schedule.
func (h *house) eventually(t *testing.T, name string, members ...string) api.Schedule {
	t.Helper()
	var found api.Schedule
	bustest.Eventually(t, func() error {
		current, _, ok := h.schedules.Get(name)
		if !ok {
			return fmt.Errorf("%s has no schedule", name)
		}
		var bound []string
		for _, b := range current.Bindings {
			bound = append(bound, b.Member)
		}
		if !slices.Equal(bound, members) {
			return fmt.Errorf("%s is bound to %v, wanted %v: %s", name, bound, members, current.Message)
		}
		found = current
		return nil
	})
	return found
}

// judged waits until the verdict on a member says this.
func (h *house) judged(t *testing.T, placement, member, filter, reason string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		verdicts, _, _ := h.verdicts.Get(placement)
		v, found := verdicts.Of(member)
		if !found || v.Filter != filter || !strings.Contains(v.Reason, reason) {
			return fmt.Errorf("verdict on %s: %+v, wanted filter %q and %q", member, v, filter, reason)
		}
		return nil
	})
}

// settled waits until a placement that is written now was scheduled, so that what was woken before it
// was decided, and returns the revisions of the schedule and the verdicts of another placement.
func (h *house) settled(t *testing.T, name string) [2]uint64 {
	t.Helper()
	marker := fmt.Sprintf("marker-%d", elsewhen.Now().UnixNano())
	h.place(t, marker, "m", 1, withPolicy(pickN(0)))
	h.eventually(t, marker)
	put(t, h, h.placements, marker, nil)
	bustest.Eventually(t, func() error {
		if _, _, found := h.schedules.Get(marker); found {
			return fmt.Errorf("the schedule of %s is still there", marker)
		}
		return nil
	})
	_, schedule, _ := h.schedules.Get(name)
	_, verdicts, _ := h.verdicts.Get(name)
	return [2]uint64{schedule, verdicts}
}
