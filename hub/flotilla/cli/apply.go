package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

// maxDocuments is how many documents the hub takes in one request; an apply is all or nothing, so it
// is never split.
const maxDocuments = 500

type applyOptions struct {
	source
	dryRun string
	format string
}

func (a objectCommands) applyCommand() *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use:   "apply -f FILE… | -k DIR",
		Short: "Create or change objects, all of them or none",
		Long: `Create or change objects from files, folders or standard input.

Kinds that Flotilla knows are checked strictly; every fault is shown at once with its path, what was
found, what was expected, and the corrected form. Any other kind is content: kept on the hub, and
placed on the members that placements choose. One apply is all or nothing.`,
		Example: `  flotilla apply -f configs/examples
  flotilla apply -k overlays/prod --dry-run=server
  kustomize build . | flotilla apply -f -`,
		Args: noArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error { return a.apply(ctx, o) }),
	}
	o.addFlags(cmd.Flags())
	a.namespaceFlag(cmd.Flags())
	dryRunClientFlag(cmd, &o.dryRun)
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "one of: name, json")
	return cmd
}

func (a objectCommands) apply(ctx context.Context, o *applyOptions) error {
	if o.dryRun == dryRunClient {
		return a.applyOnPaper(o)
	}
	dry, err := parseDryRun(o.dryRun, dryRunClient)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"", "name", "json"}, o.format) {
		return usagef("unknown output format %q, expected name or json", o.format)
	}
	a.machine = o.format != ""
	documents, err := o.read(a.Client)
	if err != nil {
		return err
	}
	request, err := applyRequest(documents, dry)
	if err != nil {
		return err
	}
	var reply api.ApplyResponse
	if err := a.call(ctx, api.VerbApply, request, &reply); err != nil {
		return describeFaults(err, documents, &o.source, true)
	}
	return a.printApplied(o, &reply, dry)
}

func applyRequest(documents []document, dry bool) (*api.ApplyRequest, error) {
	if len(documents) > maxDocuments {
		return nil, refusedf("%d documents in one apply, at most %d: apply is all or nothing; split them into several applies, content before placements",
			len(documents), maxDocuments)
	}
	request := &api.ApplyRequest{Request: newRequestID(), DryRun: dry}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.body)
	}
	return request, nil
}

func (a objectCommands) printApplied(o *applyOptions, reply *api.ApplyResponse, dry bool) error {
	for _, text := range reply.Notes {
		a.note("%s", text)
	}
	if o.format == "json" {
		return printJSON(a.Out, reply)
	}
	for _, r := range reply.Results {
		for _, text := range r.Notes {
			a.note("%s: %s", r.Object, text)
		}
		switch {
		case o.format == "name":
			a.printf("%s\n", shownName(r.Object))
		case dry:
			a.printf("%s %s (server dry run)\n", shownName(r.Object), r.Action)
		default:
			a.printf("%s %s\n", shownName(r.Object), r.Action)
		}
	}
	if dry {
		o.source.next(a.Client, "plan")
		return nil
	}
	a.nextAfterApply(reply.Results)
	return nil
}

func (a objectCommands) nextAfterApply(results []api.ApplyResult) {
	for _, r := range results {
		k := ref{resourceKind: kindOfObject(r.Object.APIVersion, r.Object.Kind), namespace: r.Object.Namespace, name: r.Object.Name}
		switch r.Object.Kind {
		case api.KindClusterResourcePlacement, api.KindResourcePlacement:
			a.next("flotilla rollout status %s", k)
			return
		case api.KindMemberCluster:
			a.next("flotilla get members")
			return
		case api.KindUpdateRun:
			a.next("flotilla run start %s", k.name)
			return
		case api.KindUpdateStrategy:
			a.next("flotilla run create --help")
			return
		case api.KindMemberMaintenance:
			a.next("flotilla windows %s", k.name)
			return
		case api.KindNodePool, api.KindInstanceCatalog:
			a.next("flotilla plan nodes")
			return
		case api.KindAutoUpgradeProfile, api.KindVersionCatalog:
			a.next("flotilla get %s", k.plural)
			return
		}
	}
	a.next("flotilla get placements")
}
