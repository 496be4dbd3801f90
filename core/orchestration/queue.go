package orchestration

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
)

// Times of the queue (N8).
const (
	timeoutPerNode = 80 * time.Millisecond
	leastTimeout   = 10 * time.Minute
	mostTimeout    = time.Hour
	firstBackoff   = time.Minute
	longestBackoff = time.Hour
)

// Timeout is how long the replacements of a command may take when so many nodes are being disrupted.
func Timeout(nodes int) time.Duration {
	return min(mostTimeout, max(leastTimeout, timeoutPerNode*time.Duration(nodes)))
}

// Backoff is how long a node is left alone after so many failures in a row: a minute, doubling to an
// hour (N8).
func Backoff(failures int) time.Duration {
	wait := firstBackoff
	for i := 1; i < failures && wait < longestBackoff; i++ {
		wait *= 2
	}
	return min(wait, longestBackoff)
}

// Begin makes the record of a command. Id must be unique on the member; busy is how many nodes are
// being disrupted, those of the command included.
func Begin(c *disruption.Command, id string, now time.Time, busy int) api.Disruption {
	out := api.Disruption{
		ID: id, Reason: c.Reason, Method: c.Method, Phase: api.PhaseDraining, Nodes: slices.Clone(c.Nodes),
		Moves: slices.Clone(c.Moves), Killed: slices.Clone(c.Killed), Savings: told(c.Savings), Decided: metav1.NewTime(now), Forceful: c.Forceful, Drift: c.Drift,
	}
	for i := range c.Replacements {
		r := &c.Replacements[i]
		out.Replacements = append(out.Replacements, api.NodeReplacement{
			Name: fmt.Sprintf("%s-%d", id, i), Pool: r.Pool, InstanceTypes: r.InstanceTypes, Requirements: r.Requirements, Types: r.Types, Requests: r.Requests,
		})
		out.Phase = api.PhaseLaunching
	}
	if out.Phase == api.PhaseLaunching {
		out.Deadline = metav1.NewTime(now.Add(Timeout(busy)))
	}
	return out
}

// told is an amount as records hold it, without the part that is known of an unknown one.
func told(h api.Hourly) api.Hourly {
	if h.Unknown {
		h.Amount = 0
	}
	return h
}

// Advance returns what becomes of a running disruption given the agent's newest result, nil when there
// is none, and whether that is a change. A replacement that was ready once is not asked again. Past the
// deadline no drain begins: the member may be another than the one that was decided on.
func Advance(d api.Disruption, result *api.DisruptionResult, now time.Time) (api.Disruption, bool) {
	before := d
	d.Replacements = slices.Clone(d.Replacements)
	if result != nil && result.ID == d.ID {
		learn(&d, result)
	}
	switch d.Phase {
	case api.PhaseLaunching:
		d = launching(d, now)
	case api.PhaseDraining:
		if result != nil && result.ID == d.ID && containsAll(result.Gone, d.Nodes) {
			d.Phase, d.Message = api.PhaseDone, ""
		}
	}
	return d, !sameDisruption(&before, &d)
}

// learn takes in what the agent says of the replacements.
func learn(d *api.Disruption, result *api.DisruptionResult) {
	for i := range d.Replacements {
		r := &d.Replacements[i]
		j := slices.IndexFunc(result.Replacements, func(o api.NodeReplacement) bool { return o.Name == r.Name })
		if j < 0 {
			continue
		}
		said := &result.Replacements[j]
		r.Node, r.Failed = cmp.Or(said.Node, r.Node), cmp.Or(said.Failed, r.Failed)
		r.Initialized = r.Initialized || said.Initialized
	}
}

func containsAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(n string) bool { return !slices.Contains(list, n) })
}

func launching(d api.Disruption, now time.Time) api.Disruption {
	var lacking []string
	for i := range d.Replacements {
		r := &d.Replacements[i]
		switch {
		case r.Failed != "":
			abandon(&d, fmt.Sprintf("replacement %s failed: %s", r.Name, r.Failed))
			return d
		case r.Initialized:
		case r.Node == "":
			lacking = append(lacking, r.Name+" has no node yet")
		default:
			lacking = append(lacking, "node "+r.Node+" is not ready yet")
		}
	}
	waiting := len(lacking)
	switch {
	case !now.Before(d.Deadline.Time) && waiting == 0:
		abandon(&d, "that its replacements are ready was heard too late to go by what was decided then")
	case !now.Before(d.Deadline.Time):
		abandon(&d, fmt.Sprintf("%d of %d replacements were not ready in time: %s", waiting, len(d.Replacements), phrase.Names(lacking, disruption.ShownNames)))
	case waiting == 0:
		d.Phase, d.Message, d.Killed = api.PhaseDraining, "", disruption.KilledFrom(d.Killed, now)
	default:
		d.Message = fmt.Sprintf("waiting for %d of %d replacements: %s; given up at %s",
			waiting, len(d.Replacements), phrase.Names(lacking, disruption.ShownNames), d.Deadline.UTC().Format(time.RFC3339))
	}
	return d
}

// abandon gives a disruption up. One that has not begun to drain has killed nobody, and says so.
func abandon(d *api.Disruption, why string) {
	if d.Phase == api.PhaseLaunching {
		d.Killed = nil
	}
	d.Phase, d.Message = api.PhaseAborted, why
}

func sameDisruption(a, b *api.Disruption) bool {
	return a.Phase == b.Phase && a.Message == b.Message && slices.EqualFunc(a.Replacements, b.Replacements, func(x, y api.NodeReplacement) bool {
		return x.Node == y.Node && x.Initialized == y.Initialized && x.Failed == y.Failed
	})
}

// unconfirmed reports whether a disruption was given up and still holds its nodes: the agent has not said
// that its taints are off.
func unconfirmed(d *api.Disruption) bool { return d.Phase == api.PhaseAborted && d.Ended.IsZero() }

// Busy are the nodes that running disruptions hold.
func Busy(ds []api.Disruption) map[string]bool {
	out := map[string]bool{}
	for i := range ds {
		if ds[i].Running() {
			for _, n := range ds[i].Nodes {
				out[n] = true
			}
		}
	}
	return out
}

// Fail returns the back-offs once a disruption was aborted, sorted by node; those that are over for
// longer than they lasted are forgotten.
func Fail(old []api.NodeBackoff, d *api.Disruption, now time.Time) []api.NodeBackoff {
	var out []api.NodeBackoff
	failures := map[string]int{}
	for _, b := range old {
		if slices.Contains(d.Nodes, b.Node) {
			failures[b.Node] = b.Failures
		} else if now.Sub(b.Until.Time) < Backoff(b.Failures) {
			out = append(out, b)
		}
	}
	for _, n := range d.Nodes {
		count := failures[n] + 1
		out = append(out, api.NodeBackoff{Node: n, Failures: count, Until: metav1.NewTime(now.Add(Backoff(count))), Why: d.Message})
	}
	slices.SortFunc(out, func(a, b api.NodeBackoff) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// Fits reports whether a command may begin beside the disruptions that run: none of its nodes may be
// in one already.
func Fits(c *disruption.Command, running []api.Disruption) bool {
	busy := Busy(running)
	return !slices.ContainsFunc(c.Nodes, func(n string) bool { return busy[n] })
}
