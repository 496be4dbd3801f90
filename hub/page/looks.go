package page

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/plan"
	"flotilla/core/whatif"
)

// looks are how the door is asked what would come of the verb of an action, and to carry it out.
var looks = map[string]func(*act) error{
	api.VerbRunApprove: (*act).run, api.VerbRunStart: (*act).run, api.VerbRunStop: (*act).run, api.VerbRunSkip: (*act).run, api.VerbRunRerun: (*act).run,
	api.VerbRolloutPause: (*act).rollout, api.VerbRolloutResume: (*act).rollout, api.VerbRolloutUndo: (*act).rollout,
	api.VerbApproveWithdrawal: (*act).withdrawal, api.VerbPatch: (*act).taint, api.VerbAdmit: (*act).admission,
	api.VerbMemberRevoke: (*act).revocation, api.VerbFreeze: (*act).freeze, api.VerbUnfreeze: (*act).freeze,
}

// run plans what becomes of a run with an operation, and without it.
func (d *act) run() error {
	run := &api.UpdateRun{}
	if err := d.ask(api.VerbGet, deed.RunRef(d.Key), run); err != nil {
		return err
	}
	if run.Status == nil {
		run.Status = &api.UpdateRunStatus{}
	}
	run.Status.Run, run.Name = d.Key, d.Key
	ask, err := d.Run(run)
	if err != nil {
		return err
	}
	now := metav1.NewTime(d.now())
	var plans [2]plan.Answer // without the operation and with it
	for i, operation := range []api.RunOperation{{}, {Verb: d.Verb, Ask: *ask}} {
		if err := d.ask(api.VerbPlan, api.PlanRequest{Runs: []string{d.Key}, Now: &now, Operation: &operation}, &plans[i]); err != nil {
			return err
		}
	}
	if err := d.Foreseen(run, ask, &plans[0], &plans[1], now.Time); err != nil {
		return err
	}
	d.carry = func() (deed.Outcome, error) {
		ask.Request = d.caller.Request
		var answer api.RunResponse
		err := d.ask(d.Verb, ask, &answer)
		return d.RunOutcome(&answer), err
	}
	return nil
}

// rollout has a rollout steered without doing it.
func (d *act) rollout() error {
	ask, p := d.Rollout(), &api.Placement{}
	if d.Verb == api.VerbRolloutUndo {
		var past api.HistoryResponse
		if err := d.ask(api.VerbRolloutHistory, api.HistoryRequest{Object: ask.Object}, &past); err != nil {
			return err
		}
		d.Revisions(past.Revisions, ask)
	}
	var answer api.RolloutResponse
	if err := d.ask(d.Verb, ask, &answer); err != nil {
		return err
	}
	if err := d.ask(api.VerbGet, api.GetRequest{Kind: ask.Object.Kind, Namespace: ask.Object.Namespace, Name: ask.Object.Name}, p); err != nil {
		return err
	}
	if err := d.Steered(&answer, ask, p); err != nil {
		return err
	}
	d.carry = func() (deed.Outcome, error) {
		ask.Request, ask.DryRun = d.caller.Request, false
		err := d.ask(d.Verb, ask, &answer)
		return d.RolloutOutcome(&answer), err
	}
	return nil
}

// withdrawal lists what is held.
func (d *act) withdrawal() error {
	ask := d.Withdrawal()
	var answer api.ApproveWithdrawalResponse
	if err := d.ask(d.Verb, ask, &answer); err != nil {
		return err
	}
	if err := d.Losses(&answer); err != nil {
		return err
	}
	d.carry = func() (deed.Outcome, error) {
		ask.Request, ask.DryRun, ask.Digest = d.caller.Request, false, answer.Digest
		err := d.ask(d.Verb, ask, &answer)
		return d.WithdrawalOutcome(&answer), err
	}
	return nil
}

// member reads the member as it is now.
func (d *act) member() (*api.MemberCluster, error) {
	m := &api.MemberCluster{}
	if err := d.ask(api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: d.Key}, m); err != nil {
		return nil, err
	}
	if m.Status == nil {
		m.Status = &api.MemberClusterStatus{}
	}
	d.Member(m)
	return m, nil
}

// whatIf says where placements would come to.
func (d *act) whatIf(ask api.WhatIfRequest) error {
	var answer whatif.Report
	if err := d.ask(api.VerbWhatIf, ask, &answer); err != nil {
		return err
	}
	d.Moves(&answer)
	return nil
}

// taint patches the taints of a member without doing it, as cordon, uncordon and drain do.
func (d *act) taint() error {
	m, err := d.member()
	if err != nil {
		return err
	}
	ask, err := d.Taint(m)
	if err != nil {
		return err
	}
	if d.Name == "drain" {
		if err := d.whatIf(api.WhatIfRequest{Without: []string{d.Key}}); err != nil {
			return err
		}
	}
	var answer api.ApplyResult
	if err := d.ask(d.Verb, ask, &answer); err != nil {
		return err
	}
	d.Tainted(&answer)
	d.carry = func() (deed.Outcome, error) {
		ask.Request, ask.DryRun = d.caller.Request, false
		err := d.ask(d.Verb, ask, &answer)
		return d.TaintOutcome(&answer), err
	}
	return nil
}

// admission tells what comes to a member that joins.
func (d *act) admission() error {
	m, err := d.member()
	if err != nil {
		return err
	}
	document, err := d.Admission(m)
	if err != nil {
		return err
	}
	if err := d.whatIf(api.WhatIfRequest{Documents: []json.RawMessage{document}}); err != nil {
		d.Held = append(d.Held, "what would come to it cannot be told: "+err.Error())
	}
	d.carry = func() (deed.Outcome, error) {
		var answer api.ApplyResult
		err := d.ask(d.Verb, api.AdmitRequest{Request: d.caller.Request, Name: d.Key, Expect: deed.JoiningOf(m.Status)}, &answer)
		return d.AdmissionOutcome(&answer), err
	}
	return nil
}

// revocation tells what becomes of a member whose agent is refused.
func (d *act) revocation() error {
	m, err := d.member()
	if err != nil {
		return err
	}
	key := d.Revocation(m)
	d.carry = func() (deed.Outcome, error) {
		var answer api.MemberRevokeResponse
		err := d.ask(d.Verb, api.MemberRevokeRequest{Name: d.Key, Key: &key}, &answer)
		return d.RevocationOutcome(&answer), err
	}
	return nil
}

// freeze has a scope frozen, or let go on, without doing it.
func (d *act) freeze() error {
	ask := d.Freeze(d.fleet.Fleet)
	var answer api.FreezeResponse
	if err := d.ask(d.Verb, ask, &answer); err != nil {
		return err
	}
	if err := d.Frozen(&answer, d.fleet.Fleet); err != nil {
		return err
	}
	d.carry = func() (deed.Outcome, error) {
		ask.Request, ask.DryRun, ask.ResourceVersion = d.caller.Request, false, answer.ResourceVersion
		err := d.ask(d.Verb, ask, &answer)
		return d.FreezeOutcome(&answer), err
	}
	return nil
}
