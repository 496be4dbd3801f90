package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Methods, in the order in which a pass tries them (section 4).
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
	*inode
	machine      *machine // nil when the catalog does not know it
	zone         string
	capacityType string
	price        float64 // 0 when it is unpriced
	unpriced     bool
	cost         float64
	empty        bool
	idle         bool // no pod needs a place
}

func (c *candidate) name() string { return c.state.Name }

// worth is what the node costs an hour.
func (c *candidate) worth() api.Hourly { return api.Hourly{Amount: c.price, Unknown: c.unpriced} }

// ratio is what orders candidates: what a node costs for the trouble of removing it.
func (c *candidate) ratio() float64 { return c.price / c.cost }

func (x *Index) newCandidate(n *inode) candidate {
	c := candidate{inode: n, zone: n.labels[corev1.LabelTopologyZone], capacityType: n.labels[api.LabelCapacityType], cost: 1, idle: true}
	if n.pool != nil {
		c.machine = n.pool.byName[n.labels[corev1.LabelInstanceTypeStable]]
	}
	price := c.machine.price(c.zone, c.capacityType)
	c.price, c.unpriced = price.Amount, price.Unknown
	for i := range n.pods {
		if p := &n.pods[i]; p.movable {
			c.cost += max(0, p.cost)
			c.idle = false
		}
	}
	c.empty = c.idle || x.state.Rules.Off.WorthlessPods && c.cost == 1
	return c
}

// barred returns why a node is no candidate of any method, whatever its pods.
func (x *Index) barred(n *inode) (Refusal, bool) {
	s, now := n.state, x.state.Now
	refuse := func(code Code, format string, args ...any) (Refusal, bool) {
		return Refusal{Code: code, Message: fmt.Sprintf(format, args...)}, true
	}
	switch {
	case x.state.Undoing[s.Name] != "":
		return refuse(CodeUndoing, "disruption %s of the node was given up, and the agent has not taken off its taint yet", x.state.Undoing[s.Name])
	case x.state.Busy[s.Name]:
		return refuse(CodeQueued, "the node is being disrupted already")
	case !s.Managed:
		return refuse(CodeUnmanaged, "neither Flotilla nor Karpenter made the node")
	case !s.Initialized:
		return refuse(CodeNotInitialized, "the node is not initialized")
	case n.deleting && s.Taken != "":
		return refuse(CodeDeleting, "%s", takenText(s.Taken))
	case n.deleting:
		return refuse(CodeDeleting, "the node is being deleted")
	case now.Before(x.state.nominated(s)):
		return refuse(CodeNominated, "a pod is expected on the node until %s", x.state.nominated(s).UTC().Format(time.RFC3339))
	}
	return x.standing(n)
}

