package simulate

import "flotilla/core/cluster"

// BudgetCover finds the PodDisruptionBudgets that cover a pod.
type BudgetCover struct {
	bySpace map[string][]*cluster.PodBudget
	weight  map[string]int // of the selectors of a namespace
	// known are the budgets of pods that were asked for. A decision asks several times for each.
	known map[*cluster.Pod][]*cluster.PodBudget
}

// CoverBudgets lays budgets out by namespace.
func CoverBudgets(budgets []cluster.PodBudget) BudgetCover {
	c := BudgetCover{map[string][]*cluster.PodBudget{}, map[string]int{}, map[*cluster.Pod][]*cluster.PodBudget{}}
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

// Covering are the budgets that cover a pod of the state.
func (x *Index) Covering(p *cluster.Pod) []*cluster.PodBudget {
	weight := x.Cover.weight[p.State.Namespace]
	if weight == 0 {
		return nil
	}
	covering, known := x.Cover.known[p]
	if x.Spend(aLook); !known {
		x.Spend(aSelect * weight)
		covering = x.Cover.Of(p)
		x.Cover.known[p] = covering
	}
	return covering
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
