package object

import (
	"context"
	"fmt"
	"strings"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type labelOptions struct {
	resource.Selection
	field     string // "labels" or "annotations"
	overwrite bool
	all       bool
	list      bool
	dryRun    string
}

func (a Commands) labelCommand() *cobra.Command {
	return a.metadataCommand("label", "labels", "Set or remove labels", `  flotilla label member berlin region=eu tier=gold
  flotilla label placement/web team-
  flotilla label members -l region=eu ring=2 --overwrite`)
}

func (a Commands) annotateCommand() *cobra.Command {
	return a.metadataCommand("annotate", "annotations", "Set or remove annotations", `  flotilla annotate placement/web flotilla.io/failover-after=10m
  flotilla annotate member berlin note-`)
}

func (a Commands) metadataCommand(verb, field, short, example string) *cobra.Command {
	o := &labelOptions{field: field}
	cmd := &cobra.Command{
		Use:     verb + " TYPE NAME KEY=VALUE… KEY-… | TYPE/NAME KEY=VALUE… KEY-…",
		Short:   short,
		Example: example,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.setMetadata(ctx, o, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "change keys that have another value")
	cmd.Flags().StringVarP(&o.Labels, "selector", "l", "", "objects of the type whose labels match")
	cmd.Flags().BoolVar(&o.all, "all", false, "every object of the type")
	cmd.Flags().BoolVar(&o.list, "list", false, "show them and change nothing")
	session.DryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (a Commands) setMetadata(ctx context.Context, o *labelOptions, args []string) error {
	dry, err := session.ParseDryRun(o.dryRun)
	if err != nil {
		return err
	}
	objects, changes := resource.SplitChanges(args)
	pairs, err := resource.ParsePairs(changes)
	if err != nil {
		return err
	}
	if len(pairs) == 0 && !o.list {
		return session.Usagef("found nothing to set, expected KEY=VALUE, or KEY- to remove it")
	}
	t, err := resource.ParseTarget(objects, a.Namespace)
	if err != nil {
		return err
	}
	if len(t.Kinds) > 0 && !o.all && o.Labels == "" {
		return session.Usagef("name the objects, or choose them with -l or --all")
	}
	refs, err := a.refsNow(ctx, t, o.Selection)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range refs {
		if err := a.setOne(ctx, o, r, pairs, dry); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 && len(refs) == 1 && !o.list && !dry {
		a.Next("flotilla describe %s", refs[0])
	}
	return resource.JoinErrors(session.ExitPartial, failed)
}

func (a Commands) setOne(ctx context.Context, o *labelOptions, r resource.Ref, pairs map[string]*string, dry bool) error {
	if o.list {
		obj, err := a.Fetch(ctx, r)
		if err != nil {
			return err
		}
		held, _, _ := unstructured.NestedStringMap(obj.Object, "metadata", o.field)
		for _, key := range show.SortedKeys(held) {
			a.Printf("%s=%s\n", key, held[key])
		}
		return nil
	}
	result, err := a.Patch(ctx, r, dry, func(obj *unstructured.Unstructured) (map[string]any, error) {
		return o.change(obj, r, pairs)
	})
	if err != nil {
		return err
	}
	a.Report(result, o.done(pairs), dry)
	return nil
}

// done is kubectl's word for what was done: "labeled", "unlabeled" when keys were only removed.
func (o *labelOptions) done(pairs map[string]*string) string {
	word := map[string]string{"labels": "labeled", "annotations": "annotated"}[o.field]
	for _, value := range pairs {
		if value != nil {
			return word
		}
	}
	return "un" + word
}

// change is the merge patch of the metadata; a key that has another value needs --overwrite.
func (o *labelOptions) change(obj *unstructured.Unstructured, r resource.Ref, pairs map[string]*string) (map[string]any, error) {
	held, _, _ := unstructured.NestedStringMap(obj.Object, "metadata", o.field)
	delta := map[string]any{}
	for _, key := range show.SortedKeys(pairs) {
		want := pairs[key]
		now, exists := held[key]
		switch {
		case want == nil && exists:
			delta[key] = nil
		case want == nil || exists && now == *want:
		case exists && !o.overwrite:
			return nil, session.Refusedf("%s has %s %s=%s already; --overwrite changes it", r, strings.TrimSuffix(o.field, "s"), key, now)
		default:
			delta[key] = *want
		}
	}
	if len(delta) == 0 {
		return nil, nil
	}
	return map[string]any{"metadata": map[string]any{o.field: delta}}, nil
}

// MemberLabelCommand makes member label.
func (a Commands) MemberLabelCommand() *cobra.Command {
	o := &labelOptions{field: "labels"}
	cmd := &cobra.Command{
		Use:     "label NAME KEY=VALUE… KEY-…",
		Short:   "Set or remove labels of a member",
		Example: `  flotilla member label berlin region=eu`,
		Args:    cobra.MinimumNArgs(1),
		RunE: a.Do(func(ctx context.Context, args []string) error {
			return a.setMetadata(ctx, o, append([]string{fmt.Sprintf("member/%s", args[0])}, args[1:]...))
		}),
	}
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "change keys that have another value")
	cmd.Flags().BoolVar(&o.list, "list", false, "show them and change nothing")
	session.DryRunFlag(cmd, &o.dryRun)
	return cmd
}
