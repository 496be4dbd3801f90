package deed

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
)

func memberOf(taints ...api.Taint) *api.MemberCluster {
	return &api.MemberCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "cluster.kubernetes-fleet.io/v1", Kind: api.KindMemberCluster},
		ObjectMeta: metav1.ObjectMeta{Name: "berlin", UID: "u", Generation: 3, ResourceVersion: "7"},
		Spec:       api.MemberClusterSpec{Taints: taints}, Status: &api.MemberClusterStatus{State: api.MemberReady},
	}
}

// A cordon, its end and a drain change one taint of a member and leave the others where they are.
func TestATaintIsSetAmongOthers(t *testing.T) {
	full, last := api.Taint{Key: "full", Effect: api.EffectNoSchedule}, api.Taint{Key: "old", Effect: api.EffectNoSchedule}
	cordon := api.Taint{Key: api.TaintCordoned, Effect: api.EffectNoSchedule}
	drain := api.Taint{Key: api.TaintCordoned, Value: api.TaintDrain, Effect: api.EffectNoSchedule}
	for _, c := range []struct {
		action    string
		has, want []api.Taint
		told      string
	}{
		{"cordon", nil, []api.Taint{cordon}, "its taints: none, then " + cordon.String()},
		{"cordon", []api.Taint{full, drain, last}, []api.Taint{full, cordon, last}, ""},
		{"cordon", []api.Taint{full, cordon}, nil, ""},
		{"drain", []api.Taint{full}, []api.Taint{full, drain}, "its taints: " + full.String() + ", then " + full.String() + ", " + drain.String()},
		{"drain", []api.Taint{drain}, nil, ""},
		{"uncordon", []api.Taint{drain}, []api.Taint{}, "its taints: " + drain.String() + ", then none"},
		{"uncordon", []api.Taint{full, cordon, last}, []api.Taint{full, last}, ""},
		{"uncordon", []api.Taint{full}, nil, ""},
	} {
		d, m := deedOf(t, c.action, map[string][]string{"member": {"berlin"}}), memberOf(c.has...)
		d.Member(m)
		require.Equal(t, []string{"member/berlin, generation 3, u"}, d.Seen)
		require.Equal(t, 1, d.Members)
		ask, err := d.Taint(m)
		if c.want == nil {
			require.ErrorContains(t, err, "there is nothing to do: member/berlin is so already", c.action)
			continue
		}
		require.NoError(t, err)
		var patch struct{ Spec api.MemberClusterSpec }
		require.NoError(t, json.Unmarshal(ask.Patch, &patch))
		require.Equal(t, c.want, patch.Spec.Taints, c.action)
		require.Equal(t, []any{"7", true, "berlin", api.KindMemberCluster}, []any{ask.ResourceVersion, ask.DryRun, ask.Object.Name, ask.Object.Kind})
		if c.told != "" {
			require.Equal(t, []string{"berlin is Ready", c.told}, d.Plan)
		}
	}
}

// Who leaves at once is part of the plan, who waits or stays is held.
func TestADrainSaysWhoLeaves(t *testing.T) {
	d := deedOf(t, "drain", map[string][]string{"member": {"berlin"}})
	answer := &api.ApplyResult{Action: api.ActionConfigured, Notes: []string{"web leaves", "db waits for a budget", "api stays: it tolerates the taint"}}
	d.Tainted(answer)
	require.Equal(t, []string{"web leaves"}, d.Plan)
	require.Equal(t, answer.Notes[1:], d.Held)
	require.Equal(t, Outcome{Said: "drain of member/berlin: configured.", Notes: answer.Notes, Next: "flotilla describe member berlin"}, d.TaintOutcome(answer))
}

