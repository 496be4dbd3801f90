package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// Methods, in the order in which a pass tries them.
const (
	MethodEmpty       = "empty"
	MethodStaticDrift = "static-drift"
	MethodDrift       = "drift"
	MethodExpired     = "expired"
	MethodMulti       = "multi"
	MethodSingle      = "single"
)

// candidate is a node that may be disrupted, with what consolidation weighs.
type candidate struct {
	*simulate.ExistingNode
	machine      *capacity.Machine // nil when the catalog does not know it
	zone         string
	capacityType string
	price        float64 // 0 when it is unpriced
	unpriced     bool
	cost         float64
	empty        bool
	idle         bool // no pod needs a place
}

func (c *candidate) name() string { return c.State.Name }

// worth is what the node costs an hour.
func (c *candidate) worth() api.Hourly { return api.Hourly{Amount: c.price, Unknown: c.unpriced} }

// ratio is what orders candidates: what a node costs for the trouble of removing it.
func (c *candidate) ratio() float64 { return c.price / c.cost }

func newCandidate(x *simulate.Index, n *simulate.ExistingNode) candidate {
	c := candidate{ExistingNode: n, zone: n.Labels[corev1.LabelTopologyZone], capacityType: n.Labels[api.LabelCapacityType], cost: 1, idle: true}
	if n.Pool != nil {
		c.machine = n.Pool.MachineOf(n.Labels)
	}
	price := c.machine.Price(c.zone, c.capacityType)
	c.price, c.unpriced = price.Amount, price.Unknown
	for i := range n.Pods {
		if p := &n.Pods[i]; p.Movable {
			c.cost += max(0, p.Cost)
			c.idle = false
		}
	}
	c.empty = c.idle || x.State.Rules.Off.WorthlessPods && c.cost == 1
	return c
}

// barred returns why a node is no candidate of any method, whatever its pods.
func barred(x *simulate.Index, n *simulate.ExistingNode) (Refusal, bool) {
	s, now := n.State, x.State.Now
	refuse := func(code Code, format string, args ...any) (Refusal, bool) {
		return Refusal{Code: code, Message: fmt.Sprintf(format, args...)}, true
	}
	switch {
	case x.State.Undoing[s.Name] != "":
		return refuse(CodeUndoing, "disruption %s of the node was given up, and the agent has not taken off its taint yet", x.State.Undoing[s.Name])
	case x.State.Busy[s.Name]:
		return refuse(CodeQueued, "the node is being disrupted already")
	case !s.Managed:
		return refuse(CodeUnmanaged, "neither Flotilla nor Karpenter made the node")
	case !s.Initialized:
		return refuse(CodeNotInitialized, "the node is not initialized")
	case n.Deleting && s.Taken != "":
		return refuse(CodeDeleting, "%s", TakenText(s.Taken))
	case n.Deleting:
		return refuse(CodeDeleting, "the node is being deleted")
	case now.Before(x.State.NominatedUntil(s)):
		return refuse(CodeNominated, "a pod is expected on the node until %s", x.State.NominatedUntil(s).UTC().Format(time.RFC3339))
	}
	return standing(x, n)
}

// standing returns what keeps a node that is up, and on which no pod is expected, from being a candidate.
func standing(x *simulate.Index, n *simulate.ExistingNode) (Refusal, bool) {
	s, now := n.State, x.State.Now
	refuse := func(code Code, format string, args ...any) (Refusal, bool) {
		return Refusal{Code: code, Message: fmt.Sprintf(format, args...)}, true
	}
	switch {
	case s.Annotations[api.AnnotationDoNotDisrupt] == "true":
		return refuse(CodeNodeProtected, "the node has the annotation %s", api.AnnotationDoNotDisrupt)
	case n.Node.Pool == "":
		return refuse(CodeNoPool, "the node lacks the label %s", api.LabelNodePool)
	case n.Pool == nil:
		return refuse(CodePoolUnknown, "there is no NodePool %s on this member", n.Node.Pool)
	case len(n.Pool.ByName) == 0:
		return refuse(CodePoolUnknown, "no instance type is known for NodePool %s", n.Node.Pool)
	case n.Pool.Protected:
		return refuse(CodePoolProtected, "NodePool %s has the annotation %s in its template", n.Pool.Name, api.AnnotationDoNotDisrupt)
	case now.Before(x.State.Backoffs[s.Name]):
		return refuse(CodeBackoff, "the last disruption of the node failed; it is left alone until %s", x.State.Backoffs[s.Name].UTC().Format(time.RFC3339))
	}
	return Refusal{}, false
}

