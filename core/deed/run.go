package deed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/plan"
	"flotilla/core/stage"
)

// skippable are the words of what may be skipped, as the command line has them.
var skippable = map[string]string{"member": api.TargetMember, "group": api.TargetGroup, "stage": api.TargetStage, "wait": api.TargetAfterStageWait}

// RunRef asks for the run of a key, of either kind.
func RunRef(key string) api.GetRequest {
	if namespace, name, inside := strings.Cut(key, "/"); inside {
		return api.GetRequest{Kind: api.KindStagedUpdateRun, Namespace: namespace, Name: name}
	}
	return api.GetRequest{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: key}
}

// Run is what is asked of the run, and offers what else may be.
func (d *Deed) Run(run *api.UpdateRun) (*api.RunRequest, error) {
	ask := &api.RunRequest{Run: d.Key, Gate: d.Said("gate"), Members: d.words("members"), IncludeSkipped: d.Said("skipped") != "", IgnoreMaintenanceWindows: d.Said("windows") != ""}
	var flags []string
	switch d.Verb {
	case api.VerbRunApprove:
		gates := gatesOf(run)
		if len(gates) == 0 {
			return nil, &api.Failure{Code: api.CodeConflict, Message: fmt.Sprintf("no gate of run %s waits", d.Key), Next: Command("run status", d.Object)}
		}
		d.Choices = []Choice{{"gate", "Gate", gates}}
		ask.Gate = cmp.Or(ask.Gate, gates[0].Value)
		d.say("gate", ask.Gate)
		flags = []string{"--gate", ask.Gate}
	case api.VerbRunSkip:
		d.Choices = []Choice{{Name: "target", Label: "What to skip (member/NAME, group/NAME, stage/NAME or wait/STAGE)"}}
		for _, word := range d.words("target") {
			kind, name, _ := strings.Cut(word, "/")
			if skippable[kind] == "" || name == "" {
				return nil, invalid("found %s, expected member/NAME, group/NAME, stage/NAME or wait/STAGE", phrase.Quoted(word))
			}
			ask.Targets, flags = append(ask.Targets, api.SkipTarget{Type: skippable[kind], Name: name}), append(flags, word)
		}
	case api.VerbRunStart:
		d.Choices = []Choice{{"skipped", "Take up those that users skipped too", []Option{{"yes", ""}}}}
		if ask.IncludeSkipped {
			flags = append(flags, "--include-skipped")
		}
	case api.VerbRunRerun:
		d.Choices = []Choice{{Name: "members", Label: "Members: names, or Failed, SkippedByUser, SkippedBySystem, All"}}
		if len(ask.Members) > 0 {
			flags = append(flags, "--members", strings.Join(ask.Members, ","))
		}
	}
	d.typing(append(flags, d.windows(ask)...)...)
	return ask, nil
}

// windows adds whether windows are ignored, which needs a reason.
func (d *Deed) windows(ask *api.RunRequest) (flags []string) {
	if d.Verb != api.VerbRunStart && d.Verb != api.VerbRunRerun {
		return nil
	}
	d.Choices = append(d.Choices, Choice{"windows", "Ignore maintenance windows", []Option{{"yes", ""}}})
	if !ask.IgnoreMaintenanceWindows {
		return nil
	}
	d.Reason, ask.Reason = MustReason, d.reason()
	return []string{"--ignore-maintenance-windows", "--reason", ask.Reason}
}

// gatesOf are those that wait.
func gatesOf(run *api.UpdateRun) (gates []Option) {
	for _, g := range stage.Gates(run.Status) {
		if g.Status.State == api.StatePending {
			gates = append(gates, Option{stage.GatePath(&g), strings.TrimSpace(stage.GatePath(&g) + " " + g.Spec.DisplayName)})
		}
	}
	return gates
}

// Foreseen compares the plans of the run without the operation and with it, both made at now.
func (d *Deed) Foreseen(run *api.UpdateRun, ask *api.RunRequest, without, with *plan.Answer, now time.Time) error {
	for _, answer := range []*plan.Answer{without, with} {
		if len(answer.Runs) != 1 || len(answer.RunDetails) != 1 {
			return &api.Failure{Code: api.CodeNotFound, Message: "there is no run " + phrase.Quoted(d.Key), Next: "flotilla get runs"}
		}
	}
	details := &with.RunDetails[0]
	if details.Refusal != nil {
		return details.Refusal.Failure()
	}
	d.Effect = EffectOf(&without.Runs[0], &with.Runs[0], details.Messages, now)
	d.Members = d.Effect.Members
	d.Plan = []string{fmt.Sprintf("run %s: %s", d.Key, details.Upgrade)}
	if end := with.Runs[0].ExpectedEnd; end != nil {
		d.Plan = append(d.Plan, "it is expected to end "+plan.Moment(*end))
	}
	d.Held = append(slices.Clone(details.WaitsFor), details.Warnings...)
	d.seeRun(run, ask)
	return nil
}

// seeRun notes the facts that an operation on a run goes by. While a run is under way its members begin and end, which changes
// none of them, and a stop goes by no version of it.
func (d *Deed) seeRun(run *api.UpdateRun, ask *api.RunRequest) {
	state := run.Status.Status.State
	if state.Active() {
		state = "under way"
	}
	d.Seen = []string{
		fmt.Sprintf("run %s, generation %d, made %s", run.UID, run.Generation, plan.Moment(run.CreationTimestamp)),
		fmt.Sprintf("it is %s", cmp.Or(state, api.StateNotStarted)),
	}
	for _, g := range stage.Gates(run.Status) {
		if ask.Gate == stage.GatePath(&g) || ask.Gate == g.Name {
			d.Seen = append(d.Seen, fmt.Sprintf("gate %s (%s) is %s", ask.Gate, g.Name, g.Status.State))
		}
	}
	if d.Verb != api.VerbRunStop {
		d.Seen = append(d.Seen, "it changes something for "+phrase.Count(d.Members, "member"))
		ask.ResourceVersion = run.ResourceVersion
	}
}

// RunOutcome is what came of an operation on a run.
func (d *Deed) RunOutcome(answer *api.RunResponse) Outcome {
	said := fmt.Sprintf("Run %s is %s.", d.Key, answer.State)
	if answer.Unchanged {
		said = fmt.Sprintf("Run %s was so already: it is %s.", d.Key, answer.State)
	}
	return Outcome{Said: said, Notes: answer.Warnings, Next: answer.Next}
}
