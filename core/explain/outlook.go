package explain

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// Outlook is what stands before the deletion of a node that a person asks for (N17).
type Outlook struct {
	// Pods is how many have to go first.
	Pods int
	// Notes say what holds the drain up, and where the pods go or do not.
	Notes []string
}

// DrainOutlook says what the drain of a node would meet now; the member must have the node.
func DrainOutlook(s *simulate.State, node string) Outlook {
	x := simulate.NewIndex(s)
	n := x.ByName[node]
	var out Outlook
	covered := map[*cluster.PodBudget]int{}
	var budgets []*cluster.PodBudget
	for i := range n.Pods {
		p := &n.Pods[i]
		if !p.Active || p.Stays() {
			continue
		}
		out.Pods++
		if held, until := p.Protected(s.Now); held {
			out.Notes = append(out.Notes, "pod "+p.Key+" is not evicted while it is annotated karpenter.sh/do-not-disrupt"+phrase.Until(until))
			continue
		}
		for _, b := range x.Covering(p) {
			if !b.Holds(p) {
				continue
			}
			if covered[b]++; covered[b] == 1 {
				budgets = append(budgets, b)
			}
		}
	}
	for _, b := range budgets {
		allows := "no eviction"
		if b.Allowed > 0 {
			allows = phrase.Count(b.Allowed, "eviction")
		}
		if covered[b] > b.Allowed {
			out.Notes = append(out.Notes, fmt.Sprintf("PodDisruptionBudget %s allows %s now, and covers %s here", b.Name, allows, phrase.Count(covered[b], "pod")))
		}
	}
	if len(out.Notes) > 0 {
		out.Notes = append(out.Notes, deadlineNote(s, n))
	}
	out.Notes = append(out.Notes, disruption.Uncontrolled(n)...)
	if failed := x.Simulate([]*simulate.ExistingNode{n}, false).Failed; len(failed) > 0 {
		out.Notes = append(out.Notes, "not all pods would find a node: "+simulate.Failures(slices.Clone(failed)))
	}
	return out
}

// deadlineNote says how long the drain waits for what holds it up.
func deadlineNote(s *simulate.State, n *simulate.ExistingNode) string {
	at := disruption.DrainDeadline(n.State, s.Now)
	if at.IsZero() {
		return "the drain waits for them without limit: the node has no terminationGracePeriod"
	}
	return "at " + at.UTC().Format(time.RFC3339) + " they are deleted nevertheless (terminationGracePeriod " + n.State.TerminationGracePeriod + ")"
}
