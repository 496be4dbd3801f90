package door_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/hub/door/records"
	"flotilla/hub/door/show"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// BenchmarkFleet reads the rows of 10,000 members and 1,000 placements on 100 members each, of which a tenth is in
// trouble somewhere; between two reads one member and one placement change.
func BenchmarkFleet(b *testing.B) {
	const members, placements, each = 10_000, 1_000, 100
	leader := bustest.Start(b).Lead(b)
	now := metav1.NewTime(elsewhen.Now().UTC().Truncate(time.Second))
	var ops []store.Op
	add := func(key string, value any) {
		if ops = append(ops, store.Put(key, value, 0)); len(ops) == 100 {
			require.NoError(b, commit(b, leader, &ops))
		}
	}
	for i := range members {
		m := memberAt(i, now)
		add(subjects.MemberSpecs.Key(m.Name), &api.Spec{
			Header: api.NewHeader(api.KindSpec), Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: m.Name}, UID: m.UID, Generation: 1, Created: now,
			Body: json.RawMessage(fmt.Sprintf(`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":%q,"labels":{"env":"prod","tier":"1"}}}`, m.Name)),
		})
		add(subjects.Members.Key(m.Name), &m)
	}
	for i := range placements {
		name := fmt.Sprintf("p%04d", i)
		add(subjects.PlacementSpecs.Key(name), &api.Spec{
			Header: api.NewHeader(api.KindSpec), Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: name}, UID: name, Generation: 1, Created: now,
			Body: json.RawMessage(fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":%q,"generation":1}}`, name)),
		})
		release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: name}
		for k := range each {
			release.Entries = append(release.Entries, api.ReleaseEntry{Member: memberName((i*37 + k*100) % members), UID: name, Snapshot: 1, Generation: 1, Since: now})
		}
		add(subjects.Releases.Key(name), &release)
		add(subjects.Statuses.Key(name), statusAt(name, i, members))
	}
	require.NoError(b, commit(b, leader, &ops))
	v := show.New(leader, records.New(leader.State), show.Options{Problems: func() []api.Problem { return nil }, Resealed: func() (int64, int64) { return 0, 0 }})
	read := func() *overview.Fleet {
		answer, err := v.Fleet(context.Background(), nil)
		require.NoError(b, err)
		return answer.(*overview.Fleet)
	}
	fleet := read()
	require.Len(b, fleet.Members, members)
	require.Len(b, fleet.Placements, placements)
	require.Equal(b, 10, fleet.Members[0].Placements)
	table := store.TableOf[api.MemberRecord](leader.State, subjects.Members)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		m := memberAt(i%members, now)
		m.Message = fmt.Sprint(i)
		_, revision, _ := table.Get(m.Name)
		_, err := leader.Writer.Write(bustest.Context(b), store.Put(table.Key(m.Name), &m, revision))
		require.NoError(b, err)
		b.StartTimer()
		require.Equal(b, m.Message, read().Members[i%members].Message)
	}
	text, err := json.Marshal(read())
	require.NoError(b, err)
	b.ReportMetric(float64(len(text))/1024, "KiB")
}

func commit(b *testing.B, leader *store.Store, ops *[]store.Op) error {
	batch := *ops
	*ops = nil
	if len(batch) == 0 {
		return nil
	}
	_, err := leader.Writer.Write(bustest.Context(b), batch...)
	return err
}

func memberName(i int) string { return fmt.Sprintf("m%05d", i) }

func memberAt(i int, now metav1.Time) api.MemberRecord {
	record := beat(now.Time, memberName(i), nil)
	record.UID, record.State, record.KubernetesVersion = record.Name, api.MemberReady, "v1.31.2"
	record.Labels = map[string]string{"region": fmt.Sprintf("r%02d", i%20), "env": "prod", "tier": fmt.Sprint(i % 3)}
	return record
}

func statusAt(name string, i, members int) *api.PlacementStatus {
	st := &api.PlacementStatus{
		Header: api.NewHeader(api.KindPlacementStatus), Placement: name, UID: name, ObservedGeneration: 1,
		Counts:     api.PlacementCounts{Want: -1, Picked: 100, Current: 100, Applied: 100, Available: 90},
		Conditions: []metav1.Condition{{Type: "ClusterResourcePlacementAvailable", Status: metav1.ConditionFalse, Reason: "NotAvailable", Message: "90 of 100"}},
	}
	for k := range 10 {
		st.PlacementStatuses = append(st.PlacementStatuses, api.PerMemberStatus{ClusterName: memberName((i*37 + k*100) % members), State: api.EntryNotAvailable})
	}
	return st
}
