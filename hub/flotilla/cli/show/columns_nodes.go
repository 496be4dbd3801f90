package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/strict"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// nodeKindColumns are the columns of the kinds around nodes.
var nodeKindColumns = map[string][]column{
	api.KindMemberNode: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Pool", false, func(v View) any { return session.OrDash(v.Text("spec", "nodePool")) }},
		{"Type", false, func(v View) any { return session.OrDash(v.Text("status", "instanceType")) }},
		{"Zone", false, func(v View) any { return session.OrDash(v.Text("status", "zone")) }},
		{"Capacity", false, func(v View) any { return session.OrDash(v.Text("status", "capacityType")) }},
		{"Pods", false, func(v View) any { return v.Number("status", "pods") }},
		{"CPU", false, func(v View) any { return used(v, "cpu", 1000, "") }},
		{"Mem", false, func(v View) any { return used(v, "memory", 1<<30, "Gi") }},
		{"Price", false, func(v View) any { return hourly(v, "price") }},
		{"Age", false, age},
		{"Status", false, nodeState},
		{"Verdict", false, nodeVerdict},
		{"Disruption", true, func(v View) any { return session.OrDash(v.Text("status", "disruption")) }},
		{"Why", true, nodeWhy},
	},
	api.KindNodeDisruption: {
		{"ID", false, func(v View) any { return v.Object.GetName() }},
		{"Member", false, func(v View) any { return resource.MemberOf(v.Object) }},
		{"Reason", false, func(v View) any { return v.Text("status", "reason") }},
		{"Method", false, func(v View) any { return v.Text("status", "method") }},
		{"Phase", false, disruptionPhase},
		{"Nodes", false, disruptionNodes},
		{"Replacement", false, disruptionReplacements},
		{"Savings", false, func(v View) any { return hourly(v, "savings") }},
		{"Age", false, age},
		{"Message", false, func(v View) any { return session.OrDash(cut(shortMessage(v))) }},
		{"Moves", true, func(v View) any { return len(resource.SliceOfMaps(v.Field("status", "moves"))) }},
		{"Killed", true, func(v View) any { return len(resource.SliceOfMaps(v.Field("status", "killed"))) }},
		{"Drift", true, func(v View) any { return session.OrDash(v.Text("status", "drift")) }},
		{"In-Full", true, func(v View) any { return session.OrDash(v.Text("status", "message")) }},
	},
	api.KindNodePool: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Members", false, overMembers(func(v View) any { return len(resource.SliceOfMaps(v.Field("status", "members"))) })},
		{"Nodes", false, overMembers(func(v View) any { return v.Number("status", "nodes") })},
		{"Disrupting", false, overMembers(func(v View) any { return v.Number("status", "disrupting") })},
		{"Allowed", false, poolAllowed},
		{"Policy", false, func(v View) any { return onPool(v, (*api.NodePoolSpec).Policy) }},
		{"Expire", false, func(v View) any { return onPool(v, (*api.NodePoolSpec).ExpireAfter) }},
		{"Age", false, age},
		{"Warnings", false, poolWarnings},
		{"After", true, func(v View) any { return onPool(v, (*api.NodePoolSpec).ConsolidateAfter) }},
		{"Lint", true, func(v View) any { return session.OrDash(strings.Join(v.texts("status", "lint"), "; ")) }},
	},
	api.KindInstanceCatalog: {
		{"Name", false, func(v View) any { return v.Object.GetName() }},
		{"Types", false, func(v View) any { return len(resource.SliceOfMaps(v.Field("spec", "types"))) }},
		{"Offerings", false, func(v View) any { return len(offerings(v)) }},
		{"Prices", false, catalogPrices},
		{"Age", false, age},
	},
}

// memberColumn comes first where nodes of several members are listed.
var memberColumn = column{"Member", false, func(v View) any { return resource.MemberOf(v.Object) }}

