package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"

	"flotilla/core/api"
)

// watch lists again whenever something changed, and shows what, until the command is interrupted.
func (a *app) watch(ctx context.Context, o *getOptions, t target) error {
	news, err := a.changesOf(ctx, a.watchedKinds(&t, o.selection)...)
	if err != nil {
		return stoppedOr(ctx, err)
	}
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
		if more, err := news.next(ctx); !more || err != nil {
			return err
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

// watchPrinter keeps a table for each kind, so that rows stay in columns and heads are printed only when columns widen.
type watchPrinter struct {
	app    *app
	output *output
	tables map[string]*watchTable
}

// watchTable is what has been shown of a kind: later rows take its widths, or widen them under a new head.
type watchTable struct {
	options printers.PrintOptions
	widest  []metav1.TableRow // those that the widths are of, as they were shown
	head    string            // the last one, with its widths
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

// printKind renders the rows below those that were shown before, and shows the new ones.
func (w *watchPrinter) printKind(kind string, fresh []*unstructured.Unstructured, unseen bool) error {
	t := w.tables[kind]
	if t == nil {
		t = &watchTable{options: w.output.tableOptions(fresh, false)}
		w.tables[kind] = t
	}
	table := tableOf(w.app.columns(kind), fresh, w.app.Now())
	table.Rows = append(slices.Clip(t.widest), table.Rows...)
	if unseen {
		t.widest = table.Rows
		return nil
	}
	lines, err := t.render(table, true)
	if err != nil {
		return err
	}
	wider := lines[0] != t.head
	if wider {
		t.head, t.widest = lines[0], table.Rows
	}
	if t.options.NoHeaders {
		if lines, err = t.render(table, false); err != nil {
			return err
		}
	}
	shown := strings.SplitAfter(w.app.table(strings.Join(lines, ""), !t.options.NoHeaders), "\n")
	shown = shown[:len(shown)-1] // what follows the last end of line
	if wider && !t.options.NoHeaders {
		w.app.printf("%s", shown[0])
	}
	w.app.printf("%s", strings.Join(shown[len(shown)-len(fresh):], ""))
	return nil
}

// render returns the lines of a table, the first one its head if it is to have one.
func (t *watchTable) render(table *metav1.Table, headed bool) ([]string, error) {
	options := t.options
	options.NoHeaders = !headed
	var text bytes.Buffer
	if err := printers.NewTablePrinter(options).PrintObj(table, &text); err != nil {
		return nil, fmt.Errorf("printing: %w", err)
	}
	return strings.SplitAfter(text.String(), "\n"), nil
}
