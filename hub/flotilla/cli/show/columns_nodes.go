package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/overview"
	"flotilla/hub/flotilla/cli/session"
)

func nodeColumns(n *api.MemberNode, now time.Time) []Column {
	status := &n.Status
	verdict := orZero(status.Verdict)
	return []Column{
		{"Name", false, n.Name},
		{"Pool", false, session.OrDash(n.Spec.NodePool)},
		{"Type", false, session.OrDash(status.InstanceType)},
		{"Zone", false, session.OrDash(status.Zone)},
		{"Capacity", false, session.OrDash(status.CapacityType)},
		{"Pods", false, status.Pods},
		{"CPU", false, used(status, "cpu", 1000, "")},
		{"Mem", false, used(status, "memory", 1<<30, "Gi")},
		{"Price", false, status.Price},
		{"Age", false, session.Since(now, n.CreationTimestamp.Time)},
		{"Status", false, nodeState(n)},
		{"Verdict", false, nodeVerdict(&verdict)},
		{"Disruption", true, session.OrDash(status.Disruption)},
		{"Why", true, nodeWhy(&verdict)},
	}
}

func disruptionColumns(d *api.NodeDisruption, now time.Time) []Column {
	status := &d.Status
	return []Column{
		{"ID", false, d.Name},
		{"Member", false, d.Spec.Member},
		{"Reason", false, status.Reason},
		{"Method", false, status.Method},
		{"Phase", false, disruptionPhase(status)},
		{"Nodes", false, disruptionNodes(status.Nodes)},
		{"Replacement", false, disruptionReplacements(status.Replacements)},
		{"Savings", false, status.Savings},
		{"Age", false, session.Since(now, d.CreationTimestamp.Time)},
		{"Message", false, session.OrDash(session.Brief(shortMessage(status)))},
		{"Moves", true, len(status.Moves)},
		{"Killed", true, len(status.Killed)},
		{"Drift", true, session.OrDash(status.Drift)},
		{"In-Full", true, session.OrDash(status.Message)},
	}
}

// poolWithStatus is a NodePool as the hub shows it.
type poolWithStatus struct {
	api.NodePool
	Status api.NodePoolStatus `json:"status"`
}

func poolColumns(p *poolWithStatus, now time.Time) []Column {
	status := &p.Status
	known := func(number int) any {
		if len(status.Members) == 0 {
			return "-"
		}
		return number
	}
	return []Column{
		{"Name", false, p.Name},
		{"Members", false, known(len(status.Members))},
		{"Nodes", false, known(status.Nodes)},
		{"Disrupting", false, known(status.Disrupting)},
		{"Allowed", false, poolAllowed(status.Members)},
		{"Policy", false, p.Spec.Policy()},
		{"Expire", false, p.Spec.ExpireAfter()},
		{"Age", false, session.Since(now, p.CreationTimestamp.Time)},
		{"Warnings", false, poolWarnings(p)},
		{"After", true, p.Spec.ConsolidateAfter()},
		{"Lint", true, session.OrDash(strings.Join(status.Lint, "; "))},
	}
}

func instanceColumns(c *api.InstanceCatalog, now time.Time) []Column {
	least, most, offerings := math.Inf(1), 0.0, 0
	for i := range c.Spec.Types {
		for _, o := range c.Spec.Types[i].Offerings {
			offerings++
			least, most = min(least, float64(o.Price)), max(most, float64(o.Price))
		}
	}
	prices := "-"
	if !math.IsInf(least, 1) {
		prices = fmt.Sprintf("%.4f - %.4f", least, most)
	}
	return []Column{
		{"Name", false, c.Name},
		{"Types", false, len(c.Spec.Types)},
		{"Offerings", false, offerings},
		{"Prices", false, prices},
		{"Age", false, session.Since(now, c.CreationTimestamp.Time)},
	}
}

// used is what pods ask for of what a node has, "1.5/3.9".
func used(n *api.MemberNodeStatus, resource string, unit float64, suffix string) string {
	requested, all := float64(n.Requested[resource])/unit, float64(n.Allocatable[resource])/unit
	return strconv.FormatFloat(math.Ceil(requested*10)/10, 'f', -1, 64) + "/" + overview.OneDecimal(all) + suffix
}