// eventual methods go on although pods block, when the node has a terminationGracePeriod.
func eventual(method string) bool {
	return method == MethodDrift || method == MethodStaticDrift || method == MethodExpired
}

// roster is every node as a candidate, or the reason why it is none; built once for all methods.
type roster struct {
	all      []candidate
	barred   []Refusal // by node, Code "" when it is not
	hindered []Refusal
	until    []time.Time
}

func newRoster(x *simulate.Index) *roster {
	r := &roster{
		all: make([]candidate, len(x.Nodes)), barred: make([]Refusal, len(x.Nodes)),
		hindered: make([]Refusal, len(x.Nodes)), until: make([]time.Time, len(x.Nodes)),
	}
	for i, n := range x.Nodes {
		if r.all[i] = newCandidate(x, n); x.Stopped() {
			continue
		}
		if refusal, yes := barred(x, n); yes {
			r.barred[i] = refusal
			continue
		}
		r.hindered[i], r.until[i] = hindered(x, n)
	}
	return r
}

// candidates are the nodes that a method may take, in its order; refuse hears about the others.
func (d *deciding) candidates(method string, filter func(*candidate) Refusal) []*candidate {
	var out []*candidate
	for i := range d.roster.all {
		if d.x.Spend(oneRefusal); d.x.Stopped() {
			return nil
		}
		c := &d.roster.all[i]
		refusal := d.roster.barred[i]
		podsBlock := !eventual(method) || c.State.TerminationGracePeriod == ""
		if refusal.Code == "" && podsBlock {
			refusal = d.roster.hindered[i]
		}
		if refusal.Code == "" {
			refusal = filter(c)
		}
		if refusal.Code == "" && podsBlock {
			refusal = exceeded(d.x, c.ExistingNode)
		}
		if refusal.Code != "" {
			d.refuse(method, c.name(), refusal)
			continue
		}
		out = append(out, c)
	}
	return out
}

// dearestFirst sorts by price for the trouble, then by name (N7).
func dearestFirst(cs []*candidate) {
	slices.SortFunc(cs, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.ratio(), a.ratio()), cmp.Compare(a.name(), b.name()))
	})
}

func names(cs []*candidate) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.name()
	}
	slices.Sort(out)
	return out
}

// unsettled says how long a node must stay quiet yet, nothing when it need not.
func (d *deciding) unsettled(c *candidate) Refusal {
	if !c.Settling {
		return Refusal{}
	}
	ripe := simulate.QuietSince(c.State).Add(c.Pool.ConsolidateAfter)
	d.recheck(ripe)
	return Refusal{Code: CodeQuiet, Message: fmt.Sprintf("the node must be without pod events for %s (consolidateAfter); %s remain", c.Pool.ConsolidateAfter, ripe.Sub(d.now).Round(time.Second))}
}

func isEmptyCandidate(d *deciding, c *candidate) Refusal {
	switch {
	case c.Pool.Static:
		return Refusal{Code: CodeStatic, Message: "NodePool " + c.Pool.Name + " is static: it is never consolidated"}
	case c.Pool.Disabled:
		return disabledRefusal(c)
	case !c.empty:
		return Refusal{Code: CodeNotEmpty, Message: "pods that need another node run here"}
	}
	return d.unsettled(c)
}

