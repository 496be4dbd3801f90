package disruption

import (
	"fmt"
	"slices"
	"time"
)

// Outlook is what stands before the deletion of a node that a person asks for (N17).
type Outlook struct {
	// Pods is how many have to go first.
	Pods int
	// Notes say what holds the drain up, and where the pods go or do not.
	Notes []string
}

// DrainOutlook says what the drain of a node would meet now; the member must have the node.
func DrainOutlook(s *State, node string) Outlook {
	x := NewIndex(s)
	n := x.byName[node]
	var out Outlook
	covered := map[*podBudget]int{}
	var budgets []*podBudget
	for i := range n.pods {
		p := &n.pods[i]
		if !p.active || p.stays() {
			continue
		}
		out.Pods++
		if held, until := p.protected(s.Now); held {
			out.Notes = append(out.Notes, "pod "+p.key+" is not evicted while it is annotated karpenter.sh/do-not-disrupt"+untilText(until))
			continue
		}
		for _, b := range x.cover.of(p) {
			if !b.holds(p) {
				continue
			}
			if covered[b]++; covered[b] == 1 {
				budgets = append(budgets, b)
			}
		}
	}
	for _, b := range budgets {
		allows := "no eviction"
		if b.allowed > 0 {
			allows = counted(b.allowed, "eviction")
		}
		if covered[b] > b.allowed {
			out.Notes = append(out.Notes, fmt.Sprintf("PodDisruptionBudget %s allows %s now, and covers %s here", b.name, allows, counted(covered[b], "pod")))
		}
	}
	if len(out.Notes) > 0 {
		out.Notes = append(out.Notes, deadlineNote(s, n))
	}
	out.Notes = append(out.Notes, lostPods(uncontrolled(n), "")...)
	if failed := x.simulate([]*inode{n}, false).failed; len(failed) > 0 {
		out.Notes = append(out.Notes, "not all pods would find a node: "+failures(slices.Clone(failed)))
	}
	return out
}

func untilText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + at.UTC().Format(time.RFC3339)
}

// deadlineNote says how long the drain waits for what holds it up.
func deadlineNote(s *State, n *inode) string {
	at := DrainDeadline(n.state, s.Now)
	if at.IsZero() {
		return "the drain waits for them without limit: the node has no terminationGracePeriod"
	}
	return "at " + at.UTC().Format(time.RFC3339) + " they are deleted nevertheless (terminationGracePeriod " + n.state.TerminationGracePeriod + ")"
}
