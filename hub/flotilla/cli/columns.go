package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
)

// column is one column of a table: its head, whether only -o wide shows it, and its cell.
type column struct {
	name string
	wide bool
	cell func(v view) any
}

// columnsOf returns the columns of a kind.
func columnsOf(kind string) []column {
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
		return append([]column{memberColumn}, columnsOf(kind)...)
	}
	return columnsOf(kind)
}

var memberColumns = []column{
	{"Name", false, func(v view) any { return v.object.GetName() }},
	{"State", false, memberState},
	{"Age", false, age},
	{"Version", false, func(v view) any { return orDash(v.text("status", "kubernetesVersion")) }},
	{"Nodes", false, func(v view) any { return orDash(v.property(api.PropertyNodeCount, "nodes")) }},
	{"CPU-Free", false, func(v view) any { return orDash(cores(v.usage("available", "cpu"))) }},
	{"Mem-Free", false, func(v view) any { return orDash(gibibytes(v.usage("available", "memory"))) }},
	{"Placed", false, func(v view) any { return v.number("status", "placed") }},
	{"Taints", true, memberTaints},
	{"Agent", true, func(v view) any { return orDash(v.text("status", "agentVersion")) }},
	{"Heartbeat", true, memberHeartbeat},
	{"Credentials", true, memberCredentials},
	{"Labels", false, memberLabels},
	{"Fleet-Labels", true, fleetLabels},
}

var placementColumns = []column{
	{"Name", false, func(v view) any { return v.object.GetName() }},
	{"Gen", false, func(v view) any { return v.object.GetGeneration() }},
	{"Want", false, wanted},
	{"Picked", false, func(v view) any { return v.count("picked") }},
	{"Applied", false, func(v view) any { return v.count("applied") }},
	{"Available", false, func(v view) any { return v.count("available") }},
	{"Drift", false, func(v view) any { return v.count("drifted") }},
	{"Failed", false, func(v view) any { return v.count("failed") }},
	{"Age", false, age},
	{"Type", true, placementType},
	{"Current", true, func(v view) any { return v.count("current") }},
	{"Snapshot", true, func(v view) any { return orDash(v.text("status", "observedResourceIndex")) }},
	{"State", true, placementState},
	{"Held-Up-By", true, heldUpCell},
}

var contentColumns = []column{
	{"Name", false, func(v view) any { return v.object.GetName() }},
	{"Kind", true, func(v view) any { return v.object.GetKind() }},
	{"Api-Version", true, func(v view) any { return v.object.GetAPIVersion() }},
	{"Age", false, age},
}

func age(v view) any { return since(v.now, v.object.GetCreationTimestamp().Time) }

// memberCredentials is for how long the credentials of an agent hold, or what is wrong with them.
func memberCredentials(v view) any {
	state, ends := v.text("status", "credentials", "state"), v.text("status", "credentials", "ends")
	at, err := time.Parse(time.RFC3339, ends)
	switch {
	case err != nil || state != api.CredentialsValid && state != api.CredentialsOverdue:
		return orDash(state)
	case state == api.CredentialsOverdue:
		return fmt.Sprintf("%s, %s left", state, duration.HumanDuration(at.Sub(v.now)))
	}
	return duration.HumanDuration(at.Sub(v.now)) + " left"
}

func memberState(v view) any {
	state := v.text("status", "state")
	if v.object.GetDeletionTimestamp() != nil {
		state = string(api.MemberLeaving)
	}
	if hasTaint(v.object, api.TaintCordoned) {
		return orDash(state) + ",Cordoned"
	}
	return orDash(state)
}

func memberTaints(v view) any {
	var taints []string
	for _, t := range taintsOf(v.object) {
		taints = append(taints, t.String())
	}
	return orDash(strings.Join(taints, ","))
}

func memberHeartbeat(v view) any {
	for _, agent := range sliceOfMaps(v.field("status", "agentStatus")) {
		if agent["type"] == api.AgentTypeMember {
			stamp, _ := agent["lastReceivedHeartbeat"].(string)
			if at, err := time.Parse(time.RFC3339, stamp); err == nil {
				return since(v.now, at) + " ago"
			}
		}
	}
	return "-"
}

// memberLabels leaves out the label that repeats the name.
// fleetLabelPrefix is of labels that say where a member runs; they are long and the same in each fleet.
const fleetLabelPrefix = "fleet.azure.com/"

func memberLabels(v view) any {
	return labelPairs(v, func(key string) bool { return key != api.LabelMemberName && !strings.HasPrefix(key, fleetLabelPrefix) })
}

func fleetLabels(v view) any {
	return labelPairs(v, func(key string) bool { return strings.HasPrefix(key, fleetLabelPrefix) })
}

func labelPairs(v view, shown func(key string) bool) string {
	labels, found, _ := unstructured.NestedStringMap(v.object.Object, "status", "labels")
	if !found {
		labels = v.object.GetLabels()
	}
	var pairs []string
	for key, value := range labels {
		if shown(key) {
			pairs = append(pairs, key+"="+value)
		}
	}
	slices.Sort(pairs)
	return orDash(strings.Join(pairs, ","))
}

func wanted(v view) any {
	if n := v.count("want"); n >= 0 && v.field("status", "counts") != nil {
		return fmt.Sprint(n)
	}
	if placementType(v) == string(api.PickAll) {
		return "all"
	}
	return "-"
}

func placementType(v view) any {
	if t := v.text("spec", "policy", "placementType"); t != "" {
		return t
	}
	return string(api.PickAll)
}

// placementState is the first condition that is not True, or the last one that is.
func placementState(v view) any {
	state := "-"
	for _, c := range sliceOfMaps(v.field("status", "conditions")) {
		kind := shortCondition(v.object.GetKind(), fmt.Sprint(c["type"]))
		if c["status"] != "True" {
			return fmt.Sprintf("%s=%v", kind, c["status"])
		}
		state = kind
	}
	return state
}

// heldUpCell is the same without its beginning, which is the head of the column, or what a rollout waits
// for that nobody holds up.
func heldUpCell(v view) any {
	return orDash(strings.TrimPrefix(v.text("status", "rollout", "message"), "held up by "))
}

func taintsOf(member *unstructured.Unstructured) []api.Taint {
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
	for _, t := range taintsOf(member) {
		if t.Key == key {
			return true
		}
	}
	return false
}
