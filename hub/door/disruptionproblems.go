package door

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/orchestration"
	"flotilla/subjects"
)

// Reasons of problems of nodes.
const (
	reasonFailedDisruption = "DisruptionFailed"
	reasonUndoing          = "Undoing"
	reasonDrainStuck       = "DrainStuck"
	reasonUndecided        = "NothingDecided"
)

const (
	// drainPatience is how long a drain may make no progress before it is a problem.
	drainPatience = 5 * time.Minute
	// undecidedPatience is for how long it is no problem that nothing is decided about the nodes of a member.
	undecidedPatience = time.Minute
)

// nodeCounts counts the NodePools, their nodes on all members, and by phase the disruptions that have not
// ended.
func (d *Door) nodeCounts(fleet *api.FleetStatus) {
	for _, entry := range d.records.specs[api.KindNodePool].All() {
		fleet.NodePools++
		record := d.records.poolRecord(&entry.Value)
		for i := 0; record != nil && i < len(record.Members); i++ {
			fleet.Nodes += record.Members[i].Nodes
		}
	}
	for _, entry := range d.records.disruptions.All() {
		for i := range entry.Value.Disruptions {
			if one := &entry.Value.Disruptions[i]; one.Ended.IsZero() {
				if fleet.Disruptions == nil {
					fleet.Disruptions = map[string]int{}
				}
				fleet.Disruptions[one.Phase]++
			}
		}
	}
}

// disruptionProblems are what people should look at in the disruption of nodes: disruptions that were given
// up, drains that make no progress, and members about whose nodes nothing is decided.
func (d *Door) disruptionProblems(now time.Time) (problems []api.Problem) {
	undecided := map[string][]bus.Entry[api.DisruptionRecord]{} // by reason
	pooled := d.pooled()
	for _, entry := range d.records.disruptions.All() {
		record := &entry.Value
		problems = append(problems, givenUp(record, now)...)
		problems = append(problems, d.lasting(record, now)...)
		if pooled[entry.Name] && d.undecided(record, now) {
			undecided[record.Stale] = append(undecided[record.Stale], entry)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(undecided)) {
		problems = append(problems, undecidedProblem(reason, undecided[reason]))
	}
	return problems
}

// pooled are the members that have nodes of a NodePool, or may have.
func (d *Door) pooled() map[string]bool {
	out := map[string]bool{}
	for _, entry := range d.records.pools.All() {
		for i := range entry.Value.Members {
			if m := &entry.Value.Members[i]; m.Nodes > 0 || m.Unknown != "" {
				out[m.Member] = true
			}
		}
	}
	return out
}

// undecided reports that for a while nothing has been decided about the nodes of a member, for a reason that is
// no problem of its own already: the member is not Ready, something else works on it, or a disruption runs.
func (d *Door) undecided(record *api.DisruptionRecord, now time.Time) bool {
	if record.Stale == "" || now.Sub(record.StaleSince.Time) < undecidedPatience {
		return false
	}
	if seen, _, known := d.records.seen.Get(record.Member); known && seen.State != api.MemberReady {
		return false
	}
	if lock, _, held := d.records.locks.Get(record.Member); held && lock.Holder != subjects.CommandDisruption+"/"+record.Member {
		return false
	}
	return !slices.ContainsFunc(record.Disruptions, func(one api.Disruption) bool {
		return one.Phase == api.PhaseLaunching || one.Phase == api.PhaseDraining
	})
}

// undecidedProblem is about members that share a reason, sorted by name.
func undecidedProblem(reason string, entries []bus.Entry[api.DisruptionRecord]) api.Problem {
	problem := api.Problem{Object: memberObject(entries[0].Name), Reason: reasonUndecided, Next: "flotilla plan nodes -m " + entries[0].Name}
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Name
		if since := entries[i].Value.StaleSince; problem.Since.IsZero() || since.Before(&problem.Since) {
			problem.Since = since
		}
	}
	problem.Message = "nothing is decided about its nodes: " + reason
	if len(names) > 1 {
		problem.Object = "fleet"
		problem.Message = fmt.Sprintf("nothing is decided about the nodes of %s: %s", enumerate(names), reason)
	}
	return problem
}

