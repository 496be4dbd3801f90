package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/staged"
)

func TestApprovalRequestsAreThoseOfGates(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	require.Empty(t, staged.Requests(&w.status))
	w.after(time.Minute, "oslo")
	requests := staged.Requests(&w.status)
	require.Len(t, requests, 1)
	r := requests[0]
	require.Equal(t, "web-1-before-prod", r.Name)
	require.Equal(t, api.ApprovalRequestSpec{TargetUpdateRun: "web-1", TargetStage: "prod"}, r.Spec)

	_, _, refusal := staged.GateOf(&r, &w.status)
	require.NotNil(t, refusal, "without the condition it approves nothing")
	r.Status.Conditions = []api.ApprovalCondition{{Type: staged.ConditionApproved, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	gate, already, refusal := staged.GateOf(&r, &w.status)
	require.Nil(t, refusal)
	require.False(t, already)
	require.Nil(t, w.operate(api.VerbRunApprove, api.RunRequest{Gate: gate, Asked: api.Asked{By: api.Caller{Name: "anna"}}}))
	require.True(t, staged.Approves(&staged.Requests(&w.status)[0]))
	_, already, _ = staged.GateOf(&r, &w.status)
	require.True(t, already)

	for name, spoil := range map[string]func(*api.ApprovalRequest){
		"another stage":   func(r *api.ApprovalRequest) { r.Spec.TargetStage = "canary" },
		"another name":    func(r *api.ApprovalRequest) { r.Name = "web-1-after-prod" },
		"not true":        func(r *api.ApprovalRequest) { r.Status.Conditions[0].Status = metav1.ConditionFalse },
		"a later request": func(r *api.ApprovalRequest) { r.Status.Conditions[0].ObservedGeneration = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := r
			spoilt.Status.Conditions = []api.ApprovalCondition{r.Status.Conditions[0]}
			spoil(&spoilt)
			_, _, refusal := staged.GateOf(&spoilt, &w.status)
			require.NotNil(t, refusal)
		})
	}
	_, _, refusal = staged.GateOf(&r, nil)
	require.NotNil(t, refusal)
}
