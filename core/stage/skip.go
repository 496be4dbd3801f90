package stage

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// skipTargets skips members, groups, stages and waits, all of them or none.
func (r *Run) skipTargets(targets []api.SkipTarget) *api.Refusal {
	switch r.Status.Status.State {
	case api.StateStopping, api.StateCompleted, api.StateSkipped:
		return r.wrongState("nothing in it can be skipped", Show(&r.Status))
	}
	if len(targets) == 0 {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: "nothing to skip was named, expected targets such as member/oslo or stage/prod", Next: Show(&r.Status)}
	}
	var actions []func()
	var refused []*api.Refusal
	for _, target := range targets {
		action, refusal := r.findTarget(target)
		if refusal != nil {
			refused = append(refused, refusal)
		}
		actions = append(actions, action)
	}
	if len(refused) > 0 {
		return r.refuseTargets(refused)
	}
	for _, action := range actions {
		action()
	}
	return nil
}

// refuseTargets refuses a skip for all that is wrong with its targets, under the code of the first.
func (r *Run) refuseTargets(refused []*api.Refusal) *api.Refusal {
	messages := make([]string, len(refused))
	for i := range refused {
		messages[i] = refused[i].Message
	}
	return &api.Refusal{Code: refused[0].Code, Message: strings.Join(messages, "; "), Next: Show(&r.Status)}
}

// findTarget returns what skipping a target does, or why it cannot be skipped.
func (r *Run) findTarget(target api.SkipTarget) (func(), *api.Refusal) {
	for i := range r.Status.Stages {
		s := &r.Status.Stages[i]
		if s.Name == target.Name {
			switch {
			case target.Type == api.TargetStage:
				return func() { r.skipStage(i) }, alreadyTerminal(target, s.Status.State)
			case target.Type == api.TargetAfterStageWait && s.Wait != nil:
				return func() { r.skipWait(i) }, alreadyTerminal(target, s.Wait.Status.State)
			}
		}
		for j := range s.Groups {
			g := &s.Groups[j]
			if target.Type == api.TargetGroup && g.Name == target.Name {
				return func() { r.skipGroup(i, j, api.ReasonSkippedByGroup) }, alreadyTerminal(target, g.Status.State)
			}
			for k := range g.Members {
				if m := &g.Members[k]; target.Type == api.TargetMember && m.Name == target.Name {
					return func() { r.skipMember(&r.Own(i).Groups[j].Members[k], api.ReasonSkippedByUser) }, r.memberTerminal(target, m.Status.State)
				}
			}
		}
	}
	known, ok := r.targets()[target.Type]
	if !ok {
		return nil, &api.Refusal{
			Code:    api.CodeInvalidArgument,
			Message: fmt.Sprintf("found target type %q, expected Member, Group, Stage or AfterStageWait", target.Type),
		}
	}
	text := fmt.Sprintf("run %s has no %s %q", r.Status.Run, target.Type, target.Name)
	if len(known) > 0 {
		text += ", it has " + phrase.Enumerate(known)
	}
	return nil, &api.Refusal{Code: api.CodeSkipTargetNotFound, Message: text}
}

// targets lists by type what of the run can be named to skip.
func (r *Run) targets() map[string][]string {
	out := map[string][]string{api.TargetMember: nil, api.TargetGroup: nil, api.TargetStage: nil, api.TargetAfterStageWait: nil}
	for i := range r.Status.Stages {
		s := &r.Status.Stages[i]
		out[api.TargetStage] = append(out[api.TargetStage], s.Name)
		if s.Wait != nil {
			out[api.TargetAfterStageWait] = append(out[api.TargetAfterStageWait], s.Name)
		}
		for j := range s.Groups {
			out[api.TargetGroup] = append(out[api.TargetGroup], s.Groups[j].Name)
		}
		EachMember(s, func(m *api.MemberUpdateStatus) { out[api.TargetMember] = append(out[api.TargetMember], m.Name) })
	}
	return out
}

func alreadyTerminal(target api.SkipTarget, state api.UpdateState) *api.Refusal {
	if !state.Done() {
		return nil
	}
	return &api.Refusal{Code: api.CodeTargetAlreadyTerminal, Message: fmt.Sprintf("%s %s is %s", target.Type, target.Name, state)}
}

func (r *Run) memberTerminal(target api.SkipTarget, state api.UpdateState) *api.Refusal {
	doing := "is being upgraded"
	if r.Status.Content != nil {
		doing = "has begun"
	}
	if state == api.StateRunning {
		return &api.Refusal{
			Code:    api.CodeTargetInProgress,
			Message: fmt.Sprintf("member %s %s; wait for it to end, or skip its group or stage, which lets it finish", target.Name, doing),
		}
	}
	return alreadyTerminal(target, state)
}

// skipMember skips a member that neither runs nor is done.
func (r *Run) skipMember(m *api.MemberUpdateStatus, reason string) {
	if m.Status.State == api.StateRunning || m.Status.State.Done() {
		return
	}
	if m.Status.State == api.StateFailed {
		r.Remember(m, api.StateFailed, m.Reason, m.Message)
	}
	skipByUser(m, reason, r.Stamp())
}

func skipByUser(m *api.MemberUpdateStatus, reason string, at metav1.Time) {
	m.Status = api.UpdateStatus{State: api.StateSkipped, CompletedTime: at}
	m.Reason, m.SkippedBy = reason, api.SkippedByUser
	m.Message = skipWords[reason]
	m.NextEligibleTime, m.PendingSince = metav1.Time{}, metav1.Time{}
}

var skipWords = map[string]string{
	api.ReasonSkippedByUser:  "a user skipped the member",
	api.ReasonSkippedByGroup: "a user skipped its group",
	api.ReasonSkippedByStage: "a user skipped its stage",
}

// skipGroup skips the members of a group and its gates; what runs may finish.
func (r *Run) skipGroup(i, j int, reason string) {
	g := &r.Own(i).Groups[j]
	g.SkippedByUser = true
	for k := range g.Members {
		r.skipMember(&g.Members[k], reason)
	}
	r.skipGates(g.BeforeGates)
	r.skipGates(g.AfterGates)
}

func (r *Run) skipStage(i int) {
	s := r.Own(i)
	s.SkippedByUser = true
	for j := range s.Groups {
		r.skipGroup(i, j, api.ReasonSkippedByStage)
	}
	r.skipGates(s.BeforeGates)
	r.skipGates(s.AfterGates)
	if s.Wait != nil && !s.Wait.Status.State.Done() {
		r.Enter(&s.Wait.Status, api.StateSkipped)
	}
}

// skipWait skips a wait that runs, or notes it for when it would begin (A07).
func (r *Run) skipWait(i int) {
	w := r.Own(i).Wait
	w.SkipRequested = true
	if w.Status.State == api.StateRunning {
		r.Enter(&w.Status, api.StateSkipped)
	}
}
