package conformance

import (
	"slices"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// neverMatching are the pools with a budget whose schedule has no date.
func (c *consolidationCase) neverMatching() []string {
	var pools []string
	for i := range c.NodePools {
		if d := c.NodePools[i].Disruption; d != nil && slices.ContainsFunc(d.Budgets, datelessBudget) {
			pools = append(pools, c.NodePools[i].Name)
		}
	}
	return pools
}

// countedNever says how an answer breaks N4: it differs from that of the same case without such budgets.
func (c *consolidationCase) countedNever(got *disruption.Decision) string {
	without := *c
	without.NodePools = slices.Clone(c.NodePools)
	for i := range without.NodePools {
		if d := without.NodePools[i].Disruption; d != nil && d.Budgets != nil {
			kept := *d
			kept.Budgets = slices.DeleteFunc(slices.Clone(d.Budgets), datelessBudget)
			without.NodePools[i].Disruption = &kept
		}
	}
	other := disruption.Decide(without.state(capacity.Rules{}))
	if asText(got.Commands) != asText(other.Commands) || asText(got.Budgets) != asText(other.Budgets) {
		return "without the budget whose schedule has no date the answer is another one"
	}
	return ""
}

// datelessBudget finds budgets on 30 and 31 February and their like, without the core.
func datelessBudget(b api.DisruptionBudget) bool { return b.Schedule != nil && dateless(*b.Schedule) }
