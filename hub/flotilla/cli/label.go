package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type labelOptions struct {
	selection
	field     string // "labels" or "annotations"
	overwrite bool
	all       bool
	list      bool
	dryRun    string
}

func (a objectCommands) labelCommand() *cobra.Command {
	return a.metadataCommand("label", "labels", "Set or remove labels", `  flotilla label member berlin region=eu tier=gold
  flotilla label placement/web team-
  flotilla label members -l region=eu ring=2 --overwrite`)
}

func (a objectCommands) annotateCommand() *cobra.Command {
	return a.metadataCommand("annotate", "annotations", "Set or remove annotations", `  flotilla annotate placement/web flotilla.io/failover-after=10m
  flotilla annotate member berlin note-`)
}

func (a objectCommands) metadataCommand(verb, field, short, example string) *cobra.Command {
	o := &labelOptions{field: field}
	cmd := &cobra.Command{
		Use:     verb + " TYPE NAME KEY=VALUE… KEY-… | TYPE/NAME KEY=VALUE… KEY-…",
		Short:   short,
		Example: example,
		RunE:    a.do(func(ctx context.Context, args []string) error { return a.setMetadata(ctx, o, args) }),
	}
	a.namespaceFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "change keys that have another value")
	cmd.Flags().StringVarP(&o.labels, "selector", "l", "", "objects of the type whose labels match")
	cmd.Flags().BoolVar(&o.all, "all", false, "every object of the type")
	cmd.Flags().BoolVar(&o.list, "list", false, "show them and change nothing")
	dryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (a objectCommands) setMetadata(ctx context.Context, o *labelOptions, args []string) error {
	dry, err := parseDryRun(o.dryRun)
	if err != nil {
		return err
	}
	objects, changes := splitChanges(args)
	pairs, err := parsePairs(changes)
	if err != nil {
		return err
	}
	if len(pairs) == 0 && !o.list {
		return usagef("found nothing to set, expected KEY=VALUE, or KEY- to remove it")
	}
	t, err := parseTarget(objects, a.namespace)
	if err != nil {
		return err
	}
	if len(t.kinds) > 0 && !o.all && o.labels == "" {
		return usagef("name the objects, or choose them with -l or --all")
	}
	refs, err := a.refsNow(ctx, t, o.selection)
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
		a.next("flotilla describe %s", refs[0])
	}
	return joinErrors(ExitPartial, failed)
}

func (a objectCommands) setOne(ctx context.Context, o *labelOptions, r ref, pairs map[string]*string, dry bool) error {
	if o.list {
		obj, err := a.fetch(ctx, r)
		if err != nil {
			return err
		}
		held, _, _ := unstructured.NestedStringMap(obj.Object, "metadata", o.field)
		for _, key := range sortedKeys(held) {
			a.printf("%s=%s\n", key, held[key])
		}
		return nil
	}
	result, err := a.patch(ctx, r, dry, func(obj *unstructured.Unstructured) (map[string]any, error) {
		return o.change(obj, r, pairs)
	})
	if err != nil {
		return err
	}
	a.report(result, o.done(pairs), dry)
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
func (o *labelOptions) change(obj *unstructured.Unstructured, r ref, pairs map[string]*string) (map[string]any, error) {
	held, _, _ := unstructured.NestedStringMap(obj.Object, "metadata", o.field)
	delta := map[string]any{}
	for _, key := range sortedKeys(pairs) {
		want := pairs[key]
		now, exists := held[key]
		switch {
		case want == nil && exists:
			delta[key] = nil
		case want == nil || exists && now == *want:
		case exists && !o.overwrite:
			return nil, refusedf("%s has %s %s=%s already; --overwrite changes it", r, strings.TrimSuffix(o.field, "s"), key, now)
		default:
			delta[key] = *want
		}
	}
	if len(delta) == 0 {
		return nil, nil
	}
	return map[string]any{"metadata": map[string]any{o.field: delta}}, nil
}

func (a objectCommands) memberLabelCommand() *cobra.Command {
	o := &labelOptions{field: "labels"}
	cmd := &cobra.Command{
		Use:     "label NAME KEY=VALUE… KEY-…",
		Short:   "Set or remove labels of a member",
		Example: `  flotilla member label berlin region=eu`,
		Args:    cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.setMetadata(ctx, o, append([]string{fmt.Sprintf("member/%s", args[0])}, args[1:]...))
		}),
	}
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "change keys that have another value")
	cmd.Flags().BoolVar(&o.list, "list", false, "show them and change nothing")
	dryRunFlag(cmd, &o.dryRun)
	return cmd
}
