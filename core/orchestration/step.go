package orchestration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// StepInput is everything that one pass over a member depends on. Nothing of it is changed.
type StepInput struct {
	Member string
	// Record is what was committed last, the zero value when there is none.
	Record api.DisruptionRecord
	// State is the member as its agent tells of it, its pools, the rules and the time. What the record
	// and Waiting say of nodes (Busy, Backoffs, DriftedSince, Nominated) Step adds itself. FleetAllowed is
	// what is left with the nodes counted that the record holds, not those of Waiting.
	State simulate.State
	// Results are the newest that the agent said, by the id of the disruption.
	Results map[string]*api.DisruptionResult
	Lock    MemberLock
	// Left says that the member is none any more.
	Left bool
	// Declined says that its agent was told to leave nodes alone, and carries nothing out.
	Declined bool
	// Hold says why nothing is to be begun but what persons ask for, "" for no reason.
	Hold string
	// Resting says that the last pass decided a moment ago, or that nothing has changed since one that
	// found nothing: what runs is brought forward, and nothing new is chosen.
	Resting bool
	// Waiting are the commands that earlier passes chose and that are to be checked again, as the last
	// StepResult returned them.
	Waiting []Waiting
	// Deletions are what persons ask for in this pass (N17).
	Deletions []Deletion
	// Wait is for how long a chosen command waits before it is checked again, ValidationWait when 0.
	Wait time.Duration
}

// MemberLock is who may change the member (N11).
type MemberLock struct {
	// Ours says that node disruption holds the lock; Owner names another one that does.
	Ours  bool
	Owner string
	// Awaited names what waits for the lock, so that it is given back as soon as may be.
	Awaited string
}

// Waiting is a command that was chosen and is checked again a while later, before it begins.
type Waiting struct {
	Command disruption.Command
	Since   time.Time
}

// Deletion is a node that a person asked to be deleted, past budgets and without a replacement.
type Deletion struct {
	Node    string
	Request string // id of the request; the same one asks once
}

// DeletionAnswer is the id of the disruption that deletes a node, or why none does.
type DeletionAnswer struct{ Disruption, Refused string }

// StepResult is what a pass leads to.
type StepResult struct {
	// Record is to be written when Changed, in one batch with the lock; Remove says that it is to be
	// deleted instead.
	Record  api.DisruptionRecord
	Changed bool
	Remove  bool
	// TakeLock and ReleaseLock say what is to happen to the lock of the member.
	TakeLock, ReleaseLock bool
	// Waiting are the commands to pass in again, once the record is written.
	Waiting []Waiting
	// Began are the ids of what begins, Ended of what ended; Dropped of what the record no longer holds,
	// so that results of it can go.
	Began, Ended, Dropped []string
	// Deletions answers those that were asked for, by node.
	Deletions map[string]DeletionAnswer
	// Events are to be told with the write of the record.
	Events []api.Audit
	// Decision is what Decide answered, nil when it was not asked.
	Decision *disruption.Decision
	// Failed counts the waiting commands that were given up.
	Failed int
	// Again asks for another pass at once; Recheck is when time alone can change something, zero for
	// never.
	Again   bool
	Recheck time.Time
}

// pass is one step on its way.
type pass struct {
	in  *StepInput
	now time.Time
	out StepResult
	// state is that of in with what the record says.
	state simulate.State
}

// Step brings the disruptions of one member a pass further: it takes in what the agent says, deletes
// what persons ask for, begins commands whose wait is over and that still hold, and asks Decide for the
// next ones. It reads no clock and changes nothing; equal inputs give equal results. The record it
// returns is to be written only over the one it was given: whoever loses that race drops the result.
//
// At no time do the disruptions of its record exceed the budgets, but for those that are forceful.
func Step(in StepInput) StepResult {
	p := &pass{in: &in, now: in.State.Now, state: in.State}
	if in.Left {
		return p.clear()
	}
	p.out.Record = cloneRecord(&in.Record, in.Member)
	p.state.FleetAllowed = maps.Clone(in.State.FleetAllowed)
	p.advance()
	p.thin()
	p.prepare()
	p.tellTaken()
	p.delete()
	p.out.Record.Stale = p.held()
	if p.out.Record.Stale == "" {
		p.beginWaiting()
		p.decide()
	} else {
		p.keepWaiting()
	}
	return p.finish()
}

// StateOf is the state of a step as its decision reads it, for those who ask what would be decided: what
// the record and the waiting commands take is busy, and Stale says why nothing is decided.
func StateOf(in StepInput) *simulate.State {
	p := &pass{in: &in, now: in.State.Now, state: in.State}
	p.out.Record = cloneRecord(&in.Record, in.Member)
	p.prepare()
	s := p.view(in.Waiting)
	s.Stale = p.held()
	return s
}

// clear gives up what is known of a member that is none any more.
func (p *pass) clear() StepResult {
	for i := range p.in.Record.Disruptions {
		d := &p.in.Record.Disruptions[i]
		if p.out.Dropped = append(p.out.Dropped, d.ID); d.Running() {
			p.tell(d, "Warning", "DisruptionFailed", "the member left the fleet; given up: "+describe(d))
		}
	}
	p.out.Remove = p.in.Record.Kind != ""
	p.out.Changed, p.out.ReleaseLock = p.out.Remove, p.in.Lock.Ours
	return p.out
}

