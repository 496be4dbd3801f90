package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type getOptions struct {
	output
	selection
	watch      bool
	watchOnly  bool
	raw        bool
	ignoreGone bool
	members    bool
}

func (a objectCommands) getCommand() *cobra.Command {
	o := &getOptions{}
	cmd := &cobra.Command{
		Use:   "get TYPE[,TYPE…] | TYPE NAME… | TYPE/NAME…",
		Short: "Show objects: placements, members, update runs, nodes, and the content that is placed",
		Long: `Show objects as a table, or as JSON, YAML, names, JSONPath or columns of your own.

Types are named in plural, singular or short (placements, placement, crp; members, mc; runs, ur; strategies,
profiles, catalogs, maintenance, gates; nodes, disruptions, nodepools, pools, np; instancecatalogs, ic; deploy).
Nodes and disruptions are those of the member of -m, or of all; the hub keeps no pods.
Any other kind that the hub holds is named in capitals: Widget.v1.example.com.

In the place of values of Secrets stand digests, which change when the values do. What is shown so can be
applied again: a digest stands for the value that the hub holds.`,
		Example: `  flotilla get placements
  flotilla get members -o wide --sort-by .status.placed
  flotilla get placement/web -o jsonpath='{.status.counts.available}'
  flotilla get placement web --members
  flotilla get members --field-selector status.state!=Ready
  flotilla get secret tls -n web -o yaml --show-secrets
  flotilla get runs
  flotilla get nodes -m berlin -o wide
  flotilla get disruptions -w
  flotilla get deployments -A -l app=web -w`,
		RunE: a.do(func(ctx context.Context, args []string) error { return a.get(ctx, o, args) }),
	}
	o.addFlags(cmd)
	a.namespaceFlag(cmd.Flags())
	a.memberFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.labels, "selector", "l", "", "only objects whose labels match")
	fieldFlag(cmd.Flags(), &o.selection)
	cmd.Flags().BoolVarP(&o.selection.allNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show objects again whenever they change")
	cmd.Flags().BoolVar(&o.watchOnly, "watch-only", false, "show only changes")
	cmd.Flags().BoolVar(&o.ignoreGone, "ignore-not-found", false, "a missing object is not an error")
	cmd.Flags().BoolVar(&o.members, "members", false, "show the members of one placement, a line each: snapshot, state, since when, and what is wrong")
	cmd.Flags().BoolVar(&a.showSecrets, "show-secrets", false, "show values of Secrets, in whose place stand digests otherwise (operators)")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "show the records that the hub keeps of an object, or of a key such as schedule.web or result/berlin.placement.web")
	return cmd
}

func (a objectCommands) get(ctx context.Context, o *getOptions, args []string) error {
	a.machine = !o.table()
	o.output.allNamespaces = o.selection.allNamespaces
	o.brief = o.table() && o.sortBy == ""
	if o.members {
		return a.membersOf(ctx, o, args)
	}
	if o.raw {
		return a.getRaw(ctx, args)
	}
	t, err := a.parseTarget(args)
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
		say(a.Err, "%s\n", a.nothingFoundHere(t, o.selection.allNamespaces))
		return nil
	}
	if err := a.printFetched(ctx, o, objects, single); err != nil || o.ignoreGone {
		return err
	}
	return joinErrors(ExitDifferent, missing)
}

func (a objectCommands) printFetched(ctx context.Context, o *getOptions, objects []*unstructured.Unstructured, single bool) error {
	if len(objects) == 0 && single {
		return nil
	}
	if o.table() {
		a.addETAs(ctx, objects)
	}
	return o.printObjects(a.Client, objects, single)
}

func nothingFound(t target) string {
	var words []string
	for _, k := range t.kinds {
		words = append(words, k.plural)
	}
	return "no " + strings.Join(words, ", ") + " found"
}

// nothingFoundHere says where it was looked, for kinds that lie in namespaces.
func (a objectCommands) nothingFoundHere(t target, everywhere bool) string {
	text := nothingFound(t)
	if everywhere || !slices.ContainsFunc(t.kinds, func(k resourceKind) bool { return k.namespaced }) {
		return text
	}
	return text + " in namespace " + namespaceOr(a.namespace) + "; -A looks in all of them"
}

// membersOf shows the members of one placement, which get --members names.
func (a objectCommands) membersOf(ctx context.Context, o *getOptions, args []string) error {
	if !o.table() || slices.Contains([]bool{o.raw, o.sortBy != "", o.showLabels || o.labelColumns != nil, o.labels != "", o.selection.allNamespaces}, true) {
		return usagef("--members shows a table of one placement's members: leave out -o, --raw, --sort-by, --show-labels, -L, -l and -A; -o json without --members has them under .status.placementStatuses")
	}
	t, err := a.parseTarget(args)
	if err != nil {
		return err
	}
	if len(t.refs) != 1 || len(t.kinds) > 0 || !t.refs[0].isPlacement() {
		return usagef("--members shows those of one placement: name it, as in flotilla get placement web --members")
	}
	shown := membersShown{noHeaders: o.noHeaders, watch: o.watch, watchOnly: o.watchOnly}
	return placementCommands{Client: a.Client}.showMembers(ctx, t.refs[0], shown)
}
