package show

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// column is one column of a table: its head, whether only -o wide shows it, and its cell.
type column struct {
	Name string
	Wide bool
	cell func(v View) any
}

// ColumnsOf returns the columns of a kind.
func ColumnsOf(kind string) []column {
	switch kind {
	case api.KindMemberCluster:
		return memberColumns
	case api.KindClusterResourcePlacement, api.KindResourcePlacement:
		return placementColumns
	}
	if columns, ok := upgradeColumns[kind]; ok {
		return columns
	}
	if columns, ok := nodeKindColumns[kind]; ok {
		return columns
	}
	return contentColumns
}

// columnsFor are those of a kind, and the member of nodes unless one was named.
func columnsFor(kind, member string) []column {
	if kind == api.KindMemberNode && member == "" {
		return append([]column{memberColumn}, ColumnsOf(kind)...)
	}
	return ColumnsOf(kind)
}

var memberColumns = []column{
	{"Name", false, func(v View) any { return v.Object.GetName() }},
	{"State", false, memberState},
	{"Age", false, age},
	{"Version", false, func(v View) any { return session.OrDash(v.Text("status", "kubernetesVersion")) }},
	{"Nodes", false, func(v View) any { return session.OrDash(v.property(api.PropertyNodeCount, "nodes")) }},
	{"CPU-Free", false, func(v View) any { return session.OrDash(cores(v.usage("available", "cpu"))) }},
	{"Mem-Free", false, func(v View) any { return session.OrDash(gibibytes(v.usage("available", "memory"))) }},
	{"Placed", false, func(v View) any { return v.Number("status", "placed") }},
	{"Taints", true, memberTaints},
	{"Agent", true, func(v View) any { return session.OrDash(v.Text("status", "agentVersion")) }},
	{"Heartbeat", true, memberHeartbeat},
	{"Credentials", true, memberCredentials},
	{"Labels", false, memberLabels},
	{"Fleet-Labels", true, fleetLabels},
}

var placementColumns = []column{
	{"Name", false, func(v View) any { return v.Object.GetName() }},
	{"Gen", false, func(v View) any { return v.Object.GetGeneration() }},
	{"Want", false, wanted},
	{"Picked", false, func(v View) any { return v.Count("picked") }},
	{"Applied", false, func(v View) any { return v.Count("applied") }},
	{"Available", false, func(v View) any { return v.Count("available") }},
	{"Drift", false, func(v View) any { return v.Count("drifted") }},
	{"Failed", false, func(v View) any { return v.Count("failed") }},
	{"Age", false, age},
	{"Type", true, PlacementType},
	{"Current", true, func(v View) any { return v.Count("current") }},
	{"Snapshot", true, func(v View) any { return session.OrDash(v.Text("status", "observedResourceIndex")) }},
	{"State", true, placementState},
	{"Held-Up-By", true, heldUpCell},
}

var contentColumns = []column{
	{"Name", false, func(v View) any { return v.Object.GetName() }},
	{"Kind", true, func(v View) any { return v.Object.GetKind() }},
	{"Api-Version", true, func(v View) any { return v.Object.GetAPIVersion() }},
	{"Age", false, age},
}

func age(v View) any { return session.Since(v.now, v.Object.GetCreationTimestamp().Time) }

// memberCredentials is for how long the credentials of an agent hold, or what is wrong with them.
func memberCredentials(v View) any {
	state, ends := v.Text("status", "credentials", "state"), v.Text("status", "credentials", "ends")
	at, err := time.Parse(time.RFC3339, ends)
	switch {
	case err != nil || state != api.CredentialsValid && state != api.CredentialsOverdue:
		return session.OrDash(state)
	case state == api.CredentialsOverdue:
		return fmt.Sprintf("%s, %s left", state, duration.HumanDuration(at.Sub(v.now)))
	}
	return duration.HumanDuration(at.Sub(v.now)) + " left"
}

func memberState(v View) any {
	state := v.Text("status", "state")
	if v.Object.GetDeletionTimestamp() != nil {
		state = string(api.MemberLeaving)
	}
	if hasTaint(v.Object, api.TaintCordoned) {
		return session.OrDash(state) + ",Cordoned"
	}
	return session.OrDash(state)
}

func memberTaints(v View) any {
	var taints []string
	for _, t := range TaintsOf(v.Object) {
		taints = append(taints, t.String())
	}
	return session.OrDash(strings.Join(taints, ","))
}

func memberHeartbeat(v View) any {
	for _, agent := range resource.SliceOfMaps(v.Field("status", "agentStatus")) {
		if agent["type"] == api.AgentTypeMember {
			stamp, _ := agent["lastReceivedHeartbeat"].(string)
			if at, err := time.Parse(time.RFC3339, stamp); err == nil {
				return session.Since(v.now, at) + " ago"
			}
		}
	}
	return "-"
}

// memberLabels leaves out the label that repeats the name.
// fleetLabelPrefix is of labels that say where a member runs; they are long and the same in each fleet.
const fleetLabelPrefix = "fleet.azure.com/"

func memberLabels(v View) any {
	return labelPairs(v, func(key string) bool { return key != api.LabelMemberName && !strings.HasPrefix(key, fleetLabelPrefix) })
}

func fleetLabels(v View) any {
	return labelPairs(v, func(key string) bool { return strings.HasPrefix(key, fleetLabelPrefix) })
}

func labelPairs(v View, shown func(key string) bool) string {
	labels, found, _ := unstructured.NestedStringMap(v.Object.Object, "status", "labels")
	if !found {
		labels = v.Object.GetLabels()
	}
	var pairs []string
	for key, value := range labels {
		if shown(key) {
			pairs = append(pairs, key+"="+value)
		}
	}
	slices.Sort(pairs)
	return session.OrDash(strings.Join(pairs, ","))
}

func wanted(v View) any {
	if n := v.Count("want"); n >= 0 && v.Field("status", "counts") != nil {
		return fmt.Sprint(n)
	}
	if PlacementType(v) == string(api.PickAll) {
		return "all"
	}
	return "-"
}

// PlacementType is the type of a placement's policy.
func PlacementType(v View) any {
	if t := v.Text("spec", "policy", "placementType"); t != "" {
		return t
	}
	return string(api.PickAll)
}

// placementState is the first condition that is not True, or the last one that is.
func placementState(v View) any {
	state := "-"
	for _, c := range resource.SliceOfMaps(v.Field("status", "conditions")) {
		kind := resource.ShortCondition(v.Object.GetKind(), fmt.Sprint(c["type"]))
		if c["status"] != "True" {
			return fmt.Sprintf("%s=%v", kind, c["status"])
		}
		state = kind
	}
	return state
}

// heldUpCell is the same without its beginning, which is the head of the column, or what a rollout waits
// for that nobody holds up.
func heldUpCell(v View) any {
	return session.OrDash(strings.TrimPrefix(v.Text("status", "rollout", "message"), "held up by "))
}

// TaintsOf are the taints of a member.
func TaintsOf(member *unstructured.Unstructured) []api.Taint {
	var mc struct {
		Spec struct {
			Taints []api.Taint `json:"taints"`
		} `json:"spec"`
	}
	body, err := json.Marshal(member.Object)
	if err != nil || json.Unmarshal(body, &mc) != nil {
		return nil
	}
	return mc.Spec.Taints
}

func hasTaint(member *unstructured.Unstructured, key string) bool {
	for _, t := range TaintsOf(member) {
		if t.Key == key {
			return true
		}
	}
	return false
}
