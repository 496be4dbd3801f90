package door_test

import (
	"context"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(bustest.Context(t))
}

// write plays a room: it puts a record, whatever is there.
func write[T any](h *house, family subjects.Family, name string, value T) {
	h.t.Helper()
	table := store.TableOf[T](h.store.State, family)
	_, revision, _ := table.Get(name)
	_, err := h.store.Writer.Write(bustest.Context(h.t), store.Put(table.Key(name), value, revision))
	require.NoError(h.t, err)
}

// erase plays a room: it deletes a record that is there.
func erase[T any](h *house, family subjects.Family, name string) {
	h.t.Helper()
	table := store.TableOf[T](h.store.State, family)
	_, revision, found := table.Get(name)
	require.True(h.t, found)
	_, err := h.store.Writer.Write(bustest.Context(h.t), store.Delete(table.Key(name), revision))
	require.NoError(h.t, err)
}

func (h *house) snapshots(placement string) []api.Snapshot {
	var all []api.Snapshot
	for _, entry := range store.TableOf[api.Snapshot](h.store.State, subjects.Snapshots).Group(placement) {
		all = append(all, entry.Value)
	}
	return all
}

func (h *house) indexes(placement string) []int64 {
	var all []int64
	for _, snapshot := range h.snapshots(placement) {
		all = append(all, snapshot.Index)
	}
	return all
}

// release plays the roller: members run a snapshot of a placement.
func (h *house) release(placement, uid string, snapshot int64, members ...string) {
	h.t.Helper()
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: placement}
	for _, member := range members {
		release.Entries = append(release.Entries, api.ReleaseEntry{Member: member, UID: uid, Snapshot: snapshot, Generation: 1})
	}
	write(h, subjects.Releases, placement, release)
}

// enrolled plays the enroller: the agent of a member registered its keys.
func (h *house) enrolled(member string) {
	h.t.Helper()
	write(h, subjects.Identities, member, api.Identity{Header: api.NewHeader(api.KindIdentity), Name: member, SealingKey: h.server.SealingKey(h.t, member)})
}

func beat(at time.Time, member string, labels map[string]string) api.MemberRecord {
	return api.MemberRecord{
		Header: api.NewHeader(api.KindMemberRecord), Name: member, State: api.MemberJoining,
		Since: metav1.NewTime(at), LastSeen: metav1.NewTime(at), OfferedLabels: labels, Healthy: "True", AgentLevel: api.Level,
		Properties: map[string]string{api.PropertyNodeCount: "3", api.PropertyResourcePrefix + "available-cpu": "4"},
	}
}
