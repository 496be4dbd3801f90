package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"flotilla/core/api"
)

// column is one column of a table: its head, whether only -o wide shows it, and its cell.
type column struct {
	name string
	wide bool
	cell func(v view) any
}

// view is an object with the moment it is looked at.
type view struct {
	object *unstructured.Unstructured
	now    time.Time
}

// columnsOf returns the columns of a kind.
func columnsOf(kind string) []column {
	switch kind {
	case api.KindMemberCluster:
		return memberColumns
	case api.KindClusterResourcePlacement, api.KindResourcePlacement:
		return placementColumns
	default:
		return contentColumns
	}
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
	{"Labels", false, memberLabels},
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
}

var contentColumns = []column{
	{"Name", false, func(v view) any { return v.object.GetName() }},
	{"Kind", true, func(v view) any { return v.object.GetKind() }},
	{"Api-Version", true, func(v view) any { return v.object.GetAPIVersion() }},
	{"Age", false, age},
}

func (v view) field(path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(v.object.Object, path...)
	return value
}

func (v view) text(path ...string) string {
	s, _ := v.field(path...).(string)
	return s
}

func (v view) number(path ...string) int64 {
	switch n := v.field(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func (v view) count(name string) int64 { return v.number("status", "counts", name) }

func (v view) usage(capacity, resource string) string {
	return v.text("status", "resourceUsage", capacity, resource)
}

// cores shows a CPU quantity in cores, "44650m" as 44.6; what is no quantity stays as it is.
func cores(text string) string {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return text
	}
	return oneDecimal(q.AsApproximateFloat64())
}

// gibibytes shows a memory quantity in GiB, "78336Mi" as 76.5Gi.
func gibibytes(text string) string {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return text
	}
	return oneDecimal(q.AsApproximateFloat64()/(1<<30)) + "Gi"
}

// oneDecimal rounds down, so that nothing is shown as free that is not.
func oneDecimal(f float64) string {
	return strconv.FormatFloat(math.Floor(f*10)/10, 'f', -1, 64)
}

func (v view) property(name, field string) string {
	if s := v.text("status", "properties", name, "value"); s != "" {
		return s
	}
	if n := v.number("status", field); n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func age(v view) any { return since(v.now, v.object.GetCreationTimestamp().Time) }

func since(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
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
		taints = append(taints, taintString(t))
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
func memberLabels(v view) any {
	labels, found, _ := unstructured.NestedStringMap(v.object.Object, "status", "labels")
	if !found {
		labels = v.object.GetLabels()
	}
	var pairs []string
	for key, value := range labels {
		if key != api.LabelMemberName {
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

func sliceOfMaps(value any) []map[string]any {
	items, _ := value.([]any)
	var maps []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// tableOf builds kubectl's table of objects of one kind.
func tableOf(columns []column, objects []*unstructured.Unstructured, now time.Time) *metav1.Table {
	t := &metav1.Table{}
	for _, c := range columns {
		def := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.wide {
			def.Priority = 1
		}
		if c.name == "Name" {
			def.Format = "name"
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, def)
	}
	for _, obj := range objects {
		row := metav1.TableRow{Object: runtime.RawExtension{Object: obj}}
		for _, c := range columns {
			row.Cells = append(row.Cells, c.cell(view{obj, now}))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// printTables prints one table for each kind among the objects, in the order in which kinds appear.
func (a *app) printTables(o *output, objects []*unstructured.Unstructured) error {
	var order []string
	byKind := map[string][]*unstructured.Unstructured{}
	for _, obj := range objects {
		kind := obj.GetKind()
		if byKind[kind] == nil {
			order = append(order, kind)
		}
		byKind[kind] = append(byKind[kind], obj)
	}
	for i, kind := range order {
		if i > 0 {
			a.printf("\n")
		}
		options := o.tableOptions(byKind[kind], len(order) > 1)
		table := tableOf(columnsOf(kind), byKind[kind], a.Now())
		if err := printers.NewTablePrinter(options).PrintObj(table, a.Out); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

func (o *output) tableOptions(objects []*unstructured.Unstructured, withKind bool) printers.PrintOptions {
	options := printers.PrintOptions{NoHeaders: o.noHeaders, Wide: o.format == "wide", ShowLabels: o.showLabels}
	namespaces := map[string]bool{}
	for _, obj := range objects {
		namespaces[obj.GetNamespace()] = true
	}
	options.WithNamespace = o.allNamespaces && (len(namespaces) > 1 || !namespaces[""])
	if withKind && len(objects) > 0 {
		options.WithKind = true
		options.Kind.Kind = shortWord(objects[0].GetKind())
	}
	return options
}
