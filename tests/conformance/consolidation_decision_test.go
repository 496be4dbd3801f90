package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// departure is a decision of the specification that may explain another answer than the recorded one.
type departure struct {
	id string
	// off turns it back into the peer's rule.
	off func(*capacity.Departures)
	// concerns judges from the input alone whether a case may meet it.
	concerns func(*consolidationCase) bool
	// broken says how an answer does not keep what the decision promises, "" when it does.
	broken func(*consolidationCase, *disruption.Decision) string
}

// departures are those of consolidation. One that is first explains a case that several could.
var departures = []departure{
	{
		"N4", func(d *capacity.Departures) { d.NeverMatching = true },
		func(c *consolidationCase) bool { return len(c.neverMatching()) > 0 }, (*consolidationCase).countedNever,
	},
	{
		"N5", func(d *capacity.Departures) { d.WorthlessPods = true },
		func(c *consolidationCase) bool { return len(c.worthlessNodes()) > 0 },
		func(c *consolidationCase, got *disruption.Decision) string {
			return c.goes(got, c.worthlessNodes(), disruption.MethodEmpty)
		},
	},
	{
		"N6", func(d *capacity.Departures) { d.SpotPin = true },
		(*consolidationCase).lacksSpot, (*consolidationCase).pinnedToNothing,
	},
	{
		"N26", func(d *capacity.Departures) { d.OnlySold = true },
		(*consolidationCase).lacksSpotInAZone, (*consolidationCase).boughtAsNobodySells,
	},
	{
		"N19", func(d *capacity.Departures) { d.MissingLabels = true },
		func(c *consolidationCase) bool { return len(c.unlabelledNodes()) > 0 },
		func(c *consolidationCase, got *disruption.Decision) string {
			nodes := c.unlabelledNodes()
			return cmp.Or(c.goes(got, nodes, disruption.MethodDrift), c.goes(got, nodes, disruption.MethodMulti), c.goes(got, nodes, disruption.MethodSingle))
		},
	},
	{
		"N9", func(d *capacity.Departures) { d.ExceededBudgets = true },
		func(c *consolidationCase) bool { return len(c.exceededNodes()) > 0 },
		func(c *consolidationCase, got *disruption.Decision) string {
			return c.goes(got, c.exceededNodes(), "")
		},
	},
	{
		"N23", func(d *capacity.Departures) { d.PendingPods = true },
		func(c *consolidationCase) bool { return len(c.pendingPods()) > 0 }, (*consolidationCase).leftWithoutPlace,
	},
}

// concerning are the departures that may explain a case, from its input alone.
func (c *consolidationCase) concerning() []departure {
	return slices.DeleteFunc(slices.Clone(departures), func(d departure) bool { return !d.concerns(c) })
}

// explanation is one departure, or several together.
type explanation []departure

// explanations are what may explain a case, in the order in which they are tried: one departure alone, then
// all of them.
func explanations(concerning []departure) []explanation {
	var out []explanation
	for i := range concerning {
		out = append(out, concerning[i:i+1])
	}
	if len(concerning) > 1 {
		out = append(out, concerning)
	}
	return out
}

func (e explanation) id() string {
	var ids []string
	for _, d := range e {
		ids = append(ids, d.id)
	}
	return strings.Join(ids, "+")
}

func (e explanation) departures() capacity.Departures {
	var off capacity.Departures
	for _, d := range e {
		d.off(&off)
	}
	return off
}

func (e explanation) broken(c *consolidationCase, got *disruption.Decision) string {
	for _, d := range e {
		if text := d.broken(c, got); text != "" {
			return text
		}
	}
	return ""
}

// unlabelledNodes are those of a pool that lack a label which the provider sets, and that nothing but this
// could make drift.
func (c *consolidationCase) unlabelledNodes() []string {
	var out []string
	for i := range c.Nodes {
		n := &c.Nodes[i]
		lacks := slices.ContainsFunc(n.DropLabels, func(k string) bool { return slices.Contains(providedLabels, k) })
		if lacks && !n.Unmanaged && n.DriftReason == "" && n.PoolHash != "different" {
			out = append(out, n.Name)
		}
	}
	return out
}

// providedLabels are what a node is, which nobody but its provider knows.
var providedLabels = []string{api.LabelCapacityType, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable}

// goes says which of some nodes a decision takes, or would take, by a method; "" is any method.
func (c *consolidationCase) goes(got *disruption.Decision, nodes []string, method string) string {
	for _, command := range got.Commands {
		if method != "" && command.Method != method {
			continue
		}
		for _, n := range nodes {
			if slices.Contains(command.Nodes, n) {
				return fmt.Sprintf("node %s goes by method %s", n, command.Method)
			}
		}
	}
	for tried, eligible := range got.Eligible {
		for _, n := range nodes {
			if (method == "" || tried == method) && slices.Contains(eligible, n) && c.terminationGracePeriod(n) == "" {
				return fmt.Sprintf("node %s is a candidate of method %s", n, tried)
			}
		}
	}
	return ""
}

