package simulate

import "flotilla/core/cluster"

// BudgetCover finds the PodDisruptionBudgets that cover a pod.
type BudgetCover struct {
	bySpace map[string][]*cluster.PodBudget
	weight  map[string]int // of the selectors of a namespace
}

// CoverBudgets lays budgets out by namespace.
func CoverBudgets(budgets []cluster.PodBudget) BudgetCover {
	c := BudgetCover{map[string][]*cluster.PodBudget{}, map[string]int{}}
	for i := range budgets {
		c.bySpace[budgets[i].Space] = append(c.bySpace[budgets[i].Space], &budgets[i])
		c.weight[budgets[i].Space] += budgets[i].Weight()
	}
	return c
}

// Of lists the budgets that cover a pod.
func (c *BudgetCover) Of(p *cluster.Pod) []*cluster.PodBudget {
	var out []*cluster.PodBudget
	for _, b := range c.bySpace[p.State.Namespace] {
		if b.Covers(p) {
			out = append(out, b)
		}
	}
	return out
}

// Covering are the budgets that cover a pod.
func (x *Index) Covering(p *cluster.Pod) []*cluster.PodBudget {
	x.Spend(aSelect * x.Cover.weight[p.State.Namespace])
	return x.Cover.Of(p)
}

// CanMove reports whether a pod that would need a place could be evicted, and found a place: it is not protected
// and not tangled, and no budget keeps it for ever.
func (x *Index) CanMove(p *cluster.Pod) bool {
	if held, _ := p.Protected(x.State.Now); held || p.Tangled {
		return false
	}
	covering := x.Covering(p)
	return len(covering) == 0 || len(covering) == 1 && !covering[0].Full
}
