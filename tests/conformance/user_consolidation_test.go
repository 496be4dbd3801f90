package conformance

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// Every recorded consolidation, told to flotilla plan nodes in the files that its user has, gets the recorded
// answer, or that of the core where a decision of the specification departs from it.
func TestConsolidationAsItsUserSaysIt(t *testing.T) {
	cases := casesOf[consolidationCase](t, consolidationRecording)
	all := tellEach(cases, func(c *consolidationCase) telling { return tellConsolidation(t, c) })
	reportTellings(t, "consolidation", "flotilla plan nodes", all, grants{"N24": {most: 3}})
}

func tellConsolidation(t *testing.T, c *consolidationCase) telling {
	t.Helper()
	told := telling{outcome: outcome{id: c.ID}, unsayable: c.unsayable()}
	if slices.ContainsFunc(c.Nodes, func(n recordedNode) bool { return n.Nominated }) {
		told.aside = "nominated: no object of an API server says it"
		return told
	}
	plan, refusal := c.planNodes(t)
	if refusal != "" {
		told.differences = []string{refusal}
		return told
	}
	got := plan.decision()
	if judgeConsolidation(c).decision != "" {
		core := c.asObjects().decide(capacity.Departures{})
		told.differences = decisionsDiffer(got, core)
		return told
	}
	c.countUnknown(got)
	told.differences = c.compare(got)
	if len(told.differences) > 0 && len(c.uncontrolled()) > 0 {
		c.explainLost(&told, got, plan.Notes)
	}
	return told
}

// countUnknown gives savings that are told as unknown the number that a recording has for them, in which what
// is not known counts as 0, where the core does not know them either.
func (c *consolidationCase) countUnknown(got *disruption.Decision) {
	if !slices.ContainsFunc(got.Commands, func(one disruption.Command) bool { return one.Savings.Unknown }) {
		return
	}
	core := disruption.Decide(c.state(capacity.Rules{}))
	for i := range min(len(got.Commands), len(core.Commands)) {
		if a, b := &got.Commands[i].Savings, core.Commands[i].Savings; a.Unknown && b.Unknown {
			a.Amount = b.Amount
		}
	}
}

// unsayable says what of a case no user's files can hold.
func (c *consolidationCase) unsayable() string {
	for i := range c.Nodes {
		if c.Nodes[i].Unschedulable {
			return "a cordoned node without its taint, which every cluster puts there"
		}
	}
	for i := range c.NodePools {
		p := &c.NodePools[i]
		if p.InstanceTypes != nil && slices.ContainsFunc(c.Nodes, func(n recordedNode) bool {
			return n.NodePool == p.Name && !slices.Contains(p.InstanceTypes, n.InstanceType)
		}) {
			return "a pool whose provider does not sell it the type of one of its nodes: a catalog is for all pools"
		}
	}
	return ""
}

// planNodes asks flotilla plan nodes what it would do first.
func (c *consolidationCase) planNodes(t *testing.T) (*nodePlan, string) {
	t.Helper()
	f := newFolder(t)
	c.writeFiles(f)
	args := []string{"plan", "nodes", "--passes", "1", "--now", c.Now.Format(time.RFC3339)}
	if c.SpotToSpot {
		args = append(args, "--spot-to-spot")
	}
	if c.IgnorePreferences {
		args = append(args, "--ignore-preferences")
	}
	var plan nodePlan
	if refusal := f.answer(&plan, args...); refusal != "" {
		return nil, refusal
	}
	return &plan, ""
}

// writeFiles writes what the user of a case has.
func (c *consolidationCase) writeFiles(f folder) {
	var pools, member []any
	for i := range c.NodePools {
		pools = append(pools, c.NodePools[i].nodePool())
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		member = append(member, c.kubeNode(n))
		if !n.Unmanaged {
			pools = append(pools, c.nodeClaim(n))
		}
	}
	for i := range c.Pods {
		member = append(member, c.kubePod(&c.Pods[i]))
	}
	for i := range c.PDBs {
		member = append(member, c.PDBs[i].kubeBudget())
	}
	for i := range c.DaemonSets {
		member = append(member, c.DaemonSets[i].kubeDaemonSet())
	}
	f.write("karpenter.yaml", pools...)
	f.write("member.yaml", append(member, c.kubeNamespaces()...)...)
	f.write("catalog.yaml", &api.InstanceCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.VersionFlotilla, Kind: api.KindInstanceCatalog},
		ObjectMeta: metav1.ObjectMeta{Name: "recorded"}, Spec: api.InstanceCatalogSpec{Complete: true, Types: c.InstanceTypes},
	})
}

// nodePlan is what docs/json.md promises of flotilla plan nodes.
type nodePlan struct {
	Commands []disruption.Command                 `json:"commands"`
	Stages   []string                             `json:"stages"`
	Eligible map[string][]string                  `json:"eligible"`
	Before   map[string]map[string]capacity.Count `json:"before"`
	Verdicts []disruption.Verdict                 `json:"verdicts"`
	Notes    []string                             `json:"notes"`
}

// decision is the plan in the form of the core's. Budgets are those of the methods that were tried; pods whose
// nodes go already are moved beside those of the command.
func (p *nodePlan) decision() *disruption.Decision {
	out := &disruption.Decision{
		Commands: p.Commands, Stages: p.Stages, Eligible: map[string][]string{}, Budgets: map[string]map[string]capacity.Count{}, Verdicts: p.Verdicts,
	}
	for method, nodes := range p.Eligible {
		out.Eligible[method] = append([]string{}, nodes...)
	}
	for _, method := range p.Stages {
		out.Budgets[reasonOfMethod[method]] = p.Before[reasonOfMethod[method]]
	}
	for i := range out.Commands {
		out.Commands[i].Moves = append(out.Commands[i].Moves, out.Commands[i].Beside...)
	}
	return out
}

// reasonOfMethod is what the budgets of a method are for.
var reasonOfMethod = map[string]string{
	disruption.MethodEmpty: api.ReasonEmpty, disruption.MethodStaticDrift: api.ReasonDrifted, disruption.MethodDrift: api.ReasonDrifted,
	disruption.MethodExpired: api.ReasonExpired, disruption.MethodMulti: api.ReasonUnderutilized, disruption.MethodSingle: api.ReasonUnderutilized,
}
