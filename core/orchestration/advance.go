package orchestration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// advance takes in what the agent says of what was told to it.
func (p *pass) advance() {
	r := &p.out.Record
	for i := range r.Disruptions {
		d := &r.Disruptions[i]
		if !d.Ended.IsZero() {
			continue
		}
		result := p.in.Results[d.ID]
		if result != nil && result.ID != d.ID {
			result = nil
		}
		ran, before := d.Running(), d.Phase
		next, _ := Advance(*d, result, p.now)
		*d = next
		if d.Running() {
			p.observe(d, result)
		}
		switch {
		case ran && d.Phase == api.PhaseDone:
			p.end(d)
			p.tell(d, "Normal", "DisruptionDone", "gone: "+describe(d))
		case ran && d.Phase == api.PhaseAborted:
			p.abort(d, result)
		case before != d.Phase:
			p.tell(d, "Normal", "DisruptionTerminating", "the replacements are ready; "+describe(d))
		case d.Phase == api.PhaseAborted && confirmed(result):
			p.end(d)
		}
		if p.in.Declined && d.Ended.IsZero() {
			p.giveUp(d, result)
		}
	}
}

// giveUp ends a disruption that nobody carries out any more: the agent took off its taints when it was told
// to leave nodes alone.
func (p *pass) giveUp(d *api.Disruption, result *api.DisruptionResult) {
	if d.Running() {
		abandon(d, "its agent was told to leave the nodes of the member alone")
		p.abort(d, result)
	}
	if d.Ended.IsZero() {
		p.end(d)
	}
}

func (p *pass) end(d *api.Disruption) {
	d.Ended = stampOf(p.now)
	p.out.Ended = append(p.out.Ended, d.ID)
}

func confirmed(result *api.DisruptionResult) bool {
	return result != nil && result.Phase == api.PhaseAborted
}

// observe ends a running disruption whose nodes are gone, by whose hand ever, or that the agent gave up,
// and says what is waited for.
func (p *pass) observe(d *api.Disruption, result *api.DisruptionResult) {
	switch left := p.left(d, result); {
	case len(left) == 0 && d.Phase == api.PhaseDraining:
		d.Phase, d.Message = api.PhaseDone, ""
	case len(left) == 0:
		abandon(d, "its nodes are gone before their replacements are ready")
	case confirmed(result):
		why := "the agent gave it up"
		if result.Message != "" {
			why += ": " + result.Message
		}
		abandon(d, why)
	case d.Phase == api.PhaseDraining:
		d.Message = drainMessage(d, result)
	}
}

// left are the nodes that a disruption has not seen gone. What a view that is too old lacks is not gone.
func (p *pass) left(d *api.Disruption, result *api.DisruptionResult) []string {
	var out []string
	for _, name := range d.Nodes {
		gone := result != nil && slices.Contains(result.Gone, name)
		if !gone && (p.in.State.Stale != "" || p.present(d, name)) {
			out = append(out, name)
		}
	}
	return out
}

// drainMessage says what a drain waits for, as the agent tells it.
func drainMessage(d *api.Disruption, result *api.DisruptionResult) string {
	if result == nil || result.Phase != api.PhaseDraining {
		return "waiting for the agent to begin"
	}
	if gone := len(result.Gone); gone > 0 {
		return strings.TrimSuffix(fmt.Sprintf("%d of %d nodes are gone; %s", gone, len(d.Nodes), result.Message), "; ")
	}
	return result.Message
}

// abort backs the nodes of a disruption off that did not come to pass (N8).
func (p *pass) abort(d *api.Disruption, result *api.DisruptionResult) {
	failed := *d
	failed.Nodes = p.left(d, result)
	p.out.Record.Backoffs = Fail(p.out.Record.Backoffs, &failed, p.now.Truncate(time.Second))
	p.tell(d, "Warning", "DisruptionFailed", d.Message+"; given up: "+describe(d))
	if confirmed(result) {
		p.end(d)
	}
}

// tell records one event for each node of a disruption.
func (p *pass) tell(d *api.Disruption, kind, reason, message string) {
	p.tellNodes(d.Nodes, kind, reason, message)
}

func (p *pass) tellNodes(nodes []string, kind, reason, message string) {
	for _, n := range nodes {
		p.out.Events = append(p.out.Events, api.Audit{
			Object: api.AuditObject(api.AuditNode, p.in.Member, n), Type: kind, Reason: reason, Message: message, Member: p.in.Member,
		})
	}
}

func describe(d *api.Disruption) string {
	c := disruption.Command{Method: d.Method, Reason: d.Reason, Nodes: d.Nodes, Savings: d.Savings, Forceful: d.Forceful, Drift: d.Drift}
	for i := range d.Replacements {
		c.Replacements = append(c.Replacements, disruption.Replacement{Pool: d.Replacements[i].Pool, InstanceTypes: d.Replacements[i].InstanceTypes})
	}
	return c.Headline()
}

