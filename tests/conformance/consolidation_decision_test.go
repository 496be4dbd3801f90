package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"flotilla/core/disruption"
)

// switchedOff is what turns each decision of the specification back into the peer's rule.
var switchedOff = map[string]disruption.Departures{
	"N5": {WorthlessPods: true},
	"N9": {ExceededBudgets: true},
}

// explanation names the decision that may explain a difference, from the input alone: N5 when a node
// runs pods and each of them costs nothing to move, N9 when more pods of one PDB are on a node than
// it lets go. A case with both is N5's: it must agree with N5 alone switched off.
func (c *consolidationCase) explanation() string {
	worthless, exceeded := c.worthlessNodes(), c.exceededNodes()
	switch {
	case len(worthless) > 0:
		return "N5"
	case len(exceeded) > 0:
		return "N9"
	default:
		return ""
	}
}

// holds returns how a decision's promise is broken, "" when it is kept: by N5 no node with pods goes
// as empty, by N9 no node goes whose pods a PDB cannot all let go.
func (c *consolidationCase) holds(decision string, got *disruption.Decision) string {
	nodes, spared := c.exceededNodes(), ""
	if decision == "N5" {
		nodes, spared = c.worthlessNodes(), disruption.MethodEmpty
	}
	for _, command := range got.Commands {
		if spared != "" && command.Method != spared {
			continue
		}
		for _, n := range nodes {
			if slices.Contains(command.Nodes, n) {
				return fmt.Sprintf("node %s goes by method %s", n, command.Method)
			}
		}
	}
	for method, eligible := range got.Eligible {
		for _, n := range nodes {
			if (spared == "" || method == spared) && slices.Contains(eligible, n) && c.terminationGracePeriod(n) == "" {
				return fmt.Sprintf("node %s is a candidate of method %s", n, method)
			}
		}
	}
	return ""
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
