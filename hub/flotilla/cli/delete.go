package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type deleteOptions struct {
	source
	selection
	all     bool
	wait    bool
	timeout time.Duration
	dryRun  string
	deletion
}

func (a objectCommands) deleteCommand() *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete TYPE NAME… | TYPE/NAME… | -f FILE…",
		Short: "Delete objects; ends in bounded time and lists what no member confirmed",
		Long: `Delete objects. A placement is withdrawn from its members first; members that are away cannot
confirm that: they are listed with how long they have been away, and withdraw when they come back; the
command then ends with exit code 4.

A node is drained and deleted on its member, whatever budgets say and without a replacement first; PodDisruptionBudgets and
do-not-disrupt pods hold the drain until its terminationGracePeriod. With a NodePool go all its nodes, in the same way: it is gone
when the last of them is, however long that takes.`,
		Example: `  flotilla delete placement web
  flotilla delete -f web.yaml --wait=false
  flotilla delete deployments -n shop -l app=web
  flotilla delete node node-7 -m berlin`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			if o.dryRun == dryRunClient {
				return a.deleteOnPaper(ctx, o, args)
			}
			return a.delete(ctx, o, args)
		}),
	}
	o.addFlags(cmd.Flags())
	a.namespaceFlag(cmd.Flags())
	a.memberFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.labels, "selector", "l", "", "objects of the type whose labels match")
	fieldFlag(cmd.Flags(), &o.selection)
	cmd.Flags().BoolVar(&o.all, "all", false, "every object of the type")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "wait until the objects are gone")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait; then exit 124")
	cmd.Flags().BoolVar(&o.ignoreGone, "ignore-not-found", false, "a missing object is not an error")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "name: print names only")
	dryRunClientFlag(cmd, &o.dryRun)
	return cmd
}

func (a objectCommands) delete(ctx context.Context, o *deleteOptions, args []string) error {
	dry, err := parseDryRun(o.dryRun, dryRunClient)
	if err != nil {
		return err
	}
	if o.format != "" && o.format != "name" {
		return usagef("unknown output format %q, expected name", o.format)
	}
	a.machine = o.format == "name"
	refs, err := a.deletionRefs(ctx, o, args)
	if err != nil {
		return err
	}
	nodes, objects, err := partNodes(refs)
	if err != nil {
		return err
	}
	if err := a.onNamedMember(ctx, nodes); err != nil {
		return err
	}
	asked, failed, err := a.askDeletion(ctx, &o.deletion, objects, dry)
	if err != nil {
		return err
	}
	going, kept, err := a.askNodeDeletion(ctx, &o.deletion, nodes, dry)
	if err != nil {
		return err
	}
	asked, failed = append(asked, going...), append(failed, kept...)
	if dry || len(asked) == 0 {
		return notDeleted(failed)
	}
	if !o.wait {
		a.next("flotilla wait %s --for=delete", asked[0].ref)
		return notDeleted(failed)
	}
	if err := a.waitGone(ctx, asked, o.timeout); err != nil {
		return err
	}
	unconfirmed := a.sayAllGone(ctx, o, asked)
	if o.format == "" && len(unconfirmed) == 0 {
		a.next("flotilla get %s", asked[0].listing())
	}
	return notDeleted(append(failed, unconfirmed...))
}

// sayAllGone says which objects are deleted, and returns of the others who has not confirmed it.
func (a objectCommands) sayAllGone(ctx context.Context, o *deleteOptions, asked []goal) (unconfirmed []error) {
	for _, g := range asked {
		err := a.goneWithout(ctx, g)
		switch {
		case err != nil:
			unconfirmed = append(unconfirmed, err)
		case o.format == "":
			a.printf("%s %q deleted\n", g.resource(), g.name)
		}
	}
	return unconfirmed
}

// notDeleted joins what could not be deleted: exit 1 when none of it is there.
func notDeleted(failed []error) error {
	for _, err := range failed {
		if !isNotFound(err) {
			return joinErrors(ExitPartial, failed)
		}
	}
	return joinErrors(ExitDifferent, failed)
}

// deletionRefs are the objects to delete, placements first: content that went before them would be
// rolled out as a change.
func (a objectCommands) deletionRefs(ctx context.Context, o *deleteOptions, args []string) ([]ref, error) {
	refs, err := a.deletionTargets(ctx, o, args)
	slices.SortStableFunc(refs, func(a, b ref) int {
		switch {
		case a.isPlacement() == b.isPlacement():
			return 0
		case a.isPlacement():
			return -1
		}
		return 1
	})
	return refs, err
}

func (a objectCommands) deletionTargets(ctx context.Context, o *deleteOptions, args []string) ([]ref, error) {
	if !o.empty() {
		if len(args) > 0 {
			return nil, usagef("found %s beside -f or -k; name objects or files, not both", strings.Join(args, " "))
		}
		documents, err := o.read(a.Client)
		if err != nil {
			return nil, err
		}
		refs := make([]ref, len(documents))
		for i := range documents {
			refs[i] = documents[i].stored()
		}
		slices.Reverse(refs)
		return refs, nil
	}
	t, err := a.parseTarget(args)
	if err != nil {
		return nil, err
	}
	if len(t.kinds) == 0 {
		return t.refs, nil
	}
	if !o.all && o.labels == "" && o.fields == "" {
		return nil, usagef("name the objects to delete, or choose them with -l, --field-selector or --all")
	}
	objects, _, err := a.fetchTarget(ctx, t, o.selection)
	if err != nil {
		return nil, err
	}
	refs := make([]ref, len(objects))
	for i, obj := range objects {
		refs[i] = refOf(obj)
	}
	return refs, nil
}
