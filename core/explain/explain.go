package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// Explanation is the answer to why a node goes or stays.
type Explanation struct {
	disruption.Verdict
	// Flip is what would make the node go, one line for each change that suffices; several that do
	// only together are one line. Each was verified by deciding again.
	Flip []string `json:"flip,omitempty"`
	// NoFlip says what can be done where no change was found that makes the node go.
	NoFlip string `json:"noFlip,omitempty"`
	// Command is the disruption that takes the node, when one does; Before are those that go first.
	Command *disruption.Command `json:"command,omitempty"`
	Before  int                 `json:"before,omitempty"`
	// Costs are what orders it among the candidates.
	Price         api.Hourly `json:"price"`
	Disruption    float64    `json:"disruption"`
	Consolidation string     `json:"consolidation,omitempty"` // what removing it alone would do
}

// Explain says why a node goes or stays; false when the member has no such node. Beside the verdict
// of Decide it tells what removing the node alone would do, and what would make it go.
func Explain(s *simulate.State, name string) (Explanation, bool) {
	if s.Cluster.Nodes[name] == nil {
		return Explanation{}, false
	}
	s, out, before := reaching(s, name)
	n := disruption.NodeAlone(s, name)
	e := Explanation{Verdict: *out.Verdict(name), Before: before, Price: n.Price, Disruption: n.Cost, Consolidation: n.Removal}
	for j := range out.Commands {
		if slices.Contains(out.Commands[j].Nodes, name) {
			e.Command = &out.Commands[j]
		}
	}
	e.Refusals = telling(e.Refusals)
	if e.Disrupt != "" {
		return e, true
	}
	if s.Stale != "" {
		e.Refusals = append(e.Refusals, otherwise(s, name)...)
	}
	e.Before = 0
	e.Flip = append(flips(s, name, e.Refusals), expiring(s, n.ExistingNode)...)
	if len(e.Flip) == 0 {
		e.NoFlip = advice(e.Verdict.Reason().Code, n.ExistingNode)
	}
	return e, true
}

// otherwise are the refusals that stand behind a state that is not decided on.
func otherwise(s *simulate.State, node string) []disruption.Refusal {
	d := disruption.Decide(changed(s, []change{{apply: func(s *simulate.State) { s.Stale = "" }}}))
	return telling(d.Verdict(node).Refusals)
}

// telling leaves out refusals that only say that a method is not about the node.
func telling(refusals []disruption.Refusal) []disruption.Refusal {
	return slices.DeleteFunc(slices.Clone(refusals), func(r disruption.Refusal) bool {
		return r.Code == disruption.CodeNotDrifted || r.Code == disruption.CodeNotExpired || r.Code == disruption.CodeEmpty
	})
}

// reaching decides until it is the turn of a node: nodes that go first, and need no launch, are taken
// to be on their way. It returns the state of the last decision, and how many commands went before.
func reaching(s *simulate.State, node string) (*simulate.State, disruption.Decision, int) {
	out := disruption.Decide(s)
	for before := 0; ; {
		launching := launches(out.Commands) != ""
		switch v := out.Verdict(node); {
		case len(out.Commands) == 0, v.Disrupt != "":
			return s, out, before
		case launching || before >= mostBefore:
			if v.Current() == disruption.NotReached && !slices.Contains(v.Refusals, disruption.NotReached) {
				v.Refusals = append(slices.Clip(v.Refusals), disruption.NotReached)
			}
			return s, out, before
		}
		s = changed(s, nil)
		for i := range out.Commands {
			before++
			out.Commands[i].Begun(s)
		}
		out = disruption.Decide(s)
	}
}

