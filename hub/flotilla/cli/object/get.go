package object

import (
	"context"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/placement"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type getOptions struct {
	show.Output
	resource.Selection
	watch      bool
	watchOnly  bool
	raw        bool
	ignoreGone bool
	members    bool
	at         string
}

func (a Commands) getCommand() *cobra.Command {
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
  flotilla get placement web --at yesterday
  flotilla get members --field-selector status.state!=Ready
  flotilla get secret tls -n web -o yaml --show-secrets
  flotilla get runs
  flotilla get nodes -m berlin -o wide
  flotilla get disruptions -w
  flotilla get deployments -A -l app=web -w`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.get(ctx, o, args) }),
	}
	o.AddFlags(cmd)
	a.NamespaceFlag(cmd.Flags())
	a.MemberFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.Labels, "selector", "l", "", "only objects whose labels match")
	show.FieldFlag(cmd.Flags(), &o.Selection)
	cmd.Flags().BoolVarP(&o.Selection.AllNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show objects again whenever they change")
	cmd.Flags().BoolVar(&o.watchOnly, "watch-only", false, "show only changes")
	cmd.Flags().BoolVar(&o.ignoreGone, "ignore-not-found", false, "a missing object is not an error")
	cmd.Flags().BoolVar(&o.members, "members", false, "show the members of one placement, a line each: snapshot, state, since when, and what is wrong")
	cmd.Flags().StringVar(&o.at, "at", "", "show one placement as it was then, as far as that is kept: a time such as 2026-03-01T12:00:00Z, 2026-03-01, -2h or yesterday")
	cmd.Flags().BoolVar(&a.ShowSecrets, "show-secrets", false, "show values of Secrets, in whose place stand digests otherwise (operators)")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "show the records that the hub keeps of an object, or of a key such as schedule.web or result/berlin.placement.web")
	return cmd
}

func (a Commands) get(ctx context.Context, o *getOptions, args []string) error {
	a.Machine = !o.Table()
	o.Output.AllNamespaces = o.Selection.AllNamespaces
	o.Brief = o.Table() && o.SortBy == ""
	switch {
	case o.at != "":
		return a.placementAt(ctx, o, args)
	case o.members:
		return a.membersOf(ctx, o, args)
	case o.raw:
		return a.getRaw(ctx, args)
	}
	return a.getTarget(ctx, o, args)
}

// getTarget gets objects as they are now.
func (a Commands) getTarget(ctx context.Context, o *getOptions, args []string) error {
	t, err := a.ParseTarget(args)
	if err != nil {
		return err
	}
	if _, err := o.Printer(); err != nil {
		return err
	}
	if o.watch || o.watchOnly {
		return a.watch(ctx, o, t)
	}
	objects, missing, err := a.FetchTarget(ctx, t, o.Selection)
	if err != nil {
		return err
	}
	single := len(t.Refs) == 1 && len(t.Kinds) == 0
	if len(objects) == 0 && !single && len(missing) == 0 && o.Table() {
		session.Say(a.Err, "%s\n", a.nothingFoundHere(t, o.Selection.AllNamespaces))
		return nil
	}
	if err := a.printFetched(ctx, o, objects, single); err != nil || o.ignoreGone {
		return err
	}
	return resource.JoinErrors(session.ExitDifferent, missing)
}

func (a Commands) printFetched(ctx context.Context, o *getOptions, objects []*unstructured.Unstructured, single bool) error {
	if len(objects) == 0 && single {
		return nil
	}
	if o.Table() {
		a.AddETAs(ctx, objects)
	}
	return o.PrintObjects(a.Client, objects, single)
}

func nothingFound(t resource.Target) string {
	var words []string
	more := ""
	for _, k := range t.Kinds {
		words = append(words, k.Plural)
		if k.Kind == api.KindUpdateRun {
			more = "; runs that bring content: flotilla get csur, and sur -A"
		}
	}
	return "no " + strings.Join(words, ", ") + " found" + more
}

// nothingFoundHere says where it was looked, for kinds that lie in namespaces.
func (a Commands) nothingFoundHere(t resource.Target, everywhere bool) string {
	text := nothingFound(t)
	if everywhere || !slices.ContainsFunc(t.Kinds, func(k resource.Type) bool { return k.Namespaced }) {
		return text
	}
	return text + " in namespace " + resource.NamespaceOr(a.Namespace) + "; -A looks in all of them"
}

// placementAt shows one placement as it was.
func (a Commands) placementAt(ctx context.Context, o *getOptions, args []string) error {
	t, err := a.ParseTarget(args)
	if err != nil {
		return err
	}
	if len(t.Refs) != 1 || len(t.Kinds) > 0 || !t.Refs[0].IsPlacement() {
		return session.Usagef("--at shows one placement: name it, as in flotilla get placement web --at -2h")
	}
	if slices.Contains([]bool{o.Format != "" && o.Format != "json", o.members, o.raw, o.watch, o.watchOnly, o.SortBy != "", o.ShowLabels, o.Labels != ""}, true) {
		return session.Usagef("--at shows a placement by itself, or with -o json: leave out other formats, --members, --raw, -w, --watch-only, --sort-by, --show-labels and -l")
	}
	return placement.Commands{Client: a.Client}.ShowAt(ctx, t.Refs[0], o.at, o.Format == "json")
}

// membersOf shows the members of one placement, which get --members names.
func (a Commands) membersOf(ctx context.Context, o *getOptions, args []string) error {
	if !o.Table() || slices.Contains([]bool{o.raw, o.SortBy != "", o.ShowLabels || o.LabelColumns != nil, o.Labels != "", o.Selection.AllNamespaces}, true) {
		return session.Usagef("--members shows a table of one placement's members: leave out -o, --raw, --sort-by, --show-labels, -L, -l and -A; -o json without --members has them under .status.placementStatuses")
	}
	t, err := a.ParseTarget(args)
	if err != nil {
		return err
	}
	if len(t.Refs) != 1 || len(t.Kinds) > 0 || !t.Refs[0].IsPlacement() {
		return session.Usagef("--members shows those of one placement: name it, as in flotilla get placement web --members")
	}
	shown := placement.MembersShown{NoHeaders: o.NoHeaders, Watch: o.watch, WatchOnly: o.watchOnly}
	return placement.Commands{Client: a.Client}.ShowMembers(ctx, t.Refs[0], shown)
}
