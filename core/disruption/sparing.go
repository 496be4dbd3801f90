package disruption

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/simulate"
)

// neededText names the pods that keep a node, or several.
func neededText(list []simulate.Failure) string {
	var pods []string
	for _, f := range list[:min(len(list), 5)] {
		pods = append(pods, f.Pod)
	}
	if more := len(list) - len(pods); more > 0 {
		pods = append(pods, fmt.Sprintf("%d more", more))
	}
	if len(list) == 1 {
		return "pod " + pods[0] + " waits for a node, and finds room nowhere else"
	}
	return "pods " + strings.Join(pods, ", ") + " wait for a node, and would not all find room elsewhere"
}

func neededRefusal(list []simulate.Failure) Refusal {
	return Refusal{Code: CodePendingPodNeedsIt, Message: neededText(list), About: list[0].Pod}
}

// sparing takes empty candidates in order while budgets last, but for those that pods which wait need.
func (d *deciding) sparing(method, reason string, cs []*candidate) []*candidate {
	for {
		left := d.allowances(reason)
		taken, over := afford(cs, left)
		nodes := make([]*simulate.ExistingNode, len(taken))
		for i, c := range taken {
			nodes[i] = c.ExistingNode
		}
		needed := d.x.Needed(nodes)
		if len(needed) == 0 {
			d.overBudgets(method, reason, over, left)
			return taken
		}
		d.out.Evaluated++
		for n, m := range needed {
			d.refuse(method, n.State.Name, neededRefusal([]simulate.Failure{{Pod: m.Key}}))
		}
		cs = slices.DeleteFunc(slices.Clone(cs), func(c *candidate) bool { return needed[c.ExistingNode] != nil })
	}
}