func memberObject(name string) string { return subjects.KindMember + "/" + name }

// givenUp is about the nodes of a member that are left alone because their last disruption failed.
func givenUp(record *api.DisruptionRecord, now time.Time) []api.Problem {
	var nodes []string
	var last *api.NodeBackoff
	var since time.Time
	for i := range record.Backoffs {
		b := &record.Backoffs[i]
		if !now.Before(b.Until.Time) {
			continue
		}
		nodes = append(nodes, b.Node)
		if at := b.Until.Add(-orchestration.Backoff(b.Failures)); last == nil || at.After(since) {
			last, since = b, at
		}
	}
	if last == nil {
		return nil
	}
	until := last.Until.UTC().Format(time.RFC3339)
	problem := api.Problem{
		Object: subjects.KindNode + "/" + subjects.NodeName(record.Member, last.Node), Reason: reasonFailedDisruption, Since: metav1.NewTime(since),
		Message: fmt.Sprintf("its disruption failed %s, and it is left alone until %s: %s", times(last.Failures), until, last.Why),
		Next:    fmt.Sprintf("flotilla events node/%s/%s", record.Member, last.Node),
	}
	if len(nodes) > 1 {
		problem.Object, problem.Next = memberObject(record.Member), "flotilla get disruptions -m "+record.Member
		problem.Message = fmt.Sprintf("%s are left alone because their disruptions failed, %s: the last of them, %s, until %s: %s",
			count(len(nodes), "node"), enumerate(nodes), last.Node, until, last.Why)
	}
	return []api.Problem{problem}
}

func times(failures int) string {
	if failures == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", failures)
}

// lasting are disruptions that should have ended by now: drains without progress, and aborts that the agent has
// not carried out when the nodes may be disrupted again. A launch ends by its deadline.
func (d *Door) lasting(record *api.DisruptionRecord, now time.Time) (problems []api.Problem) {
	for i := range record.Disruptions {
		one := &record.Disruptions[i]
		if !one.Ended.IsZero() || len(one.Nodes) == 0 {
			continue
		}
		since := d.progressed(record.Member, one)
		problem := api.Problem{
			Object: subjects.KindNode + "/" + subjects.NodeName(record.Member, one.Nodes[0]), Since: since,
			Next: fmt.Sprintf("flotilla describe disruption/%s -m %s", one.ID, record.Member),
		}
		about := one.ID
		if more := len(one.Nodes) - 1; more > 0 {
			about += " of it and " + count(more, "more node")
		}
		switch {
		case one.Phase == api.PhaseDraining && now.Sub(since.Time) >= drainPatience:
			problem.Reason = reasonDrainStuck
			problem.Message = fmt.Sprintf("disruption %s drains without progress: %s", about, one.Message)
		case one.Phase == api.PhaseAborted && !leftAlone(record, one.Nodes, now):
			problem.Reason = reasonUndoing
			problem.Message = fmt.Sprintf("disruption %s was given up, and the agent has not taken off its taint yet: %s", about, one.Message)
		default:
			continue
		}
		problems = append(problems, problem)
	}
	return problems
}

func leftAlone(record *api.DisruptionRecord, nodes []string, now time.Time) bool {
	return slices.ContainsFunc(record.Backoffs, func(b api.NodeBackoff) bool {
		return now.Before(b.Until.Time) && slices.Contains(nodes, b.Node)
	})
}

// progressed is when the agent last told anything new of a disruption.
func (d *Door) progressed(member string, one *api.Disruption) metav1.Time {
	result, _ := d.drains.Get(subjects.ResultKey(member, subjects.CommandDisruption, one.ID))
	if result != nil && one.Decided.Before(&result.Changed) {
		return result.Changed
	}
	return one.Decided
}
