package disruption

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/simulate"
)

// Alone is a node by itself.
type Alone struct {
	*simulate.ExistingNode
	// Price and Cost are what orders it among the candidates.
	Price api.Hourly
	Cost  float64
	// Removal is what removing it alone would do, empty of a node that no consolidation looks at.
	Removal string
}

// NodeAlone looks at one node of a state, which must have it.
func NodeAlone(s *simulate.State, name string) Alone {
	d := begin(s)
	i, _ := slices.BinarySearchFunc(d.roster.all, name, func(c candidate, n string) int { return strings.Compare(c.name(), n) })
	c := &d.roster.all[i]
	out := Alone{ExistingNode: c.ExistingNode, Price: c.worth(), Cost: c.cost}
	if c.Pool != nil && c.State.Managed && !c.Deleting && !c.empty && c.machine != nil {
		out.Removal = strings.Join(append([]string{d.alonely(c)}, Uncontrolled(c.ExistingNode)...), "; ")
	}
	if d.undecided().Code != "" {
		out.Removal = ""
	}
	return out
}

// alonely tells what removing one node would do, whatever forbids it now.
func (d *deciding) alonely(c *candidate) string {
	stuck := d.stuck(c)
	if len(c.Movable) == 0 && stuck != "" {
		return "it cannot be emptied: " + stuck
	}
	command, refusal := d.alone(c)
	text, however := "", "; but "
	switch {
	case refusal.Code != "":
		text, however = refusal.Message, "; and "
	case len(command.Replacements) > 0:
		text = fmt.Sprintf("it could be replaced by %s, saving %s", command.Replacements[0].InstanceTypes[0], command.Savings.Sentence())
	case len(c.Movable) == 1:
		text = fmt.Sprintf("its pod fits elsewhere, saving %s", command.Savings.Sentence())
	default:
		text = fmt.Sprintf("its %d pods fit elsewhere, saving %s", len(c.Movable), command.Savings.Sentence())
	}
	if stuck != "" {
		return text + however + "it cannot be emptied: " + stuck
	}
	return text
}

// stuck names the pods that need a place and cannot be evicted, "" when there are none.
func (d *deciding) stuck(c *candidate) string {
	var pods []string
	for i := range c.Pods {
		if p := &c.Pods[i]; p.Movable && !d.x.CanMove(p) {
			pods = append(pods, p.Key)
		}
	}
	if len(pods) == 0 {
		return ""
	}
	text := "pod " + pods[0]
	if len(pods) > 1 {
		text = fmt.Sprintf("%d pods, %s among them,", len(pods), pods[0])
	}
	return text + " cannot be evicted"
}
