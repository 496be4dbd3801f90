package deed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/phrase"
	"flotilla/core/whatif"
)

// Member looks at a member as it is now.
func (d *Deed) Member(m *api.MemberCluster) {
	d.Members = 1
	d.Seen = []string{fmt.Sprintf("%s, generation %d, %s", d.Object, m.Generation, m.UID)}
	d.Plan = []string{fmt.Sprintf("%s is %s", d.Key, m.Status.State)}
}

// Taint is the patch of the taints of a member that cordons, uncordons or drains it.
func (d *Deed) Taint(m *api.MemberCluster) (*api.PatchRequest, error) {
	next := api.WithoutTaint(m.Spec.Taints, api.TaintCordoned)
	switch d.Name {
	case "cordon":
		next = api.WithTaint(m.Spec.Taints, api.Taint{Key: api.TaintCordoned, Effect: api.EffectNoSchedule})
	case "drain":
		next = api.WithTaint(m.Spec.Taints, api.Taint{Key: api.TaintCordoned, Value: api.TaintDrain, Effect: api.EffectNoSchedule})
	}
	if slices.Equal(m.Spec.Taints, next) {
		return nil, nothing(d.Object+" is so already", "flotilla get members -o wide")
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": next}})
	if err != nil {
		return nil, fmt.Errorf("encoding the taints of %s: %w", d.Key, err)
	}
	d.Plan = append(d.Plan, fmt.Sprintf("its taints: %s, then %s", taints(m.Spec.Taints), taints(next)))
	return &api.PatchRequest{Object: api.ObjectRef{APIVersion: m.APIVersion, Kind: m.Kind, Name: m.Name}, Patch: patch, ResourceVersion: m.ResourceVersion, DryRun: true}, nil
}

func taints(all []api.Taint) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].String()
	}
	if len(texts) == 0 {
		return "none"
	}
	return phrase.Enumerate(texts)
}

// Tainted tells what a patch of taints would lead to.
func (d *Deed) Tainted(answer *api.ApplyResult) {
	for _, note := range answer.Notes {
		if strings.HasSuffix(note, " leaves") { // at once; others say what they wait for, or why they stay
			d.Plan = append(d.Plan, note)
		} else {
			d.Held = append(d.Held, note)
		}
	}
}

// TaintOutcome is what came of a patch of taints.
func (d *Deed) TaintOutcome(answer *api.ApplyResult) Outcome {
	return Outcome{Said: fmt.Sprintf("%s of %s: %s.", d.Words, d.Object, answer.Action), Notes: answer.Notes, Next: Command("describe", d.Object)}
}

// Moves tells where placements would come to, and which would lack members.
func (d *Deed) Moves(answer *whatif.Report) {
	for i := range answer.Placements[:min(len(answer.Placements), toldLines)] {
		p := &answer.Placements[i]
		var gains []string
		for _, g := range p.Gains {
			gains = append(gains, g.Member)
		}
		if len(gains) > 0 {
			d.Plan = append(d.Plan, p.Name+" comes to "+phrase.Names(gains, 5))
		}
		if p.Unfilled.After > p.Unfilled.Before {
			d.Held = append(d.Held, fmt.Sprintf("%s lacks %s then", p.Name, phrase.Count(p.Unfilled.After, "member")))
		}
	}
	d.Plan = append(d.Plan, phrase.Count(answer.Totals.Changed, "placement")+" would change, as all stands")
}

// Admission tells of a member that joins, and is its document as a fleet with it would have it.
func (d *Deed) Admission(m *api.MemberCluster) (json.RawMessage, error) {
	if m.UID != "" {
		return nil, &api.Failure{Code: api.CodeConflict, Message: d.Key + " is part of the fleet already", Next: Command("describe", d.Object)}
	}
	asks := Joins(m.Status)
	d.Seen, d.Plan = append(append(d.Seen, fmt.Sprintf("it is %s", m.Status.State)), asks...), append(d.Plan, asks...)
	if seen := JoiningOf(m.Status); seen.Key != "" {
		d.typing("--key", seen.Key)
	}
	admitted := *m
	admitted.Labels = m.Status.OfferedLabels
	document, err := json.Marshal(&admitted)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", d.Key, err)
	}
	return document, nil
}

// AdmissionOutcome is what came of an admission.
func (d *Deed) AdmissionOutcome(answer *api.ApplyResult) Outcome {
	return Outcome{Said: d.Key + " is part of the fleet.", Notes: answer.Notes, Next: Command("describe", d.Object)}
}

// Revocation tells what becomes of a member whose agent is refused, and is the key of that.
func (d *Deed) Revocation(m *api.MemberCluster) (key string) {
	credentials := m.Status.Credentials
	if credentials == nil {
		credentials = &api.AgentCredentials{}
	}
	d.Seen = append(d.Seen, fmt.Sprintf("its credentials: %s %s", credentials.State, credentials.Key))
	d.Plan = append(d.Plan, "its agent is cut off at once; its credentials, and tokens that were not used, are good for nothing",
		"the member stays in the fleet until it leaves; another agent needs a token of its own")
	return credentials.Key
}

// RevocationOutcome is what came of a revocation.
func (d *Deed) RevocationOutcome(answer *api.MemberRevokeResponse) Outcome {
	done := Outcome{Said: "The agent of " + d.Key + " is refused.", Next: Command("describe", d.Object)}
	if answer.Unchanged {
		done.Said = "The agent of " + d.Key + " was refused already."
	}
	if answer.Left != nil {
		done.Left, done.Next = answer.Left.Message, answer.Left.Next
	}
	return done
}

// Freeze asks for a scope to be frozen, or let go on.
func (d *Deed) Freeze(fleet *overview.Fleet) *api.FreezeRequest {
	ask := &api.FreezeRequest{Scope: d.Key, DryRun: true}
	if d.Members = len(fleet.Members); d.Kind == api.AuditMember {
		ask.Scope, d.Members = api.FreezeOf(d.Key), 1
	}
	if d.Reason != "" {
		ask.Reason = d.reason()
		d.typing("--reason", ask.Reason)
	}
	return ask
}

// Frozen tells what a freeze would hold, or its end let go on.
func (d *Deed) Frozen(answer *api.FreezeResponse, fleet *overview.Fleet) error {
	if answer.Action == api.ActionUnchanged {
		return nothing(answer.Freeze.What()+" is so already", "flotilla status")
	}
	d.Seen = []string{fmt.Sprintf("%s would be %s", answer.Freeze.What(), answer.Action)}
	if d.Name == "unfreeze" {
		d.Seen[0] += ": " + answer.Freeze.String()
	}
	d.Plan = append(d.Plan, d.Seen[0], "what is under way goes on; "+underWay(fleet))
	for i := range answer.Others {
		d.Held = append(d.Held, answer.Others[i].String())
	}
	return nil
}

// FreezeOutcome is what came of a freeze, or of its end.
func (*Deed) FreezeOutcome(answer *api.FreezeResponse) Outcome {
	return Outcome{Said: answer.Freeze.What() + " " + answer.Action + ".", Next: "flotilla status"}
}

// underWay counts what a freeze holds.
func underWay(fleet *overview.Fleet) string {
	active, disrupted := 0, 0
	for i := range fleet.Runs {
		if fleet.Runs[i].State.Active() {
			active++
		}
	}
	for _, n := range fleet.Status.Disruptions {
		disrupted += n
	}
	return fmt.Sprintf("%s on the way, %s active, %s under way", phrase.Count(fleet.Status.Converging, "placement"), phrase.Count(active, "run"), phrase.Count(disrupted, "disruption"))
}
