package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
)

type getOptions struct {
	output
	selection
	watch      bool
	watchOnly  bool
	raw        bool
	ignoreGone bool
}

func (a *app) getCommand() *cobra.Command {
	o := &getOptions{}
	cmd := &cobra.Command{
		Use:   "get TYPE[,TYPE…] | TYPE NAME… | TYPE/NAME…",
		Short: "Show objects: placements, members, and the content they place",
		Long: `Show objects as a table, or as JSON, YAML, names, JSONPath or columns of your own.

Types are named in plural, singular or short (placements, placement, crp; members, mc; deploy).
Any other kind that the hub holds is named in capitals: Widget.v1.example.com.`,
		Example: `  flotilla get placements
  flotilla get members -o wide --sort-by .status.placed
  flotilla get placement/web -o jsonpath='{.status.counts.available}'
  flotilla get deployments -A -l app=web -w`,
		RunE: a.run(func(ctx context.Context, args []string) error { return a.get(ctx, o, args) }),
	}
	o.addFlags(cmd)
	a.namespaceFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.labels, "selector", "l", "", "only objects whose labels match")
	cmd.Flags().BoolVarP(&o.selection.allNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show objects again whenever they change")
	cmd.Flags().BoolVar(&o.watchOnly, "watch-only", false, "show only changes")
	cmd.Flags().BoolVar(&o.ignoreGone, "ignore-not-found", false, "a missing object is not an error")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "show the records that the hub keeps of an object, or of a key such as schedule.web or result/berlin.placement.web")
	return cmd
}

func (a *app) get(ctx context.Context, o *getOptions, args []string) error {
	a.machine = !o.table()
	o.output.allNamespaces = o.selection.allNamespaces
	o.brief = o.table() && o.sortBy == ""
	if o.raw {
		return a.getRaw(ctx, args)
	}
	t, err := parseTarget(args, a.namespace)
	if err != nil {
		return err
	}
	if _, err := o.printer(); err != nil {
		return err
	}
	if o.watch || o.watchOnly {
		return a.watch(ctx, o, t)
	}
	objects, missing, err := a.fetchTarget(ctx, t, o.selection)
	if err != nil {
		return err
	}
	single := len(t.refs) == 1 && len(t.kinds) == 0
	if len(objects) == 0 && !single && len(missing) == 0 && o.table() {
		say(a.Err, "%s\n", nothingFound(t))
		return nil
	}
	if len(objects) > 0 || !single {
		if err := a.printObjects(&o.output, objects, single); err != nil {
			return err
		}
	}
	if o.ignoreGone {
		return nil
	}
	return joinErrors(ExitDifferent, missing)
}

func nothingFound(t target) string {
	var words []string
	for _, k := range t.kinds {
		words = append(words, k.plural)
	}
	return "no " + strings.Join(words, ", ") + " found"
}

// watch lists every second and shows what changed since, until the command is interrupted.
func (a *app) watch(ctx context.Context, o *getOptions, t target) error {
	seen := map[string]string{}
	w := &watchPrinter{app: a, output: &o.output, tables: map[string]printers.ResourcePrinter{}}
	for first := true; ; first = false {
		objects, missing, err := a.fetchTarget(ctx, t, o.selection)
		if err != nil {
			return stoppedOr(ctx, err)
		}
		if first && len(missing) > 0 {
			return joinErrors(ExitDifferent, missing)
		}
		changed := changedSince(seen, objects)
		if !first || !o.watchOnly {
			if err := w.print(changed); err != nil {
				return err
			}
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
		body, err := json.Marshal(obj.Object)
		if err == nil && seen[key] != string(body) {
			seen[key] = string(body)
			changed = append(changed, obj)
		}
	}
	return changed
}

// watchPrinter keeps one table printer a kind, so that heads are printed once.
type watchPrinter struct {
	app    *app
	output *output
	tables map[string]printers.ResourcePrinter
}

func (w *watchPrinter) print(objects []*unstructured.Unstructured) error {
	p, err := w.output.printer()
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if p != nil {
			if err := print1(p, obj, w.app.Out); err != nil {
				return err
			}
			continue
		}
		one := []*unstructured.Unstructured{obj}
		kind := obj.GetKind()
		if w.tables[kind] == nil {
			w.tables[kind] = printers.NewTablePrinter(w.output.tableOptions(one, false))
		}
		if err := w.tables[kind].PrintObj(tableOf(columnsOf(kind), one, w.app.Now()), w.app.Out); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}
