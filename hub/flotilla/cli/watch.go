package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"

	"flotilla/core/api"
)

// watch lists every second and shows what changed since, until the command is interrupted.
func (a *app) watch(ctx context.Context, o *getOptions, t target) error {
	seen := map[string]string{}
	w := &watchPrinter{app: a, output: &o.output, tables: map[string]*watchTable{}}
	for first := true; ; first = false {
		objects, missing, err := a.fetchTarget(ctx, t, o.selection)
		if err != nil {
			return stoppedOr(ctx, err)
		}
		if first && len(missing) > 0 {
			return joinErrors(ExitDifferent, missing)
		}
		changed := changedSince(seen, objects)
		if o.table() {
			a.addETAs(ctx, changed)
		}
		if err := w.print(changed, first && o.watchOnly); err != nil {
			return err
		}
		if !pause(ctx, time.Second) {
			return nil
		}
	}
}

// changedSince returns the objects that differ from what was seen, and remembers them.
func changedSince(seen map[string]string, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var changed []*unstructured.Unstructured
	for _, obj := range objects {
		key := refOf(obj).String()
		body, err := json.Marshal(steady(obj).Object)
		if err == nil && seen[key] != string(body) {
			seen[key] = string(body)
			changed = append(changed, obj)
		}
	}
	return changed
}

// steady leaves out the words of a node's verdict, some of which count seconds.
func steady(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj.GetKind() != api.KindMemberNode {
		return obj
	}
	obj = obj.DeepCopy()
	unstructured.RemoveNestedField(obj.Object, "status", "verdict", "message")
	return obj
}

// watchPrinter keeps a table for each kind, so that heads are printed once and rows stay in columns.
type watchPrinter struct {
	app    *app
	output *output
	tables map[string]*watchTable
}

// watchTable is what was shown first of a kind: later rows take its widths.
type watchTable struct {
	options printers.PrintOptions
	rows    []*unstructured.Unstructured
	headed  bool
}

// print shows objects; unseen ones only count for the widths of columns.
func (w *watchPrinter) print(objects []*unstructured.Unstructured, unseen bool) error {
	p, err := w.output.printer()
	if err != nil {
		return err
	}
	if p != nil {
		for _, obj := range objects {
			if unseen {
				continue
			}
			if err := print1(p, obj, w.app.Out); err != nil {
				return err
			}
		}
		return nil
	}
	for _, kind := range kindsAmong(objects) {
		if err := w.printKind(kind, ofKind(objects, kind), unseen); err != nil {
			return err
		}
	}
	return nil
}

// printKind renders the rows below those that were shown first, and shows the new ones.
func (w *watchPrinter) printKind(kind string, fresh []*unstructured.Unstructured, unseen bool) error {
	t := w.tables[kind]
	if t == nil {
		t = &watchTable{options: w.output.tableOptions(fresh, false)}
		w.tables[kind] = t
	}
	all := append(slices.Clip(t.rows), fresh...)
	if len(t.rows) == 0 {
		t.rows = fresh
	}
	if unseen {
		return nil
	}
	var text bytes.Buffer
	if err := printers.NewTablePrinter(t.options).PrintObj(tableOf(w.app.columns(kind), all, w.app.Now()), &text); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	lines := strings.SplitAfter(text.String(), "\n")
	lines = lines[:len(lines)-1] // what follows the last end of line
	if !t.options.NoHeaders && !t.headed {
		w.app.printf("%s", lines[0])
		t.headed = true
	}
	for _, line := range lines[len(lines)-len(fresh):] {
		w.app.printf("%s", line)
	}
	return nil
}