// finish completes the record: what is forgotten, what the agent needs beside, and the lock.
func (p *pass) finish() StepResult {
	r := &p.out.Record
	p.forget()
	p.slim()
	r.Pools = p.templates()
	if p.in.State.Stale == "" && !p.in.Declined {
		r.Stamps = stamps(&p.in.State)
	}
	p.lock()
	for i := range r.Disruptions {
		if d := &r.Disruptions[i]; d.Running() {
			p.wake(d.Deadline.Time)
		} else if d.Phase == api.PhaseDone {
			p.wake(d.Ended.Add(simulate.NominationHold))
		}
	}
	r.Stale = cmp.Or(r.Stale, p.launching(), p.crowded())
	switch {
	case r.Stale == "":
		r.StaleSince = metav1.Time{}
	case r.StaleSince.IsZero():
		r.StaleSince = stampOf(p.now)
	}
	if p.in.Record.Kind == "" && p.in.State.Cluster.Len() == 0 && len(r.Disruptions) == 0 {
		return p.out
	}
	if p.out.Changed = !sameRecord(&p.in.Record, r); p.out.Changed {
		r.Generation = p.in.Record.Generation + 1
	}
	return p.out
}

// forget drops the oldest disruptions that have ended, and back-offs that are long over or of nodes that
// are gone.
func (p *pass) forget() {
	r := &p.out.Record
	ended, nodes := 0, 0
	for i := len(r.Disruptions) - 1; i >= 0; i-- {
		d := &r.Disruptions[i]
		if d.Ended.IsZero() {
			continue
		}
		seen := d.Phase == api.PhaseDone && slices.ContainsFunc(d.Nodes, func(n string) bool { return p.present(d, n) })
		ended++
		nodes += len(d.Nodes)
		if (ended > keptEnded || ended > 1 && nodes > keptNodes) && !seen {
			p.out.Dropped = append(p.out.Dropped, d.ID)
			r.Disruptions = slices.Delete(r.Disruptions, i, i+1)
		}
	}
	r.Backoffs = slices.DeleteFunc(r.Backoffs, func(b api.NodeBackoff) bool {
		_, found := p.in.State.Cluster.Node(b.Node)
		return p.now.Sub(b.Until.Time) >= Backoff(b.Failures) || !found && p.in.State.Stale == ""
	})
}

// templates are what the replacements of running disruptions are made from; that of a pool which is gone
// stays as it was.
func (p *pass) templates() []api.PoolTemplate {
	wanted := map[string]api.PoolTemplate{}
	for i := range p.out.Record.Disruptions {
		d := &p.out.Record.Disruptions[i]
		for j := range d.Replacements {
			if d.Phase == api.PhaseLaunching {
				wanted[d.Replacements[j].Pool] = api.PoolTemplate{}
			}
		}
	}
	for _, t := range p.in.Record.Pools {
		if _, yes := wanted[t.Name]; yes {
			wanted[t.Name] = t
		}
	}
	for _, pool := range p.in.State.Pools {
		if t, yes := wanted[pool.Name]; yes && t.Name == "" {
			wanted[pool.Name] = pool.Template()
		}
	}
	var out []api.PoolTemplate
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name].Name != "" {
			out = append(out, wanted[name])
		}
	}
	return out
}

// lock takes the lock with the first disruption that is not ended and gives it back with the last.
func (p *pass) lock() {
	open := slices.ContainsFunc(p.out.Record.Disruptions, func(d api.Disruption) bool { return d.Ended.IsZero() })
	p.out.TakeLock = open && !p.in.Lock.Ours && p.in.Lock.Owner == ""
	p.out.ReleaseLock = !open && p.in.Lock.Ours
}

// sameRecord compares what would be written.
func sameRecord(a, b *api.DisruptionRecord) bool {
	x, y := *a, *b
	x.Header, x.Member, x.Generation, y.Header, y.Member, y.Generation = api.Header{}, "", 0, api.Header{}, "", 0
	return equality.Semantic.DeepEqual(x, y)
}

// driftTimes keeps since when nodes are drifted.
func (p *pass) driftTimes() {
	before := p.out.Record.DriftedSince
	p.out.Record.DriftedSince = disruption.DriftTimes(&p.state, before)
	if len(p.out.Record.DriftedSince) == 0 {
		p.out.Record.DriftedSince = nil
	}
	p.state.DriftedSince = map[string]time.Time{}
	for name, at := range p.out.Record.DriftedSince {
		p.state.DriftedSince[name] = at.Time
	}
}
