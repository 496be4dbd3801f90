package disruption

import (
	"fmt"
)

// summary is a decision on one line: what goes, how, where pods go and what comes.
func summary(d Decision) string {
	if len(d.Commands) == 0 {
		return "none"
	}
	text := ""
	for i, c := range d.Commands {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s %v by %s", c.Decision(), c.Nodes, c.Method)
		for _, r := range c.Replacements {
			text += fmt.Sprintf(" with %s/%s%v", r.Pool, r.InstanceTypes[0], r.Zones)
		}
		for _, m := range c.Moves {
			text += fmt.Sprintf(" %s>%s", m.Pod[len("default/"):], m.To)
		}
	}
	return text
}

// codes are the refusals of a node.
func codes(d Decision, node string) []Code {
	var out []Code
	for _, v := range d.Verdicts {
		if v.Node == node {
			for _, r := range v.Refusals {
				out = append(out, r.Code)
			}
		}
	}
	return out
}
