package front

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
)

// column is one of a table of objects, after that of their names.
type column struct {
	name string
	wide bool // shown by -o wide alone
	cell func(map[string]any) any
}

// columns are those of kinds, before that of their age.
var columns = map[string][]column{
	api.KindClusterResourcePlacement: placementColumns("ClusterResourcePlacement"),
	api.KindResourcePlacement:        placementColumns("ResourcePlacement"),
	api.KindMemberCluster:            {{"State", false, at("status", "state")}, {"Nodes", false, number("status", "nodes")}, {"Placed", false, number("status", "placed")}, {"Version", false, at("status", "kubernetesVersion")}},
	api.KindUpdateRun:                {{"State", false, at("status", "state")}},
	api.KindClusterStagedUpdateRun:   {{"Placement", false, at("spec", "placementName")}, {"State", false, at("status", "state")}},
	api.KindStagedUpdateRun:          {{"Placement", false, at("spec", "placementName")}, {"State", false, at("status", "state")}},
	api.KindClusterResourceOverride:  {{"Placement", false, at("spec", "placement", "name")}},
	api.KindResourceOverride:         {{"Placement", false, at("spec", "placement", "name")}},
	"Namespace":                      {{"Status", false, or(at("status", "phase"), "Active")}},
	"ConfigMap":                      {{"Data", false, size("data")}},
	"Secret":                         {{"Type", false, or(at("type"), "Opaque")}, {"Data", false, size("data")}},
	"Service": {
		{"Type", false, or(at("spec", "type"), "ClusterIP")},
		{"Cluster-IP", false, or(at("spec", "clusterIP"), "<none>")},
		{"External-IP", false, or(at("spec", "externalName"), "<none>")},
		{"Port(s)", false, ports},
		{"Selector", true, selector("spec", "selector")},
	},
	"Deployment": {
		{"Ready", false, of(at("status", "readyReplicas"), at("spec", "replicas"))},
		{"Up-to-date", false, number("status", "updatedReplicas")},
		{"Available", false, number("status", "availableReplicas")},
		{"Containers", true, containers("name")},
		{"Images", true, containers("image")},
		{"Selector", true, selector("spec", "selector", "matchLabels")},
	},
	"StatefulSet": {{"Ready", false, of(at("status", "readyReplicas"), at("spec", "replicas"))}},
	"DaemonSet": {
		{"Desired", false, number("status", "desiredNumberScheduled")},
		{"Ready", false, number("status", "numberReady")},
		{"Available", false, number("status", "numberAvailable")},
	},
	"ReplicaSet": {{"Desired", false, number("spec", "replicas")}, {"Ready", false, number("status", "readyReplicas")}},
	"Job":        {{"Completions", false, of(at("status", "succeeded"), at("spec", "completions"))}},
	"CronJob":    {{"Schedule", false, at("spec", "schedule")}, {"Suspend", false, at("spec", "suspend")}},
}

// placementColumns are those that KubeFleet shows.
func placementColumns(kind string) []column {
	return []column{
		{"Gen", false, at("metadata", "generation")},
		{"Scheduled", false, condition(kind+"Scheduled", "status")},
		{"Scheduled-Gen", true, condition(kind+"Scheduled", "observedGeneration")},
		{"Available", false, condition(kind+"Available", "status")},
		{"Available-Gen", true, condition(kind+"Available", "observedGeneration")},
	}
}

// at is a value of an object.
func at(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
		return value
	}
}

// number is a value of an object, 0 where there is none.
func number(path ...string) func(map[string]any) any {
	value := at(path...)
	return func(o map[string]any) any {
		if found := value(o); found != nil {
			return found
		}
		return int64(0)
	}
}

// of is how many of how many, as "1/3".
func of(have, want func(map[string]any) any) func(map[string]any) any {
	return func(o map[string]any) any {
		some, all := have(o), want(o)
		if some == nil {
			some = 0
		}
		if all == nil {
			all = 1
		}
		return fmt.Sprintf("%v/%v", some, all)
	}
}

// size is how many entries there are.
func size(path ...string) func(map[string]any) any {
	value := at(path...)
	return func(o map[string]any) any {
		entries, _ := value(o).(map[string]any)
		return int64(len(entries))
	}
}

// condition is a field of a condition of an object.
func condition(kind, field string) func(map[string]any) any {
	return func(o map[string]any) any {
		all, _, _ := unstructured.NestedSlice(o, "status", "conditions")
		for _, one := range all {
			if c, is := one.(map[string]any); is && c["type"] == kind {
				return c[field]
			}
		}
		return nil
	}
}

// tables makes tables of objects of a kind.
type tables struct {
	kind *kind
	now  func() time.Time
}

// ConvertToTable makes the table of an object or of a list of some.
func (t tables) ConvertToTable(_ context.Context, o, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if list, err := meta.ListAccessor(o); err == nil {
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(o); err == nil {
		table.ResourceVersion = one.GetResourceVersion()
	}
	if opt, is := options.(*metav1.TableOptions); !is || !opt.NoHeaders {
		table.ColumnDefinitions = t.headers()
	}
	row := func(o runtime.Object) error {
		u, is := o.(*unstructured.Unstructured)
		if !is {
			return fmt.Errorf("found %T, expected an object of a fleet", o)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: t.cells(u), Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if meta.IsListType(o) {
		return table, meta.EachListItem(o, row)
	}
	return table, row(o)
}

func (t tables) headers() []metav1.TableColumnDefinition {
	all := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}
	t.eachColumn(func(c *column) {
		header := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.wide {
			header.Priority = 1
		}
		all = append(all, header)
	})
	return all
}

// mostRow is what the cells of a row show together at most, in bytes: a definition may show one field in each.
const mostRow = 4 << 10

func (t tables) cells(u *unstructured.Unstructured) []any {
	cells, left := []any{u.GetName()}, mostRow
	t.eachColumn(func(c *column) {
		cell := c.cell(u.Object)
		if text, is := cell.(string); is {
			text = shortened(text, left)
			left = max(0, left-len(text))
			cell = text
		}
		cells = append(cells, cell)
	})
	return cells
}

// eachColumn calls do with the columns after that of names: wide ones come behind that of ages.
func (t tables) eachColumn(do func(*column)) {
	all := t.kind.columns()
	for _, wide := range []bool{false, true} {
		for i := range all {
			if all[i].wide == wide {
				do(&all[i])
			}
		}
		if !wide {
			do(&column{name: "Age", cell: t.age})
		}
	}
}

func (t tables) age(o map[string]any) any {
	made := (&unstructured.Unstructured{Object: o}).GetCreationTimestamp()
	return duration.HumanDuration(t.now().Sub(made.Time))
}
