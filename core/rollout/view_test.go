package rollout

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// A rollout sees of a member whether it is there, whether it leaves, and what is then to become of what it has.
func TestWhatARolloutSeesOfAMember(t *testing.T) {
	now := metav1.Unix(1, 0)
	spec := func(deleted *metav1.Time, body string) *api.Spec {
		return &api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: "a"}, Deleted: deleted, Body: json.RawMessage(body)}
	}
	const stays, goes = `{"spec":{}}`, `{"spec":{"deleteOptions":{"whenLeaving":"Delete"}}}`
	for name, c := range map[string]struct {
		spec *api.Spec
		want MemberView
	}{
		"no member":            {nil, MemberView{Gone: true}},
		"a member":             {spec(nil, goes), MemberView{State: api.MemberReady}},
		"leaves":               {spec(&now, stays), MemberView{State: api.MemberReady, Leaving: true}},
		"leaves, and is wiped": {spec(&now, goes), MemberView{State: api.MemberReady, Leaving: true, WhenLeaving: "Delete"}},
		"cannot be read":       {spec(&now, `[]`), MemberView{State: api.MemberReady, Leaving: true}},
	} {
		require.Equal(t, c.want, ViewOf(c.spec, api.MemberReady), name)
	}
}

// What a member had before is forgotten once the checks of what it has passed, and kept until then.
func TestWhatAMemberHadIsForgottenOnceChecksPassed(t *testing.T) {
	for phase, forgotten := range map[string]bool{
		api.CheckPassed: true, api.CheckExempt: true, api.CheckChecking: false, api.CheckStopped: false,
	} {
		in := Input{
			Placement: api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}}, Schedule: &api.Schedule{UID: "u", Bindings: []api.Binding{{Member: "a"}}},
			Latest: &api.Snapshot{UID: "u", Index: 2, Work: "w2"}, Members: map[string]MemberView{"a": {State: api.MemberReady}},
			Release: &api.Release{Step: 1, Entries: []api.ReleaseEntry{{Member: "a", UID: "u", Snapshot: 2, Work: "w2", Generation: 1, Earlier: &api.Earlier{Snapshot: 1, Work: "w1"}}}},
			Checks:  Checks{Name: "slow", Record: &api.CheckRecord{UID: "u", CheckStatus: api.CheckStatus{Check: "slow", Snapshot: 2, Phase: phase}}},
		}
		require.Equal(t, forgotten, Next(in).Release.Entries[0].Earlier == nil, phase)
		in.Checks.Record.Snapshot = 1
		require.NotNil(t, Next(in).Release.Entries[0].Earlier, "of the snapshot before")
	}
}