func nodeState(n *api.MemberNode) string {
	state := n.Status.State
	if n.Status.Phase != "" {
		state += "," + n.Status.Phase
	}
	if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable }) {
		state += ",SchedulingDisabled"
	}
	return session.OrDash(state)
}

// nodeWhy is why a node stays, and for what it would go when it has drifted.
func nodeWhy(v *api.NodeVerdict) string {
	why := v.Message
	if v.Drift != "" {
		why = strings.TrimPrefix(why+"; it has drifted: "+v.Drift, "; ")
	}
	return session.OrDash(why)
}

func nodeVerdict(v *api.NodeVerdict) string {
	if v.Disrupt != "" {
		return "goes: " + v.Disrupt
	}
	return session.OrDash(v.Code)
}

func disruptionPhase(d *api.Disruption) string {
	if d.Ended.IsZero() && d.Phase == api.PhaseAborted {
		return d.Phase + ",Undoing"
	}
	return d.Phase
}

// shownNodes is how many nodes a cell names.
const shownNodes = 3

func disruptionNodes(nodes []string) string {
	text := strings.Join(nodes[:min(len(nodes), shownNodes)], ",")
	if more := len(nodes) - shownNodes; more > 0 {
		text += fmt.Sprintf(",+%d", more)
	}
	return session.OrDash(text)
}

// disruptionReplacements names new nodes, or the first type of those that are not there yet.
func disruptionReplacements(replacements []api.NodeReplacement) string {
	var cells []string
	for i := range replacements {
		r := &replacements[i]
		cell := r.Node
		if cell == "" && len(r.InstanceTypes) > 0 {
			cell = r.Pool + "/" + r.InstanceTypes[0]
		}
		switch {
		case r.Failed != "":
			cell += "(failed)"
		case r.Initialized:
			cell += "(ready)"
		}
		cells = append(cells, cell)
	}
	return session.OrDash(strings.Join(cells, ","))
}

// poolAllowed is how many more nodes may be disrupted on all members: one number when it is the same for
// every reason.
func poolAllowed(members []api.PoolMember) string {
	if len(members) == 0 {
		return "-"
	}
	allowed := map[string]capacity.Count{}
	for _, reason := range api.DisruptionReasons {
		for i := range members {
			n := capacity.Unbounded
			if left, limited := members[i].Allowed[reason]; limited {
				n = capacity.Count(left)
			}
			allowed[reason] = min(capacity.Unbounded, allowed[reason]+n)
		}
	}
	return byReason(allowed)
}

// violates is what an API server says of every eviction that it refuses, before it names the budget.
const violates = "Cannot evict pod as it would violate the pod's disruption budget: the disruption budget "

// shortMessage is the message of a disruption without what the other cells say, so that what it waits for
// comes first.
func shortMessage(d *api.Disruption) string {
	text := strings.ReplaceAll(d.Message, violates, "PodDisruptionBudget ")
	text = strings.ReplaceAll(text, ", whose eviction was refused", "")
	if len(d.Nodes) == 1 {
		text = strings.TrimPrefix(text, "node "+d.Nodes[0]+" ")
	}
	return text
}

// byReason is one number of nodes when all reasons have it, and names them otherwise.
func byReason(numbers map[string]capacity.Count) string {
	same := true
	var parts []string
	for _, reason := range api.DisruptionReasons {
		same = same && numbers[reason] == numbers[api.ReasonEmpty]
		parts = append(parts, reason+" "+numbers[reason].String())
	}
	if same {
		return numbers[api.ReasonEmpty].String()
	}
	return strings.Join(parts, ", ")
}

func poolWarnings(p *poolWithStatus) string {
	if p.DeletionTimestamp != nil {
		return "deleting: " + cmp.Or(strings.Join(p.Status.Unconfirmed, "; "), "nothing is left")
	}
	var warnings []string
	if lint := len(p.Status.Lint); lint > 0 {
		warnings = append(warnings, fmt.Sprintf("BudgetLint (%d)", lint))
	}
	unlisted := 0
	for i := range p.Status.Members {
		unlisted += p.Status.Members[i].NotInCatalog
	}
	if unlisted > 0 {
		warnings = append(warnings, fmt.Sprintf("%s (%d)", disruption.CodeNotInCatalog, unlisted))
	}
	return session.OrDash(strings.Join(warnings, ", "))
}