// A member that joins is shown with its key and the labels it asks for, and is planned with these labels.
func TestAMemberThatJoinsIsShownAsItWouldBe(t *testing.T) {
	m := memberOf()
	m.UID, m.Labels = "", nil
	m.Status.State, m.Status.OfferedLabels = api.MemberJoining, map[string]string{"region": "eu"}
	d := deedOf(t, "admit", map[string][]string{"member": {"berlin"}})
	document, err := d.Admission(m)
	require.NoError(t, err)
	require.Equal(t, append([]string{"it is Joining"}, Joins(m.Status)...), d.Seen)
	require.Equal(t, Joins(m.Status), d.Plan)
	require.Equal(t, "flotilla member admit berlin", d.Command, "a member without a key is admitted whichever agent it has")
	var planned api.MemberCluster
	require.NoError(t, json.Unmarshal(document, &planned))
	require.Equal(t, m.Status.OfferedLabels, planned.Labels)
	require.Nil(t, m.Labels)

	m.Status.Credentials = &api.AgentCredentials{Key: "UABC"}
	_, err = d.Admission(m)
	require.NoError(t, err)
	require.Equal(t, "flotilla member admit berlin --key UABC", d.Command)
	_, err = d.Admission(memberOf())
	require.ErrorContains(t, err, "berlin is part of the fleet already")
	require.Equal(t, "berlin is part of the fleet.", d.AdmissionOutcome(&api.ApplyResult{}).Said)
}

func TestWhatComesOfARevocation(t *testing.T) {
	d := deedOf(t, "revoke", map[string][]string{"member": {"berlin"}})
	for _, c := range []struct {
		answer api.MemberRevokeResponse
		want   Outcome
	}{
		{api.MemberRevokeResponse{}, Outcome{Said: "The agent of berlin is refused.", Next: "flotilla describe member berlin"}},
		{api.MemberRevokeResponse{Unchanged: true}, Outcome{Said: "The agent of berlin was refused already.", Next: "flotilla describe member berlin"}},
		{api.MemberRevokeResponse{Left: &api.Failure{Message: "a server is away", Next: "again"}}, Outcome{Said: "The agent of berlin is refused.", Left: "a server is away", Next: "again"}},
	} {
		require.Equal(t, c.want, d.RevocationOutcome(&c.answer))
	}
}

// A freeze of the fleet concerns all members, one of a member that one; what is under way is counted.
func TestWhatAFreezeConcerns(t *testing.T) {
	fleet := &overview.Fleet{
		Members: make([]overview.Member, 4), Runs: []overview.Run{{State: api.StateRunning}, {State: api.StateCompleted}, {State: api.StatePending}},
		Status: api.FleetStatus{Converging: 2, Disruptions: map[string]int{"Draining": 2, "Waiting": 1}},
	}
	for _, c := range []struct {
		action, object, scope, reason, command string
		members                                int
	}{
		{"freeze", "fleet/runs", api.FreezeRuns, "sale", "flotilla freeze runs --reason sale", 4},
		{"freeze", "member/oslo", api.FreezeOf("oslo"), "sale", "flotilla freeze member oslo --reason sale", 1},
		{"unfreeze", "fleet/runs", api.FreezeRuns, "", "flotilla unfreeze runs", 4},
	} {
		d := deedOf(t, c.action, map[string][]string{"object": {c.object}, "reason": {"sale"}})
		require.Equal(t, &api.FreezeRequest{Scope: c.scope, Reason: c.reason, DryRun: true}, d.Freeze(fleet))
		require.Equal(t, []any{c.command, c.members}, []any{d.Command, d.Members})

		freeze := api.Freeze{Scope: c.scope, By: "anna", Reason: "sale"}
		require.NoError(t, d.Frozen(&api.FreezeResponse{Action: "frozen", Freeze: freeze, Others: []api.Freeze{freeze}}, fleet))
		seen := freeze.What() + " would be frozen"
		if c.action == "unfreeze" {
			seen += ": " + freeze.String()
		}
		require.Equal(t, []string{seen}, d.Seen)
		require.Equal(t, []string{seen, "what is under way goes on; 2 placements on the way, 2 runs active, 3 disruptions under way"}, d.Plan)
		require.Equal(t, []string{freeze.String()}, d.Held)
		require.ErrorContains(t, d.Frozen(&api.FreezeResponse{Action: api.ActionUnchanged, Freeze: freeze}, fleet), freeze.What()+" is so already")
		require.Equal(t, freeze.What()+" frozen.", d.FreezeOutcome(&api.FreezeResponse{Action: "frozen", Freeze: freeze}).Said)
	}
}
