package disruption

import (
	"fmt"
	"time"
)

// budgetCover finds the PodDisruptionBudgets that cover a pod.
type budgetCover struct{ bySpace map[string][]*podBudget }

func coverBudgets(budgets []podBudget) budgetCover {
	c := budgetCover{map[string][]*podBudget{}}
	for i := range budgets {
		c.bySpace[budgets[i].space] = append(c.bySpace[budgets[i].space], &budgets[i])
	}
	return c
}

func (c *budgetCover) of(p *pod) []*podBudget {
	var out []*podBudget
	for _, b := range c.bySpace[p.state.Namespace] {
		if b.covers(p) {
			out = append(out, b)
		}
	}
	return out
}

// canMove reports whether a pod that would need a place could be evicted at all: it is not protected,
// and no budget keeps it for ever (section 7).
func (x *Index) canMove(p *pod) bool {
	if held, _ := p.protected(x.state.Now); held {
		return false
	}
	covering := x.cover.of(p)
	return len(covering) == 0 || len(covering) == 1 && !covering[0].full
}

// hindered returns why the pods of a node keep it from being drained, "" when they do not (section 5,
// item 10), and when that may be over.
func (x *Index) hindered(n *inode) (Refusal, time.Time) {
	for i := range n.pods {
		p := &n.pods[i]
		if held, until := p.protected(x.state.Now); held {
			message := fmt.Sprintf("pod %s has the annotation karpenter.sh/do-not-disrupt", p.key)
			if !until.IsZero() {
				message += " until " + until.UTC().Format(time.RFC3339)
			}
			return Refusal{Code: CodePodProtected, Message: message, About: p.key}, until
		}
	}
	if len(x.state.Cluster.budgets) == 0 {
		return Refusal{}, time.Time{}
	}
	return x.withheld(n), time.Time{}
}

// withheld returns the PodDisruptionBudget that lets no pod of a node go, or the pod that two of them cover.
func (x *Index) withheld(n *inode) Refusal {
	for i := range n.pods {
		p := &n.pods[i]
		if !p.evictable(x.state.Now) {
			continue
		}
		covering := x.cover.of(p)
		if len(covering) > 1 {
			return Refusal{Code: CodePDBOverlap, About: p.key, Message: fmt.Sprintf("pod %s is covered by more than one PodDisruptionBudget (%s, %s), which the eviction API refuses", p.key, covering[0].name, covering[1].name)}
		}
		for _, b := range covering {
			if b.allowed <= 0 && b.holds(p) {
				return Refusal{Code: CodePDB, About: b.name, Message: fmt.Sprintf("PodDisruptionBudget %s allows no eviction, and covers pod %s", b.name, p.key)}
			}
		}
	}
	return Refusal{}
}

// exceeded returns the PodDisruptionBudget that lets fewer pods of a node go than are there (N9).
func (x *Index) exceeded(n *inode) Refusal {
	if x.state.Rules.Off.ExceededBudgets || len(x.state.Cluster.budgets) == 0 {
		return Refusal{}
	}
	counts := map[*podBudget]int{}
	for i := range n.pods {
		p := &n.pods[i]
		if !p.evictable(x.state.Now) {
			continue
		}
		for _, b := range x.cover.of(p) {
			if b.holds(p) {
				counts[b]++
			}
		}
	}
	for i := range x.state.Cluster.budgets {
		if b := &x.state.Cluster.budgets[i]; counts[b] > b.allowed {
			return Refusal{Code: CodePDBExceeded, About: b.name, Message: fmt.Sprintf("PodDisruptionBudget %s allows %s, and %d of its pods are here", b.name, counted(b.allowed, "eviction"), counts[b])}
		}
	}
	return Refusal{}
}
