// Package disruptiontest tells decisions about nodes shortly, for tests of what rests on them.
package disruptiontest

import (
	"fmt"
	"strings"

	"flotilla/core/disruption"
)

// Summary is a decision on one line: what goes, how, where pods go and what comes.
func Summary(d disruption.Decision) string {
	if len(d.Commands) == 0 {
		return "none"
	}
	texts := make([]string, len(d.Commands))
	for i, c := range d.Commands {
		texts[i] = fmt.Sprintf("%s %v by %s", c.Decision(), c.Nodes, c.Method)
		for _, r := range c.Replacements {
			texts[i] += fmt.Sprintf(" with %s/%s%v", r.Pool, r.InstanceTypes[0], r.Zones)
		}
		for _, m := range c.Moves {
			texts[i] += fmt.Sprintf(" %s>%s", m.Pod[len("default/"):], m.To)
		}
	}
	return strings.Join(texts, "; ")
}

// Codes are the refusals of a node.
func Codes(d disruption.Decision, node string) []disruption.Code {
	var out []disruption.Code
	for _, v := range d.Verdicts {
		if v.Node == node {
			for _, r := range v.Refusals {
				out = append(out, r.Code)
			}
		}
	}
	return out
}
