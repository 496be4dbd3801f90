package object

import (
	"context"
	"slices"
	"strings"
	"time"

	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"

	"github.com/spf13/cobra"
)

type deleteOptions struct {
	offline.Source
	resource.Selection
	all     bool
	wait    bool
	timeout time.Duration
	dryRun  string
	resource.Deletion
}

func (a Commands) deleteCommand() *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete TYPE NAME… | TYPE/NAME… | -f FILE…",
		Short: "Delete objects; ends in bounded time and lists what no member confirmed",
		Long: `Delete objects. A placement is withdrawn from its members first; members that are away cannot
confirm that: they are listed with how long they have been away, and withdraw when they come back; the
command then ends with exit code 4.

A node is drained and deleted on its member, whatever budgets say and without a replacement first; PodDisruptionBudgets and
do-not-disrupt pods hold the drain until its terminationGracePeriod. With a NodePool go all its nodes, in the same way: it is gone
when the last of them is, however long that takes.

What would take away more than 30 % and more than 10 of the objects of a member, or of the members of a placement, needs
--yes; on a terminal it is asked for.`,
		Example: `  flotilla delete placement web
  flotilla delete -f web.yaml --wait=false
  flotilla delete deployments -n shop -l app=web
  flotilla delete node node-7 -m berlin`,
		RunE: a.Do(func(ctx context.Context, args []string) error {
			if o.dryRun == session.DryRunClient {
				return a.deleteOnPaper(ctx, o, args)
			}
			return a.delete(ctx, o, args)
		}),
	}
	o.AddFlags(cmd.Flags())
	a.NamespaceFlag(cmd.Flags())
	a.MemberFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.Labels, "selector", "l", "", "objects of the type whose labels match")
	show.FieldFlag(cmd.Flags(), &o.Selection)
	cmd.Flags().BoolVar(&o.Yes, "yes", false, "take away much at once without being asked")
	cmd.Flags().BoolVar(&o.all, "all", false, "every object of the type")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "wait until the objects are gone")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait; then exit 124")
	cmd.Flags().BoolVar(&o.IgnoreGone, "ignore-not-found", false, "a missing object is not an error")
	cmd.Flags().StringVarP(&o.Format, "output", "o", "", "name: print names only")
	session.DryRunClientFlag(cmd, &o.dryRun)
	return cmd
}

func (a Commands) delete(ctx context.Context, o *deleteOptions, args []string) error {
	dry, err := session.ParseDryRun(o.dryRun, session.DryRunClient)
	if err != nil {
		return err
	}
	if err := a.Format(o.Format, "name"); err != nil {
		return err
	}
	refs, err := a.deletionRefs(ctx, o, args)
	if err != nil {
		return err
	}
	nodes, objects, err := resource.PartNodes(refs)
	if err != nil {
		return err
	}
	if err := a.OnNamedMember(ctx, nodes); err != nil {
		return err
	}
	asked, failed, err := a.AskDeletion(ctx, &o.Deletion, objects, dry)
	if err != nil {
		return err
	}
	going, kept, err := a.AskNodeDeletion(ctx, &o.Deletion, nodes, dry)
	if err != nil {
		return err
	}
	asked, failed = append(asked, going...), append(failed, kept...)
	if dry || len(asked) == 0 {
		return notDeleted(failed)
	}
	if !o.wait {
		a.Next("flotilla wait %s --for=delete", asked[0].Ref)
		return notDeleted(failed)
	}
	if err := a.WaitGone(ctx, asked, o.timeout); err != nil {
		return err
	}
	unconfirmed := a.sayAllGone(ctx, o, asked)
	if o.Format == "" && len(unconfirmed) == 0 {
		a.Next("flotilla get %s", asked[0].Listing())
	}
	return notDeleted(append(failed, unconfirmed...))
}

// sayAllGone says which objects are deleted, and returns of the others who has not confirmed it.
func (a Commands) sayAllGone(ctx context.Context, o *deleteOptions, asked []resource.Goal) (unconfirmed []error) {
	for _, g := range asked {
		err := a.GoneWithout(ctx, g)
		switch {
		case err != nil:
			unconfirmed = append(unconfirmed, err)
		case o.Format == "":
			a.Printf("%s %q deleted\n", g.Resource(), g.Name)
		}
	}
	return unconfirmed
}

// notDeleted joins what could not be deleted: exit 1 when none of it is there.
func notDeleted(failed []error) error {
	for _, err := range failed {
		if !session.IsNotFound(err) {
			return resource.JoinErrors(session.ExitPartial, failed)
		}
	}
	return resource.JoinErrors(session.ExitDifferent, failed)
}

// deletionRefs are the objects to delete, placements first: content that went before them would be
// rolled out as a change.
func (a Commands) deletionRefs(ctx context.Context, o *deleteOptions, args []string) ([]resource.Ref, error) {
	refs, err := a.deletionTargets(ctx, o, args)
	slices.SortStableFunc(refs, func(a, b resource.Ref) int {
		switch {
		case a.IsPlacement() == b.IsPlacement():
			return 0
		case a.IsPlacement():
			return -1
		}
		return 1
	})
	return refs, err
}

func (a Commands) deletionTargets(ctx context.Context, o *deleteOptions, args []string) ([]resource.Ref, error) {
	if !o.Empty() {
		if len(args) > 0 {
			return nil, session.Usagef("found %s beside -f or -k; name objects or files, not both", strings.Join(args, " "))
		}
		documents, err := o.Read(a.Client)
		if err != nil {
			return nil, err
		}
		refs := make([]resource.Ref, len(documents))
		for i := range documents {
			refs[i] = documents[i].Stored()
		}
		slices.Reverse(refs)
		return refs, nil
	}
	t, err := a.ParseTarget(args)
	if err != nil {
		return nil, err
	}
	if len(t.Kinds) == 0 {
		return t.Refs, nil
	}
	if !o.all && o.Labels == "" && o.Fields == "" {
		return nil, session.Usagef("name the objects to delete, or choose them with -l, --field-selector or --all")
	}
	objects, _, err := a.FetchTarget(ctx, t, o.Selection)
	if err != nil {
		return nil, err
	}
	refs := make([]resource.Ref, len(objects))
	for i, obj := range objects {
		refs[i] = resource.RefOf(obj)
	}
	return refs, nil
}
