package orchestration

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// view is the state that a choice is made on: with the nodes of waiting commands as good as gone.
func (p *pass) view(waiting []Waiting) *simulate.State {
	s := p.state.Ahead()
	for i := range waiting {
		waiting[i].Command.Begun(s)
	}
	return s
}

// beginWaiting checks the commands whose wait is over, the first chosen first, each as if those that
// began before it had. What finds too many pods on their way waits on.
func (p *pass) beginWaiting() {
	for _, w := range p.in.Waiting {
		due := w.Since.Add(p.wait())
		if p.now.Before(due) {
			p.wake(due)
			p.out.Waiting = append(p.out.Waiting, w)
			continue
		}
		if p.crowded() != "" {
			p.out.Waiting = append(p.out.Waiting, w)
			continue
		}
		command, why, ok := disruption.Validate(w.Command, p.view(p.out.Waiting))
		if !ok {
			p.reject(&w.Command, why)
			continue
		}
		p.begin(&command, "")
	}
}

// keepWaiting gives the waiting commands up, unless all that is waited for is what runs.
func (p *pass) keepWaiting() {
	why := p.out.Record.Stale
	for _, w := range p.in.Waiting {
		if why == p.launching() || why == p.crowded() {
			p.out.Waiting = append(p.out.Waiting, w)
		} else {
			p.reject(&w.Command, why)
		}
	}
}

func (p *pass) reject(c *disruption.Command, why string) {
	p.out.Failed++
	p.tellNodes(c.Nodes, "Normal", "ConsolidationRejected", why+"; given up: "+c.Headline())
}

// decide asks for the next commands, unless a command with replacements waits or runs: their pods would
// be counted on what is not there.
func (p *pass) decide() {
	if p.in.Resting || p.launching() != "" || p.crowded() != "" || slices.ContainsFunc(p.out.Waiting, func(w Waiting) bool { return len(w.Command.Replacements) > 0 }) {
		return
	}
	p.driftTimes()
	d := disruption.Decide(p.view(p.out.Waiting))
	p.out.Decision = &d
	p.wake(d.Recheck)
	for i := range d.Commands {
		c := &d.Commands[i]
		if disruption.NeedsValidation(c) && p.wait() > 0 {
			p.out.Waiting = append(p.out.Waiting, Waiting{Command: *c, Since: p.now})
			p.wake(p.now.Add(p.wait()))
			p.tellNodes(c.Nodes, "Normal", "ConsolidationCandidate", fmt.Sprintf("checked again in %s: %s", p.wait(), c.Headline()))
		} else {
			p.begin(c, "")
		}
	}
	p.out.Again = len(d.Commands) > 0
}

// begin puts a command into the record and returns its id, "" when one of its nodes is in another
// disruption.
func (p *pass) begin(c *disruption.Command, request string) string {
	if !Fits(c, p.out.Record.Disruptions) {
		p.reject(c, "a node of it is in another disruption")
		return ""
	}
	c.Begun(&p.state)
	d := Begin(c, p.id(c), p.now.Truncate(time.Second), len(p.state.Busy))
	d.Moves = slices.DeleteFunc(d.Moves, func(m api.PodMove) bool { return m.From != "" && !slices.Contains(c.Nodes, m.From) })
	d.UIDs, d.Request = p.uids(c.Nodes), request
	p.bound(&d)
	if d.Phase == api.PhaseDraining {
		d.Message = drainMessage(&d, nil)
	} else {
		d, _ = Advance(d, nil, p.now)
	}
	p.out.Record.Disruptions = append(p.out.Record.Disruptions, d)
	p.out.Began = append(p.out.Began, d.ID)
	reason := "DisruptionTerminating"
	if d.Phase == api.PhaseLaunching {
		reason = "DisruptionLaunching"
	}
	p.tell(&d, "Normal", reason, describe(&d))
	return d.ID
}

func (p *pass) uids(nodes []string) map[string]string {
	var out map[string]string
	for _, name := range nodes {
		if n, found := p.in.State.Cluster.Node(name); found && n.UID != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = n.UID
		}
	}
	return out
}

// id names a disruption after its method, the generation of the record that it begins in, and a digest of
// what it is about and when: no other of the member has it, whatever became of earlier records.
func (p *pass) id(c *disruption.Command) string {
	generation := p.in.Record.Generation + 1
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %q", p.in.Member, generation, p.now.UnixNano(), c.Nodes))
	return fmt.Sprintf("%s-%d-%s", c.Method, generation, hex.EncodeToString(sum[:4]))
}