// pendingPods wait for a node.
func (c *consolidationCase) pendingPods() []*recordedPod {
	var out []*recordedPod
	for i := range c.Pods {
		if p := &c.Pods[i]; p.Node == "" && p.needsPlace() {
			out = append(out, p)
		}
	}
	return out
}

// leftWithoutPlace names a pod that waits, has the room on some node by itself, and has none on any node that
// stays, or a node that stays for a pod which does not wait.
func (c *consolidationCase) leftWithoutPlace(got *disruption.Decision) string {
	gone, launched := map[string]bool{}, 0
	for _, command := range got.Commands {
		launched += len(command.Replacements)
		for _, n := range command.Nodes {
			gone[n] = true
		}
	}
	for _, p := range c.pendingPods() {
		fits := func(n recordedNode) bool { return c.hasRoom(&n, p) }
		stays := func(n recordedNode) bool { return !gone[n.Name] && fits(n) }
		if launched == 0 && slices.ContainsFunc(c.Nodes, fits) && !slices.ContainsFunc(c.Nodes, stays) {
			return fmt.Sprintf("pod %s fits on no node that stays", p.Name)
		}
	}
	for _, v := range got.Verdicts {
		for _, r := range v.Refusals {
			waits := slices.ContainsFunc(c.pendingPods(), func(p *recordedPod) bool { return r.About == cmp.Or(p.Namespace, "default")+"/"+p.Name })
			if r.Code == disruption.CodePendingPodNeedsIt && !waits {
				return fmt.Sprintf("node %s stays for %s, which does not wait", v.Node, r.About)
			}
		}
	}
	return ""
}

// hasRoom compares requests and labels alone.
func (c *consolidationCase) hasRoom(n *recordedNode, p *recordedPod) bool {
	s := c.node(n)
	for k, v := range p.NodeSelector {
		if s.Labels[k] != v {
			return false
		}
	}
	cpu, memory := s.Allocatable["cpu"], s.Allocatable["memory"]
	for i := range c.Pods {
		if q := &c.Pods[i]; q.Node == n.Name && q.running() {
			cpu, memory = cpu-quantity("cpu", q.CPU), memory-quantity("memory", q.Memory)
		}
	}
	return !n.Deleting && !n.Marked && len(s.Taints) == 0 && quantity("cpu", p.CPU) <= cpu && quantity("memory", p.Memory) <= memory
}

func (c *consolidationCase) terminationGracePeriod(node string) string {
	for i := range c.Nodes {
		if c.Nodes[i].Name == node {
			return c.Nodes[i].TerminationGracePeriod
		}
	}
	return ""
}

// worthlessNodes run pods that need another node, none of which has a positive cost.
func (c *consolidationCase) worthlessNodes() []string {
	var out []string
	for _, n := range c.Nodes {
		pods, worth := 0, 0
		for i := range c.Pods {
			p := &c.Pods[i]
			if p.Node != n.Name || !p.needsPlace() {
				continue
			}
			pods++
			cost, _ := strconv.ParseInt(p.DeletionCost, 10, 32)
			if 1+float64(cost)/(1<<27)+float64(p.Priority)/(1<<25) > 0 {
				worth++
			}
		}
		if pods > 0 && worth == 0 {
			out = append(out, n.Name)
		}
	}
	return out
}

func (p *recordedPod) needsPlace() bool {
	return p.Owner != "DaemonSet" && p.Owner != "Node" && p.running() && !p.Terminating
}

func (p *recordedPod) running() bool { return p.Phase != "Succeeded" && p.Phase != "Failed" }

// exceededNodes run more evictable pods of one PDB than its disruptionsAllowed, which is above 0.
func (c *consolidationCase) exceededNodes() []string {
	var out []string
	for _, n := range c.Nodes {
		for _, b := range c.PDBs {
			covered := int32(0)
			for i := range c.Pods {
				p := &c.Pods[i]
				if p.Node == n.Name && p.running() && !p.Terminating && p.Owner != "Node" && p.DoNotDisrupt == "" && b.matches(p) {
					covered++
				}
			}
			if b.Allowed > 0 && covered > b.Allowed {
				out = append(out, n.Name)
			}
		}
	}
	return out
}

func (b *recordedPDB) matches(p *recordedPod) bool {
	if cmp.Or(b.Namespace, "default") != cmp.Or(p.Namespace, "default") {
		return false
	}
	for k, v := range b.MatchLabels {
		if p.Labels[k] != v {
			return false
		}
	}
	return true
}
