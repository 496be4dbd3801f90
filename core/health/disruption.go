package health

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/orchestration"
	"flotilla/core/phrase"
)

const (
	// drainPatience is how long a drain may make no progress before it is a problem.
	drainPatience = 5 * time.Minute
	// undecidedPatience is for how long it is no problem that nothing is decided about the nodes of a member.
	undecidedPatience = time.Minute
)

// Disruptions is what is known of a member whose nodes may be disrupted.
type Disruptions struct {
	Record *api.DisruptionRecord
	// Pooled says that the member has nodes of a NodePool, or may have.
	Pooled bool
	// State is that of the member, empty where it was never heard of.
	State api.MemberState
	// Elsewhere says that something else than the disruption of nodes works on the member.
	Elsewhere bool
	// Told is when the agent last told anything of a disruption, zero when it never did.
	Told func(id string) metav1.Time
}

// OfDisruptions returns the problems of members: disruptions that were given up, drains that make no progress, and that
// nothing is decided about nodes, of all members that share a reason in one.
func OfDisruptions(members []Disruptions, now time.Time) (problems []api.Problem) {
	undecided := map[string][]*api.DisruptionRecord{} // by reason
	for i := range members {
		m := &members[i]
		problems = append(problems, givenUp(m.Record, now)...)
		problems = append(problems, m.lasting(now)...)
		if m.undecided(now) {
			undecided[m.Record.Stale] = append(undecided[m.Record.Stale], m.Record)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(undecided)) {
		problems = append(problems, undecidedProblem(reason, undecided[reason]))
	}
	return problems
}

// undecided reports that for a while nothing has been decided about the nodes of a member, for a reason that is
// no problem of its own already: the member is not Ready, something else works on it, or a disruption runs.
func (m *Disruptions) undecided(now time.Time) bool {
	if !m.Pooled || m.Record.Stale == "" || now.Sub(m.Record.StaleSince.Time) < undecidedPatience {
		return false
	}
	if m.State != "" && m.State != api.MemberReady || m.Elsewhere {
		return false
	}
	return !slices.ContainsFunc(m.Record.Disruptions, func(one api.Disruption) bool {
		return one.Phase == api.PhaseLaunching || one.Phase == api.PhaseDraining
	})
}

// undecidedProblem is about members that share a reason, sorted by name.
func undecidedProblem(reason string, records []*api.DisruptionRecord) api.Problem {
	first := records[0].Member
	problem := api.Problem{Object: api.AuditObject(api.AuditMember, first), Reason: ReasonUndecided, Next: "flotilla plan nodes -m " + first}
	names := make([]string, len(records))
	for i, record := range records {
		names[i] = record.Member
		problem.Since = earliest(problem.Since, record.StaleSince)
	}
	problem.Message = "nothing is decided about its nodes: " + reason
	if len(names) > 1 {
		problem.Object = "fleet"
		problem.Message = fmt.Sprintf("nothing is decided about the nodes of %s: %s", phrase.Enumerate(names), reason)
	}
	return problem
}

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
		Object: api.AuditObject(api.AuditNode, record.Member, last.Node), Reason: ReasonFailedDisruption, Since: metav1.NewTime(since),
		Message: fmt.Sprintf("its disruption failed %s, and it is left alone until %s: %s", times(last.Failures), until, last.Why),
		Next:    fmt.Sprintf("flotilla events node/%s/%s", record.Member, last.Node),
	}
	if len(nodes) > 1 {
		problem.Object, problem.Next = api.AuditObject(api.AuditMember, record.Member), "flotilla get disruptions -m "+record.Member
		problem.Message = fmt.Sprintf("%s are left alone because their disruptions failed, %s: the last of them, %s, until %s: %s",
			phrase.Count(len(nodes), "node"), phrase.Enumerate(nodes), last.Node, until, last.Why)
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
func (m *Disruptions) lasting(now time.Time) (problems []api.Problem) {
	for i := range m.Record.Disruptions {
		one := &m.Record.Disruptions[i]
		if !one.Ended.IsZero() || len(one.Nodes) == 0 {
			continue
		}
		since := one.Decided
		if told := m.Told(one.ID); since.Before(&told) {
			since = told
		}
		problem := api.Problem{
			Object: api.AuditObject(api.AuditNode, m.Record.Member, one.Nodes[0]), Since: since,
			Next: fmt.Sprintf("flotilla describe disruption/%s -m %s", one.ID, m.Record.Member),
		}
		about := one.ID
		if more := len(one.Nodes) - 1; more > 0 {
			about += " of it and " + phrase.Count(more, "more node")
		}
		switch {
		case one.Phase == api.PhaseDraining && now.Sub(since.Time) >= drainPatience:
			problem.Reason = ReasonDrainStuck
			problem.Message = fmt.Sprintf("disruption %s drains without progress: %s", about, one.Message)
		case one.Phase == api.PhaseAborted && !leftAlone(m.Record, one.Nodes, now):
			problem.Reason = ReasonUndoing
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
