package disruption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Explanation is the answer to why a node goes or stays.
type Explanation struct {
	Verdict
	// Flip is what would change it, one line for each refusal that can be lifted.
	Flip []string `json:"flip,omitempty"`
	// Command is the disruption that takes the node, when one does.
	Command *Command `json:"command,omitempty"`
	// Costs are what orders it among the candidates.
	Price         float64 `json:"price"`
	Disruption    float64 `json:"disruption"`
	Consolidation string  `json:"consolidation,omitempty"` // what removing it alone would do
}

// Explain says why a node goes or stays; false when the member has no such node. Beside the verdict
// of Decide it tells what removing the node alone would do.
func Explain(s *State, name string) (Explanation, bool) {
	out := Decide(s)
	i, found := slices.BinarySearchFunc(out.Verdicts, name, func(v Verdict, n string) int { return strings.Compare(v.Node, n) })
	if !found {
		return Explanation{}, false
	}
	e := Explanation{Verdict: out.Verdicts[i]}
	d := begin(s)
	c := &d.roster.all[i]
	e.Price, e.Disruption = c.price, c.cost
	for j := range out.Commands {
		if slices.Contains(out.Commands[j].Nodes, name) {
			e.Command = &out.Commands[j]
		}
	}
	e.Refusals = slices.DeleteFunc(slices.Clone(e.Refusals), func(r Refusal) bool { return r.Code == CodeNotDrifted || r.Code == CodeNotExpired })
	for _, r := range e.Refusals {
		if line := flip(&r, c, s.Now); line != "" && !slices.Contains(e.Flip, line) {
			e.Flip = append(e.Flip, line)
		}
	}
	if s.Stale == "" && c.pool != nil && c.state.Managed && !c.deleting && !c.empty && c.machine != nil {
		e.Consolidation = d.alonely(c)
	}
	return e, true
}

// alonely tells what removing one node would do, whatever forbids it now.
func (d *deciding) alonely(c *candidate) string {
	command, refusal := d.alone(c)
	switch {
	case refusal.Code != "":
		return refusal.Message
	case len(command.Replacements) > 0:
		return fmt.Sprintf("it could be replaced by %s, saving %.4f an hour", command.Replacements[0].InstanceTypes[0], command.Savings)
	default:
		return fmt.Sprintf("its %d pods fit elsewhere, saving %.4f an hour", len(c.movable), command.Savings)
	}
}

// flip says what would lift a refusal, "" when nothing a person does would.
func flip(r *Refusal, c *candidate, now time.Time) string {
	pool := c.node.pool
	switch r.Code {
	case CodeNodeProtected:
		return fmt.Sprintf("kubectl annotate node %s %s-", c.name(), api.AnnotationDoNotDisrupt)
	case CodePoolProtected:
		return fmt.Sprintf("remove %s from spec.template.metadata.annotations of NodePool %s", api.AnnotationDoNotDisrupt, pool)
	case CodePodProtected:
		return fmt.Sprintf("remove the annotation %s from pod %s, or wait until it ends", api.AnnotationDoNotDisrupt, r.About)
	case CodePDB, CodePDBExceeded:
		return fmt.Sprintf("more healthy pods, or a higher maxUnavailable, for %s", r.About)
	case CodeDisabled:
		return fmt.Sprintf("set spec.disruption.consolidateAfter of NodePool %s to a duration", pool)
	case CodeNotEmpty:
		if r.Method == MethodEmpty {
			return ""
		}
		return fmt.Sprintf("set spec.disruption.consolidationPolicy of NodePool %s to %s", pool, api.WhenEmptyOrUnderutilized)
	case CodeBudget:
		return budgetFlip(c.pool, now)
	case CodeScore:
		return fmt.Sprintf("set spec.disruption.consolidationPolicy of NodePool %s to %s", pool, api.WhenEmptyOrUnderutilized)
	case CodePoolUnknown:
		return fmt.Sprintf("apply NodePool %s and an InstanceCatalog with its types", pool)
	case CodeQuiet:
		return fmt.Sprintf("wait, or set spec.disruption.consolidateAfter of NodePool %s lower", pool)
	}
	return plainFlips[r.Code]
}

// plainFlips are those that name neither node nor pool.
var plainFlips = map[Code]string{
	CodeUnmanaged:      "nothing: only nodes that Flotilla or Karpenter made are disrupted",
	CodeNotInitialized: "time",
	CodeNominated:      "time",
	CodeBackoff:        "time",
	CodeQueued:         "time",
	CodeDeleting:       "time",
	CodeStale:          "a fresh inventory of the member: see whether its agent is connected",
	CodeSpotDisabled:   "turn spot-to-spot consolidation on",
	CodePodsUnplaced:   "room on other nodes, or a NodePool whose requirements and limits allow a node for these pods",
	CodeTypeUnknown:    "list the instance type in the InstanceCatalog",
}

func budgetFlip(p *Pool, now time.Time) string {
	line := fmt.Sprintf("raise spec.disruption.budgets of NodePool %s, or wait for its nodes that are down", p.name)
	if next := p.budgets.NextChange(now); !next.IsZero() {
		line += "; the budgets change at " + next.UTC().Format(time.RFC3339)
	}
	return line
}

// String is the explanation as a person reads it.
func (e Explanation) String() string {
	var b strings.Builder
	if e.Disrupt != "" {
		fmt.Fprintf(&b, "node %s goes now: %s (%s)\n", e.Node, e.Disrupt, e.Method)
	} else {
		fmt.Fprintf(&b, "node %s stays\n", e.Node)
	}
	fmt.Fprintf(&b, "  pool %s, price %.4f an hour, disruption cost %.2f\n", e.Pool, e.Price, e.Disruption)
	if e.Command != nil {
		b.WriteString(indented(e.Command.String()))
	} else {
		for _, r := range e.Refusals {
			fmt.Fprintf(&b, "  %s\n", r)
		}
	}
	if e.Consolidation != "" && e.Command == nil {
		fmt.Fprintf(&b, "  removed alone: %s\n", e.Consolidation)
	}
	for _, f := range e.Flip {
		fmt.Fprintf(&b, "  would change it: %s\n", f)
	}
	return b.String()
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