func cloneRecord(r *api.DisruptionRecord, member string) api.DisruptionRecord {
	out := *r
	out.Header, out.Member = api.NewHeader(api.KindDisruptionRecord), member
	out.Disruptions = slices.Clone(r.Disruptions)
	out.Backoffs = slices.Clone(r.Backoffs)
	return out
}

// prepare adds what the record says of nodes to the state that is decided upon.
func (p *pass) prepare() {
	r := &p.out.Record
	p.state.Busy, p.state.Undoing = p.busy(), p.undoing()
	p.state.Backoffs = map[string]time.Time{}
	for _, b := range r.Backoffs {
		p.state.Backoffs[b.Node] = b.Until.Time
	}
	p.state.Nominated = p.nominated()
	p.state.Promised, p.state.Unsettled = p.promised()
	p.state.DriftedSince = map[string]time.Time{}
	for name, at := range r.DriftedSince {
		p.state.DriftedSince[name] = at.Time
	}
}

// busy are the nodes that nothing new may take: those of running disruptions, of aborts that the agent
// has not carried out, and those that are gone but not yet from the view.
func (p *pass) busy() map[string]bool {
	out := Busy(p.out.Record.Disruptions)
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		if unconfirmed(d) || d.Phase == api.PhaseDone {
			for _, n := range d.Nodes {
				if p.present(d, n) {
					out[n] = true
				}
			}
		}
	}
	return out
}

// undoing are the nodes of aborts that the agent has not carried out, with their disruptions.
func (p *pass) undoing() map[string]string {
	running, out := Busy(p.out.Record.Disruptions), map[string]string{}
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		for _, n := range d.Nodes {
			if unconfirmed(d) && !running[n] && p.present(d, n) {
				out[n] = d.ID
			}
		}
	}
	return out
}

// present reports whether the view still shows a node of a disruption, that very one.
func (p *pass) present(d *api.Disruption, name string) bool {
	n, found := p.in.State.Cluster.Node(name)
	return found && (n.UID == "" || d.UIDs[name] == "" || n.UID == d.UIDs[name])
}

// nominated are the nodes that pods of disruptions go to: while they run, and for a while after.
func (p *pass) nominated() map[string]time.Time {
	out := map[string]time.Time{}
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		until := p.now.Add(simulate.NominationHold)
		switch {
		case d.Phase == api.PhaseAborted:
			continue
		case !d.Running():
			until = d.Ended.Add(simulate.NominationHold)
		}
		if !until.After(p.now) {
			continue
		}
		for _, name := range destinations(d) {
			if until.After(out[name]) {
				out[name] = until
			}
		}
	}
	return out
}

// promised are the nodes that pods of disruptions were expected on, and whether some may be on their way
// still.
func (p *pass) promised() (map[string]string, bool) {
	out, unsettled := map[string]string{}, false
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		if d.Phase == api.PhaseAborted || len(d.Moves) == 0 || disruption.Foreseen(d.Method, d.Forceful) || p.arrived(d) {
			continue
		}
		unsettled = true
		for _, m := range d.Moves {
			if slices.Contains(d.Nodes, m.From) && !m.Lost {
				out[m.Pod] = target(d, m.To)
			}
		}
	}
	return out, unsettled
}

// target is the node that a move leads to; of one to a replacement, the node that was launched.
func target(d *api.Disruption, to string) string {
	for i := range d.Replacements {
		if to == fmt.Sprintf("new-%d", i) {
			return d.Replacements[i].Node
		}
	}
	return to
}

// destinations are the nodes that pods of a disruption go to, its replacements included.
func destinations(d *api.Disruption) []string {
	var out []string
	for i := range d.Moves {
		if !d.Moves[i].Lost && !disruption.Foreseen(d.Method, d.Forceful) {
			out = append(out, d.Moves[i].To)
		}
	}
	for i := range d.Replacements {
		if n := d.Replacements[i].Node; n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// held says why nothing is decided, "" when it is.
func (p *pass) held() string {
	switch lock := &p.in.Lock; {
	case p.state.Stale != "":
		return p.state.Stale
	case p.in.Hold != "":
		return p.in.Hold
	case lock.Owner != "" && !lock.Ours:
		return lock.Owner + " holds the member"
	case lock.Awaited != "":
		return lock.Awaited + " waits for the member"
	default:
		return cmp.Or(p.launching(), p.crowded())
	}
}

// launching names the replacement that must be seen before anything is decided.
func (p *pass) launching() string {
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		if !d.Running() || !p.now.Before(d.Deadline.Time) {
			continue
		}
		for j := range d.Replacements {
			if r := &d.Replacements[j]; !p.inView(r.Node) {
				return "replacement " + r.Name + " is on its way"
			}
		}
	}
	return ""
}

func (p *pass) inView(node string) bool {
	_, found := p.in.State.Cluster.Node(node)
	return node != "" && found
}

// wake rechecks at a moment that is to come.
func (p *pass) wake(at time.Time) {
	if at.After(p.now) && (p.out.Recheck.IsZero() || at.Before(p.out.Recheck)) {
		p.out.Recheck = at
	}
}

// stampOf is a moment as records hold it.
func stampOf(at time.Time) metav1.Time { return metav1.NewTime(at.Truncate(time.Second)) }

func (p *pass) wait() time.Duration { return cmp.Or(p.in.Wait, disruption.ValidationWait) }
