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