// advice is what a person can do about a node for which no change was found that makes it go.
func advice(code disruption.Code, n *simulate.ExistingNode) string {
	switch code {
	case disruption.CodeNoPool:
		return fmt.Sprintf("label node %s with %s to make it one of a NodePool", n.State.Name, api.LabelNodePool)
	case disruption.CodePoolUnknown:
		if n.Pool != nil {
			return "apply an InstanceCatalog with instance types, for all members or for this one"
		}
		return fmt.Sprintf("apply NodePool %s, for all members or for this one", n.Node.Pool)
	case disruption.CodeNotInCatalog:
		text := fmt.Sprintf("list %s in InstanceCatalog %s", disruption.OfferingText(n.Labels), n.Pool.Catalog.Name)
		if from := cluster.OriginOf(n.State); !disruption.Lists(n.Pool, &from) {
			text += "; or set its spec.complete to true, if all that can be bought is listed: then the node drifts"
		}
		return text
	case disruption.CodeTypeUnknown:
		return fmt.Sprintf("list instance type %s in the InstanceCatalog", n.Labels[corev1.LabelInstanceTypeStable])
	}
	if text := advices[code]; text != "" {
		return text
	}
	return "no change of a few settings makes it go"
}

// advices are those that name neither node nor pool.
var advices = map[disruption.Code]string{
	disruption.CodeUnmanaged:         "nothing does: only nodes that Flotilla or Karpenter made are disrupted",
	disruption.CodeNotInitialized:    "time: the node is not up yet",
	disruption.CodeQueued:            "nothing is needed: it goes already",
	disruption.CodeUndoing:           "time: the node stays, and is looked at again once its agent has taken the taint off",
	disruption.CodeDeleting:          "nothing is needed: it goes already",
	disruption.CodeNotReached:        "time: it is looked at again once what goes first has begun",
	disruption.CodeStatic:            "nothing does: a static pool keeps its number of nodes; a node of it goes when it drifts",
	disruption.CodePodsUnplaced:      "room on other nodes, or a NodePool whose requirements and limits allow a node for these pods",
	disruption.CodePendingPodNeedsIt: "room on another node for the pod that waits; it goes by itself once the pod has a node",
	disruption.CodeManyReplacements:  "room on other nodes: what it holds takes more than one new node",
	disruption.CodeNotCheaper:        "room on other nodes, or a cheaper instance type that its NodePool allows",
	disruption.CodeSpotFew:           "more instance types that its NodePool allows",
	disruption.CodeNoLabel:           "the label, which its provider sets on nodes",
	disruption.CodeBudget:            "a larger budget, or the end of what is down; other reasons stand behind it",
}

// String is the explanation as a person reads it.
func (e Explanation) String() string {
	var b strings.Builder
	if e.Disrupt != "" {
		fmt.Fprintf(&b, "node %s goes %s: %s (%s)\n", e.Node, e.when(), e.Disrupt, e.Method)
	} else {
		fmt.Fprintf(&b, "node %s %s\n", e.Node, e.stays())
	}
	pool := "pool " + e.Pool
	if e.Pool == "" {
		pool = "no pool"
	}
	price := "price unknown"
	if !e.Price.Unknown {
		price = "price " + e.Price.Sentence()
	}
	fmt.Fprintf(&b, "  %s, %s, disruption cost %.2f\n", pool, price, e.Disruption)
	if e.Drift != "" {
		fmt.Fprintf(&b, "  drifted: %s\n", e.Drift)
	}
	if e.Command != nil {
		b.WriteString(indented(e.Command.String()))
	} else {
		for _, r := range e.Refusals {
			fmt.Fprintf(&b, "  %s\n", r)
		}
		if e.Lasting != nil {
			fmt.Fprintf(&b, "  once that is over: %s\n", e.Lasting)
		}
	}
	if e.Consolidation != "" && e.Command == nil {
		fmt.Fprintf(&b, "  removed alone: %s\n", e.Consolidation)
	}
	for _, f := range e.Flip {
		fmt.Fprintf(&b, "  would change it: %s\n", f)
	}
	if e.NoFlip != "" {
		fmt.Fprintf(&b, "  what can be done: %s\n", e.NoFlip)
	}
	return b.String()
}

// stays says of a node that no new command takes whether it goes by an older one.
func (e *Explanation) stays() string {
	switch e.Verdict.Reason().Code {
	case disruption.CodeQueued, disruption.CodeDeleting:
		return "goes already"
	default:
		return "stays"
	}
}

func (e *Explanation) when() string {
	if e.Before == 0 {
		return "now"
	}
	return fmt.Sprintf("after %s", phrase.Count(e.Before, "other disruption"))
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
