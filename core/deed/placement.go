package deed

import (
	"fmt"
	"strconv"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/phrase"
	"flotilla/core/plan"
)

// toldLines is how many lines tell of one thing.
const toldLines = 100

// Rollout asks for a rollout to be steered.
func (d *Deed) Rollout() *api.RolloutRequest {
	return &api.RolloutRequest{Object: PlacementRef(d.Key), DryRun: true, Reason: d.Said("reason")}
}

// Revisions offers those that somebody may go back to, the oldest first, and chooses the one that was asked for.
func (d *Deed) Revisions(past []api.Revision, ask *api.RolloutRequest) {
	ask.Revision, _ = strconv.ParseInt(d.Said("revision"), 10, 64)
	back := Choice{Name: "revision", Label: "Back to revision"}
	for i := range past[:max(0, len(past)-1)] {
		if r := &past[i]; r.Error == "" {
			back.Options = append(back.Options, Option{strconv.FormatInt(r.Revision, 10), fmt.Sprintf("%d, made %s, %s", r.Revision, plan.Moment(r.Created), phrase.Count(r.Objects, "object"))})
		}
	}
	if len(back.Options) > 0 {
		d.Choices = []Choice{back}
	}
}

// Steered tells what a rollout would be, and of the placement as it is: an undo concerns all members that hold it, all else
// those that are on the way.
func (d *Deed) Steered(answer *api.RolloutResponse, ask *api.RolloutRequest, p *api.Placement) error {
	if answer.Action == api.ActionUnchanged {
		return nothing(phrase.Enumerate(answer.Notes), Command("describe", d.Object))
	}
	ask.Basis = answer.Basis
	d.Plan = append([]string{d.Object + " would be " + answer.Action}, answer.Notes...)
	d.Seen = []string{
		fmt.Sprintf("it would be %s", answer.Action), fmt.Sprintf("newest revision then %d, of %d", answer.Revision, answer.Of),
		fmt.Sprintf("%s, generation %d, made %s", p.UID, p.Generation, plan.Moment(p.CreationTimestamp)),
	}
	d.stands(p, answer.Action)
	if answer.Of > 0 {
		ask.Revision = answer.Of
		d.say("revision", strconv.FormatInt(answer.Of, 10))
		d.typing("--to-revision", d.Said("revision"))
	}
	if d.Reason != "" {
		d.typing("--reason", d.reason())
	}
	return nil
}

// stands tells whom it concerns.
func (d *Deed) stands(p *api.Placement, becomes string) {
	status := p.Status
	if status == nil {
		status = &api.PlacementStatus{}
	}
	row := overview.PlacementOf(p, status)
	d.Members = max(0, row.Counts.Picked-row.Counts.Current)
	if becomes == api.ActionUndone || becomes == api.ActionFollowing {
		d.Members = row.Counts.Picked
	}
	d.Plan = append(d.Plan, fmt.Sprintf("%s picked, %d have the newest revision, %d are available", phrase.Count(row.Counts.Picked, "member"), row.Counts.Current, row.Counts.Available))
	if row.Waits != "" {
		d.Held = append(d.Held, row.Waits)
	}
	for i := range row.HeldUpBy {
		d.Held = append(d.Held, row.HeldUpBy[i].ClusterName+": "+row.HeldUpBy[i].Message)
	}
}

// RolloutOutcome is what came of steering a rollout.
func (d *Deed) RolloutOutcome(answer *api.RolloutResponse) Outcome {
	return Outcome{Said: fmt.Sprintf("%s: %s.", d.Object, answer.Action), Notes: answer.Notes}
}

// Withdrawal asks for what is held of a member or a placement.
func (d *Deed) Withdrawal() *api.ApproveWithdrawalRequest {
	if d.Kind == api.AuditMember {
		return &api.ApproveWithdrawalRequest{DryRun: true, Member: d.Key}
	}
	return &api.ApproveWithdrawalRequest{DryRun: true, Placement: PlacementRef(d.Key)}
}

// Losses tells what goes with a withdrawal, and from how many members.
func (d *Deed) Losses(answer *api.ApproveWithdrawalResponse) error {
	if len(answer.Losses) == 0 {
		return &api.Failure{Code: api.CodeConflict, Message: "nothing of " + answer.Of + " is held", Next: "flotilla status"}
	}
	from := map[string]bool{}
	for i := range answer.Losses {
		l := &answer.Losses[i]
		does := "loses"
		if l.Whole {
			does = "gives up"
		}
		if from[l.Member] = true; i < toldLines {
			d.Plan = append(d.Plan, fmt.Sprintf("%s %s %s of %s: %s", l.Member, does, phrase.Count(l.Objects, "object"), l.Placement, phrase.First(l.Names, l.Objects)))
		}
	}
	d.Plan, d.Members = append(d.Plan, phrase.Count(answer.Objects, "object")+" in all"), len(from)
	d.Seen = []string{fmt.Sprintf("%d objects of %d members (%s)", answer.Objects, d.Members, answer.Digest)}
	return nil
}

// WithdrawalOutcome is what came of an approval.
func (*Deed) WithdrawalOutcome(answer *api.ApproveWithdrawalResponse) Outcome {
	return Outcome{Said: "The withdrawal of " + answer.Of + " goes on.", Next: "flotilla status"}
}