func disabledRefusal(c *candidate) Refusal {
	return Refusal{Code: CodeDisabled, Message: fmt.Sprintf("NodePool %q has consolidation disabled (consolidateAfter: Never)", c.Pool.Name)}
}

func isConsolidationCandidate(d *deciding, c *candidate) Refusal {
	if refusal := unconsolidated(c); refusal.Code != "" {
		return refusal
	}
	return d.unsettled(c)
}

// unconsolidated says why consolidation does not look at a node, however quiet it is.
func unconsolidated(c *candidate) Refusal {
	switch {
	case c.Pool.Static:
		return Refusal{Code: CodeStatic, Message: "NodePool " + c.Pool.Name + " is static: it is never consolidated"}
	case c.machine == nil && c.Labels[corev1.LabelInstanceTypeStable] == "":
		return Refusal{Code: CodeNoLabel, Message: "the node lacks the label " + corev1.LabelInstanceTypeStable}
	case c.machine == nil && c.Pool.Catalog.Complete:
		return Refusal{Code: CodeTypeUnknown, Message: fmt.Sprintf("instance type %q is not in the catalog", c.Labels[corev1.LabelInstanceTypeStable])}
	case c.capacityType == "":
		return Refusal{Code: CodeNoLabel, Message: "the node lacks the label " + api.LabelCapacityType}
	case c.zone == "":
		return Refusal{Code: CodeNoLabel, Message: "the node lacks the label " + corev1.LabelTopologyZone}
	case c.Pool.Disabled:
		return disabledRefusal(c)
	case c.empty:
		return Refusal{Code: CodeEmpty, Message: "the node is empty: that is for emptiness to decide"}
	case c.Pool.Policy == api.WhenEmpty:
		return Refusal{Code: CodeNotEmpty, Message: fmt.Sprintf("NodePool %q has consolidation policy WhenEmpty, but the node is not empty", c.Pool.Name)}
	case unlisted(c.Pool, c.Labels):
		return Refusal{Code: CodeNotInCatalog, Message: fmt.Sprintf("its price is not known: InstanceCatalog %s does not list %s", c.Pool.Catalog.Name, OfferingText(c.Labels))}
	}
	return Refusal{}
}

// unlisted reports whether a catalog that does not say it is complete lacks what a node is: then it has no
// price, and that is all that is known (N20).
func unlisted(p *capacity.Pool, labels map[string]string) bool {
	name, zone, kind := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone], labels[api.LabelCapacityType]
	if p.Catalog.Complete || name == "" || len(p.ByName) == 0 {
		return false
	}
	m := p.ByName[name]
	return m == nil || zone != "" && kind != "" && m.Price(zone, kind).Unknown
}

// OfferingText names the type, zone and capacity type of a node, as far as its labels tell.
func OfferingText(labels map[string]string) string {
	text := labels[corev1.LabelInstanceTypeStable]
	if zone := labels[corev1.LabelTopologyZone]; zone != "" {
		text += " in zone " + zone
	}
	if kind := labels[api.LabelCapacityType]; kind != "" {
		text += " as " + kind
	}
	return text
}

// ReasonOf is the reason that budgets know a method by.
func ReasonOf(method string) string {
	switch method {
	case MethodEmpty:
		return api.ReasonEmpty
	case MethodDrift, MethodStaticDrift:
		return api.ReasonDrifted
	case MethodExpired:
		return api.ReasonExpired
	default:
		return api.ReasonUnderutilized
	}
}

// takenTexts say what Karpenter takes a node away for.
var takenTexts = map[string]string{
	api.TakenExpired:     "it expired",
	api.TakenUnhealthy:   "it was unhealthy, which Karpenter repairs",
	api.TakenInterrupted: "its machine was interrupted or is gone, or somebody deleted its NodeClaim",
}

// TakenText is the sentence about a node that Karpenter takes away.
func TakenText(why string) string {
	text := takenTexts[why]
	if text == "" {
		text = "it found the node " + why
	}
	return "Karpenter takes the node away by itself: " + text
}
