package show

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
)

// WatchPrinter keeps a table for each kind, so that rows stay in columns and heads are printed only when columns widen.
type WatchPrinter struct {
	Client *resource.Client
	Output *Output
	Tables map[string]*WatchTable
}

// WatchTable is what has been shown of a kind: later rows take its widths, or widen them under a new head.
type WatchTable struct {
	options printers.PrintOptions
	widest  []metav1.TableRow // those that the widths are of, as they were shown
	head    string            // the last one, with its widths
}

// printKind renders the rows below those that were shown before, and shows the new ones.
func (w *WatchPrinter) printKind(kind string, fresh []*unstructured.Unstructured, unseen bool) error {
	t := w.Tables[kind]
	if t == nil {
		t = &WatchTable{options: w.Output.tableOptions(fresh, false)}
		w.Tables[kind] = t
	}
	table := tableOf(fresh, w.Client.Member, w.Client.Now())
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
	shown := strings.SplitAfter(string(w.Client.Table(strings.Join(lines, ""), !t.options.NoHeaders)), "\n")
	shown = shown[:len(shown)-1] // what follows the last end of line
	if wider && !t.options.NoHeaders {
		w.Client.Paint(session.Painted(shown[0]))
	}
	w.Client.Paint(session.Painted(strings.Join(shown[len(shown)-len(fresh):], "")))
	return nil
}

// render returns the lines of a table, the first one its head if it is to have one.
func (t *WatchTable) render(table *metav1.Table, headed bool) ([]string, error) {
	options := t.options
	options.NoHeaders = !headed
	var text bytes.Buffer
	if err := printers.NewTablePrinter(options).PrintObj(table, &text); err != nil {
		return nil, fmt.Errorf("printing: %w", err)
	}
	return strings.SplitAfter(text.String(), "\n"), nil
}

// Print shows objects; unseen ones only count for the widths of columns.
func (w *WatchPrinter) Print(objects []*unstructured.Unstructured, unseen bool) error {
	p, err := w.Output.Printer()
	if err != nil {
		return err
	}
	if p != nil {
		for _, obj := range objects {
			if unseen {
				continue
			}
			if err := Print1(p, obj, w.Client.Out); err != nil {
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
