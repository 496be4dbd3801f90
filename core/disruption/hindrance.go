package disruption

import (
	"fmt"
	"time"

	"flotilla/core/cluster"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// hindered returns why the pods of a node keep it from being drained, "" when they do not, and when that
// may be over.
func hindered(x *simulate.Index, n *simulate.ExistingNode) (Refusal, time.Time) {
	for i := range n.Pods {
		p := &n.Pods[i]
		if held, until := p.Protected(x.State.Now); held {
			message := "pod " + p.Key + " has the annotation karpenter.sh/do-not-disrupt" + phrase.Until(until)
			return Refusal{Code: CodePodProtected, Message: message, About: p.Key}, until
		}
	}
	if refusal := tangled(n); refusal.Code != "" {
		return refusal, time.Time{}
	}
	if len(x.State.Cluster.Budgets) == 0 {
		return Refusal{}, time.Time{}
	}
	return withheld(x, n), time.Time{}
}

// tangled returns the pod of a node that needs another place and demands more of it than is followed.
func tangled(n *simulate.ExistingNode) Refusal {
	for i := range n.Pods {
		if p := &n.Pods[i]; p.Tangled && p.Movable {
			return Refusal{Code: CodeTangled, About: p.Key, Message: fmt.Sprintf("pod %s has more than %d terms of affinity and spread, or names more than %d values in them: where it could go is not followed",
				p.Key, cluster.MaxTerms, cluster.MaxTermValues)}
		}
	}
	return Refusal{}
}

// withheld returns the PodDisruptionBudget that lets no pod of a node go, or the pod that two of them cover.
func withheld(x *simulate.Index, n *simulate.ExistingNode) Refusal {
	for i := range n.Pods {
		p := &n.Pods[i]
		if !p.Evictable(x.State.Now) {
			continue
		}
		covering := x.Covering(p)
		if len(covering) > 1 {
			return Refusal{Code: CodePDBOverlap, About: p.Key, Message: fmt.Sprintf("pod %s is covered by more than one PodDisruptionBudget (%s, %s), which the eviction API refuses", p.Key, covering[0].Name, covering[1].Name)}
		}
		for _, b := range covering {
			if b.Allowed <= 0 && b.Holds(p) {
				return Refusal{Code: CodePDB, About: b.Name, Message: fmt.Sprintf("PodDisruptionBudget %s allows no eviction, and covers pod %s", b.Name, p.Key)}
			}
		}
	}
	return Refusal{}
}

// exceeded returns the PodDisruptionBudget that lets fewer pods of a node go than are there (N9).
func exceeded(x *simulate.Index, n *simulate.ExistingNode) Refusal {
	if x.State.Rules.Off.ExceededBudgets || len(x.State.Cluster.Budgets) == 0 {
		return Refusal{}
	}
	counts := map[*cluster.PodBudget]int{}
	for i := range n.Pods {
		p := &n.Pods[i]
		if !p.Evictable(x.State.Now) {
			continue
		}
		for _, b := range x.Covering(p) {
			if b.Holds(p) {
				counts[b]++
			}
		}
	}
	x.Spend(oneBudget * len(x.State.Cluster.Budgets))
	for i := range x.State.Cluster.Budgets {
		if b := &x.State.Cluster.Budgets[i]; counts[b] > b.Allowed {
			return Refusal{Code: CodePDBExceeded, About: b.Name, Message: fmt.Sprintf("PodDisruptionBudget %s allows %s, and %d of its pods are here", b.Name, phrase.Count(b.Allowed, "eviction"), counts[b])}
		}
	}
	return Refusal{}
}
