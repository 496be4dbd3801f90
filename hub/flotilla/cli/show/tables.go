package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
)

// tableOf builds kubectl's table of objects of one kind.
func tableOf(objects []*unstructured.Unstructured, member string, now time.Time) *metav1.Table {
	t := &metav1.Table{}
	for i, obj := range objects {
		row := metav1.TableRow{Object: runtime.RawExtension{Object: fleetLabelled(obj)}}
		for _, c := range columnsFor(obj, member, now) {
			if i == 0 {
				t.ColumnDefinitions = append(t.ColumnDefinitions, definition(c))
			}
			row.Cells = append(row.Cells, c.cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func definition(c Column) metav1.TableColumnDefinition {
	def := metav1.TableColumnDefinition{Name: c.Name, Type: "string"}
	if c.Wide {
		def.Priority = 1
	}
	if c.Name == "Name" {
		def.Format = "name"
	}
	return def
}

// fleetLabelled bears the labels that placements see, of a member those of its agent too.
func fleetLabelled(obj *unstructured.Unstructured) *unstructured.Unstructured {
	labels, found, _ := unstructured.NestedStringMap(obj.Object, "status", "labels")
	if !found || obj.GetKind() != api.KindMemberCluster {
		return obj
	}
	labelled := &unstructured.Unstructured{}
	labelled.SetName(obj.GetName())
	labelled.SetLabels(labels)
	return labelled
}

// printTables prints one table for each kind among the objects, in the order in which kinds appear.
func (o *Output) printTables(a *resource.Client, objects []*unstructured.Unstructured) error {
	order := kindsAmong(objects)
	for i, kind := range order {
		if i > 0 {
			a.Printf("\n")
		}
		rows := ofKind(objects, kind)
		options := o.tableOptions(rows, len(order) > 1)
		table := tableOf(rows, a.Member, a.Now())
		var text strings.Builder
		if err := printers.NewTablePrinter(options).PrintObj(table, &text); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		a.Paint(a.Table(text.String(), !options.NoHeaders))
	}
	return nil
}

// kindsAmong lists the kinds of objects in the order in which they appear.
func kindsAmong(objects []*unstructured.Unstructured) []string {
	var order []string
	for _, obj := range objects {
		if !slices.Contains(order, obj.GetKind()) {
			order = append(order, obj.GetKind())
		}
	}
	return order
}

func ofKind(objects []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	var rows []*unstructured.Unstructured
	for _, obj := range objects {
		if obj.GetKind() == kind {
			rows = append(rows, obj)
		}
	}
	return rows
}

func (o *Output) tableOptions(objects []*unstructured.Unstructured, withKind bool) printers.PrintOptions {
	options := printers.PrintOptions{NoHeaders: o.NoHeaders, Wide: o.Format == "wide", ShowLabels: o.ShowLabels, ColumnLabels: o.LabelColumns}
	if len(objects) > 0 && objects[0].GetKind() == api.KindMemberCluster {
		options.ShowLabels = false // the table of members has them
	}
	namespaces := map[string]bool{}
	for _, obj := range objects {
		namespaces[obj.GetNamespace()] = true
	}
	options.WithNamespace = o.AllNamespaces && (len(namespaces) > 1 || !namespaces[""])
	if withKind && len(objects) > 0 {
		options.WithKind = true
		options.Kind.Kind = resource.ShortWord(objects[0].GetKind())
	}
	return options
}