// standing returns what keeps a node that is up, and on which no pod is expected, from being a candidate.
func (x *Index) standing(n *inode) (Refusal, bool) {
	s, now := n.state, x.state.Now
	refuse := func(code Code, format string, args ...any) (Refusal, bool) {
		return Refusal{Code: code, Message: fmt.Sprintf(format, args...)}, true
	}
	switch {
	case s.Annotations[api.AnnotationDoNotDisrupt] == "true":
		return refuse(CodeNodeProtected, "the node has the annotation %s", api.AnnotationDoNotDisrupt)
	case n.node.pool == "":
		return refuse(CodeNoPool, "the node lacks the label %s", api.LabelNodePool)
	case n.pool == nil:
		return refuse(CodePoolUnknown, "there is no NodePool %s on this member", n.node.pool)
	case len(n.pool.byName) == 0:
		return refuse(CodePoolUnknown, "no instance type is known for NodePool %s", n.node.pool)
	case n.pool.protected:
		return refuse(CodePoolProtected, "NodePool %s has the annotation %s in its template", n.pool.name, api.AnnotationDoNotDisrupt)
	case now.Before(x.state.Backoffs[s.Name]):
		return refuse(CodeBackoff, "the last disruption of the node failed; it is left alone until %s", x.state.Backoffs[s.Name].UTC().Format(time.RFC3339))
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

func (x *Index) newRoster() *roster {
	r := &roster{
		all: make([]candidate, len(x.nodes)), barred: make([]Refusal, len(x.nodes)),
		hindered: make([]Refusal, len(x.nodes)), until: make([]time.Time, len(x.nodes)),
	}
	for i, n := range x.nodes {
		r.all[i] = x.newCandidate(n)
		if refusal, yes := x.barred(n); yes {
			r.barred[i] = refusal
			continue
		}
		r.hindered[i], r.until[i] = x.hindered(n)
	}
	return r
}

// candidates are the nodes that a method may take, in its order; refuse hears about the others.
func (d *deciding) candidates(method string, filter func(*candidate) Refusal) []*candidate {
	var out []*candidate
	for i := range d.roster.all {
		c := &d.roster.all[i]
		refusal := d.roster.barred[i]
		podsBlock := !eventual(method) || c.state.TerminationGracePeriod == ""
		if refusal.Code == "" && podsBlock {
			refusal = d.roster.hindered[i]
		}
		if refusal.Code == "" {
			refusal = filter(c)
		}
		if refusal.Code == "" && podsBlock {
			refusal = d.x.exceeded(c.inode)
		}
		if refusal.Code != "" {
			d.refuse(method, c.name(), refusal)
			continue
		}
		out = append(out, c)
	}
	return out
}

// dearestFirst sorts by price for the trouble, then by name (section 6, N7).
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
	if !c.settling {
		return Refusal{}
	}
	ripe := quietSince(c.state).Add(c.pool.after)
	d.recheck(ripe)
	return Refusal{Code: CodeQuiet, Message: fmt.Sprintf("the node must be without pod events for %s (consolidateAfter); %s remain", c.pool.after, ripe.Sub(d.now).Round(time.Second))}
}

func isEmptyCandidate(d *deciding, c *candidate) Refusal {
	switch {
	case c.pool.static:
		return Refusal{Code: CodeStatic, Message: "NodePool " + c.pool.name + " is static: it is never consolidated"}
	case c.pool.disabled:
		return disabledRefusal(c)
	case !c.empty:
		return Refusal{Code: CodeNotEmpty, Message: "pods that need another node run here"}
	}
	return d.unsettled(c)
}

func disabledRefusal(c *candidate) Refusal {
	return Refusal{Code: CodeDisabled, Message: fmt.Sprintf("NodePool %q has consolidation disabled (consolidateAfter: Never)", c.pool.name)}
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
	case c.pool.static:
		return Refusal{Code: CodeStatic, Message: "NodePool " + c.pool.name + " is static: it is never consolidated"}
	case c.machine == nil && c.labels[corev1.LabelInstanceTypeStable] == "":
		return Refusal{Code: CodeNoLabel, Message: "the node lacks the label " + corev1.LabelInstanceTypeStable}
	case c.machine == nil && c.pool.catalog.complete:
		return Refusal{Code: CodeTypeUnknown, Message: fmt.Sprintf("instance type %q is not in the catalog", c.labels[corev1.LabelInstanceTypeStable])}
	case c.capacityType == "":
		return Refusal{Code: CodeNoLabel, Message: "the node lacks the label " + api.LabelCapacityType}
	case c.zone == "":
		return Refusal{Code: CodeNoLabel, Message: "the node lacks the label " + corev1.LabelTopologyZone}
	case c.pool.disabled:
		return disabledRefusal(c)
	case c.empty:
		return Refusal{Code: CodeEmpty, Message: "the node is empty: that is for emptiness to decide"}
	case c.pool.policy == api.WhenEmpty:
		return Refusal{Code: CodeNotEmpty, Message: fmt.Sprintf("NodePool %q has consolidation policy WhenEmpty, but the node is not empty", c.pool.name)}
	case unlisted(c.pool, c.labels):
		return Refusal{Code: CodeNotInCatalog, Message: fmt.Sprintf("its price is not known: InstanceCatalog %s does not list %s", c.pool.catalog.name, whatIsIt(c.labels))}
	}
	return Refusal{}
}

// unlisted reports whether a catalog that does not say it is complete lacks what a node is: then it has no
// price, and that is all that is known (N20).
func unlisted(p *Pool, labels map[string]string) bool {
	name, zone, kind := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone], labels[api.LabelCapacityType]
	if p.catalog.complete || name == "" || len(p.byName) == 0 {
		return false
	}
	m := p.byName[name]
	return m == nil || zone != "" && kind != "" && m.price(zone, kind).Unknown
}

// whatIsIt names the type, zone and capacity type of a node, as far as its labels tell.
func whatIsIt(labels map[string]string) string {
	text := labels[corev1.LabelInstanceTypeStable]
	if zone := labels[corev1.LabelTopologyZone]; zone != "" {
		text += " in zone " + zone
	}
	if kind := labels[api.LabelCapacityType]; kind != "" {
		text += " as " + kind
	}
	return text
}
