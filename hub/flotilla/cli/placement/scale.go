package placement

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a Commands) scaleCommand() *cobra.Command {
	clusters := int32(-1)
	var dryRun string
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "scale placement/NAME --clusters N",
		Short: "Change how many members a PickN placement goes to",
		Long: `Change how many members a PickN placement goes to. Scaling out touches only new members; scaling in
removes those that scored lowest when they were picked.`,
		Example: `  flotilla scale placement/web --clusters 5`,
		RunE: a.Do(func(ctx context.Context, args []string) error {
			if given := cmd.Flags().Lookup("clusters"); given.Changed && clusters < 0 {
				return session.Usagef("--clusters: found %d, expected the number of members, 0 or more", clusters)
			}
			return a.scale(ctx, args, clusters, dryRun)
		}),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().Int32Var(&clusters, "clusters", -1, "how many members")
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}

func (a Commands) scale(ctx context.Context, args []string, clusters int32, dryRun string) error {
	dry, err := session.ParseDryRun(dryRun)
	if err != nil {
		return err
	}
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	if clusters < 0 {
		return session.Usagef("--clusters: found nothing, expected the number of members, 0 or more")
	}
	result, err := a.Patch(ctx, r, dry, func(obj *unstructured.Unstructured) (map[string]any, error) {
		return scaleTo(obj, r, clusters)
	})
	if err != nil {
		return err
	}
	a.Report(result, "scaled", dry)
	if !dry {
		a.Next("flotilla rollout status %s", r)
	}
	return nil
}

func scaleTo(obj *unstructured.Unstructured, r resource.Ref, clusters int32) (map[string]any, error) {
	policy := resource.Into[api.Placement](obj).Spec.Policy
	if kind := policy.Type(); kind != api.PickN {
		f := session.Refusedf("%s is %s: only PickN goes to a number of members", r, kind)
		f.Faults = strict.Faults{{
			Object: obj.GetKind() + "/" + r.Name, Path: "spec.policy.placementType",
			Found: string(kind), Expected: string(api.PickN) + "; the type of a placement cannot be changed",
		}}
		f.Next = "flotilla describe " + r.String()
		return nil, f
	}
	if now := policy.NumberOfClusters; now != nil && *now == clusters {
		return nil, nil
	}
	return map[string]any{"spec": map[string]any{"policy": map[string]any{"numberOfClusters": clusters}}}, nil
}
