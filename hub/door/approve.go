package door

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/staged"
)

// approval is what an applied approval request comes to.
type approval struct {
	object    api.ObjectRef
	run, gate string
	already   bool
}

// approvals are what the approval requests among documents come to; what one of them cannot be is an error for all.
func (d *Door) approvals(requests []*api.ApprovalRequest) ([]approval, error) {
	var out []approval
	for _, r := range requests {
		run := api.Keyed(r.Namespace, r.Spec.TargetUpdateRun)
		var known *api.UpdateRunStatus
		if status, _, found := d.records.Runs.Get(run); found {
			known = &status
		}
		gate, already, refusal := staged.GateOf(r, known)
		if refusal != nil {
			return nil, refusal.Failure()
		}
		object := api.ObjectRef{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		out = append(out, approval{object: object, run: run, gate: gate, already: already})
	}
	return out, nil
}

// approve opens the gates of applied approval requests, as whoever applied them.
func (d *Door) approve(ctx context.Context, request *api.ApplyRequest, approvals []approval) ([]api.ApplyResult, error) {
	var results []api.ApplyResult
	for i := range approvals {
		a := &approvals[i]
		result := api.ApplyResult{Object: a.object, Action: api.ActionConfigured}
		if a.already {
			result.Action = api.ActionUnchanged
		}
		if !a.already && !request.DryRun {
			if err := d.openGate(ctx, request, a); err != nil {
				return nil, err
			}
		}
		results = append(results, result)
	}
	return results, nil
}

// openGate has the gate of an approval opened by the room that follows runs.
func (d *Door) openGate(ctx context.Context, request *api.ApplyRequest, a *approval) error {
	ask := api.RunRequest{Request: partOf(request.Request, a.object.Name), Run: a.run, Gate: a.gate}
	body, err := json.Marshal(ask)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	by := request.By
	by.Verb = api.VerbRunApprove
	_, err = d.options.More[by.Verb](ctx, by, body)
	return err
}

// partOf is the request id of one part of a request, the same whenever that is repeated.
func partOf(request, part string) string {
	sum := sha256.Sum256([]byte(request + "/" + part))
	return hex.EncodeToString(sum[:])
}