func (v View) float(path ...string) float64 {
	switch n := v.Field(path...).(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

func (v View) texts(path ...string) []string {
	items, _ := v.Field(path...).([]any)
	var texts []string
	for _, item := range items {
		texts = append(texts, fmt.Sprint(item))
	}
	return texts
}

// used is what pods ask for of what a node has, "1.5/3.9".
func used(v View, resource string, unit float64, suffix string) string {
	requested, all := v.float("status", "requested", resource)/unit, v.float("status", "allocatable", resource)/unit
	return strconv.FormatFloat(math.Ceil(requested*10)/10, 'f', -1, 64) + "/" + oneDecimal(all) + suffix
}

// hourly is an amount per hour of a status, null where it is not known.
func hourly(v View, field string) string {
	return api.Hourly{Amount: v.float("status", field), Unknown: v.Field("status", field) == nil}.String()
}

func nodeState(v View) any {
	state := v.Text("status", "state")
	if phase := v.Text("status", "phase"); phase != "" {
		state += "," + phase
	}
	if slices.ContainsFunc(resource.SliceOfMaps(v.Field("spec", "taints")), func(t map[string]any) bool { return t["key"] == corev1.TaintNodeUnschedulable }) {
		state += ",SchedulingDisabled"
	}
	return session.OrDash(state)
}

// nodeWhy is why a node stays, and for what it would go when it has drifted.
func nodeWhy(v View) any {
	why := v.Text("status", "verdict", "message")
	if drift := v.Text("status", "verdict", "drift"); drift != "" {
		why = strings.TrimPrefix(why+"; it has drifted: "+drift, "; ")
	}
	return session.OrDash(why)
}

func nodeVerdict(v View) any {
	if reason := v.Text("status", "verdict", "disrupt"); reason != "" {
		return "goes: " + reason
	}
	return session.OrDash(v.Text("status", "verdict", "code"))
}

func disruptionPhase(v View) any {
	phase := v.Text("status", "phase")
	if v.Text("status", "ended") == "" && phase == api.PhaseAborted {
		return phase + ",Undoing"
	}
	return phase
}

// shownNodes is how many nodes a cell names.
const shownNodes = 3

func disruptionNodes(v View) any {
	nodes := v.texts("status", "nodes")
	text := strings.Join(nodes[:min(len(nodes), shownNodes)], ",")
	if more := len(nodes) - shownNodes; more > 0 {
		text += fmt.Sprintf(",+%d", more)
	}
	return session.OrDash(text)
}

// disruptionReplacements names new nodes, or the first type of those that are not there yet.
func disruptionReplacements(v View) any {
	var cells []string
	var replacements []api.NodeReplacement
	v.ReadInto(&replacements, "status", "replacements")
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

func onPool(v View, read func(*api.NodePoolSpec) string) any {
	var spec api.NodePoolSpec
	if !v.ReadInto(&spec, "spec") {
		return "-"
	}
	return read(&spec)
}

// poolAllowed is how many more nodes may be disrupted on all members: one number when it is the same for
// every reason.
func poolAllowed(v View) any {
	var members []api.PoolMember
	v.ReadInto(&members, "status", "members")
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
func shortMessage(v View) string {
	text := strings.ReplaceAll(v.Text("status", "message"), violates, "PodDisruptionBudget ")
	text = strings.ReplaceAll(text, ", whose eviction was refused", "")
	if nodes := v.texts("status", "nodes"); len(nodes) == 1 {
		text = strings.TrimPrefix(text, "node "+nodes[0]+" ")
	}
	return text
}

// shownRunes is how much of a message a cell holds.
const shownRunes = 120

// cut shortens a message; -o wide shows all of it.
func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= shownRunes {
		return text
	}
	return string(runes[:shownRunes-1]) + "…"
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

func poolWarnings(v View) any {
	if v.Object.GetDeletionTimestamp() != nil {
		return "deleting: " + cmp.Or(strings.Join(v.texts("status", "unconfirmed"), "; "), "nothing is left")
	}
	var warnings []string
	if lint := v.texts("status", "lint"); len(lint) > 0 {
		warnings = append(warnings, fmt.Sprintf("BudgetLint (%d)", len(lint)))
	}
	var members []api.PoolMember
	v.ReadInto(&members, "status", "members")
	unlisted := 0
	for i := range members {
		unlisted += members[i].NotInCatalog
	}
	if unlisted > 0 {
		warnings = append(warnings, fmt.Sprintf("%s (%d)", disruption.CodeNotInCatalog, unlisted))
	}
	return session.OrDash(strings.Join(warnings, ", "))
}

// overMembers is what a cell says of a pool's members, "-" while none is known.
func overMembers(cell func(View) any) func(View) any {
	return func(v View) any {
		if len(resource.SliceOfMaps(v.Field("status", "members"))) == 0 {
			return "-"
		}
		return cell(v)
	}
}

func offerings(v View) []map[string]any {
	var all []map[string]any
	for _, t := range resource.SliceOfMaps(v.Field("spec", "types")) {
		all = append(all, resource.SliceOfMaps(t["offerings"])...)
	}
	return all
}

// catalogPrices are the least and the highest price.
func catalogPrices(v View) any {
	least, most := math.Inf(1), 0.0
	for _, o := range offerings(v) {
		price, err := strict.ParseDecimal(fmt.Sprint(o["price"]))
		if err == nil {
			least, most = min(least, price), max(most, price)
		}
	}
	if math.IsInf(least, 1) {
		return "-"
	}
	return fmt.Sprintf("%.4f - %.4f", least, most)
}
