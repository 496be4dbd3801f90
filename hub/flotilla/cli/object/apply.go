package object

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// maxDocuments is how many documents the hub takes in one request; an apply is all or nothing, so it
// is never split.
const maxDocuments = 500

type applyOptions struct {
	offline.Source
	pruning
	dryRun string
	format string
	terms  *terms
}

func (a Commands) applyCommand() *cobra.Command {
	o := &applyOptions{}
	cmd := a.applies(o, &cobra.Command{
		Use:   "apply -f FILE… | -k DIR",
		Short: "Create or change objects, all of them or none",
		Long: `Create or change objects from files, folders or standard input.

Kinds that Flotilla knows are checked strictly; every fault is shown at once with its path, what was
found, what was expected, and the corrected form. Any other kind is content: kept on the hub, and
placed on the members that placements choose. One apply is all or nothing.

With --set NAME the objects are of that set from then on; an apply without it leaves them there. With --prune too, what else
is in the set is deleted in the same step: what goes is shown first, and on a terminal asked for. What would take
away more than 30 % and more than 10 of the objects of a member, or of the members of a placement, needs --yes. An object is
of one set at most; --move takes it from another.`,
		Example: `  flotilla apply -f configs/examples
  flotilla apply -k overlays/prod --dry-run=server
  flotilla apply -k overlays/prod --prune --set prod
  kustomize build . | flotilla apply -f -`,
	})
	o.addFlags(cmd.Flags())
	return cmd
}

// applies makes a command that sends documents.
func (a Commands) applies(o *applyOptions, cmd *cobra.Command) *cobra.Command {
	cmd.Args = session.NoArgs
	cmd.RunE = a.Do(func(ctx context.Context, _ []string) error { return a.apply(ctx, o) })
	o.AddFlags(cmd.Flags())
	a.NamespaceFlag(cmd.Flags())
	session.DryRunClientFlag(cmd, &o.dryRun)
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "one of: name, json")
	return cmd
}

func (a Commands) apply(ctx context.Context, o *applyOptions) error {
	if o.dryRun == session.DryRunClient {
		return a.applyOnPaper(o)
	}
	dry, err := session.ParseDryRun(o.dryRun, session.DryRunClient)
	if err != nil {
		return err
	}
	if err := a.Format(o.format, "name", "json"); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	documents, err := o.Read(a.Client)
	if err != nil {
		return err
	}
	request, err := applyRequest(documents, dry)
	if err != nil {
		return err
	}
	o.of(request)
	o.terms.of(request, documents)
	if o.prune && !dry {
		if err := a.showPruned(ctx, request); err != nil {
			return offline.DescribeFaults(err, documents, &o.Source, true)
		}
	}
	var reply api.ApplyResponse
	if err := a.Call(ctx, api.VerbApply, request, &reply); err != nil {
		return offline.DescribeFaults(o.terms.explain(err, &o.Source), documents, &o.Source, true)
	}
	return a.printApplied(o, &reply, dry)
}

func applyRequest(documents []offline.Document, dry bool) (*api.ApplyRequest, error) {
	if len(documents) > maxDocuments {
		return nil, session.Refusedf("%d documents in one apply, at most %d: apply is all or nothing; split them into several applies, content before placements",
			len(documents), maxDocuments)
	}
	request := &api.ApplyRequest{Request: resource.NewRequestID(), DryRun: dry}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.Body)
	}
	return request, nil
}

func (a Commands) printApplied(o *applyOptions, reply *api.ApplyResponse, dry bool) error {
	a.Notes(reply.Notes)
	if o.format == "json" {
		return session.PrintJSON(a.Out, reply)
	}
	for _, r := range reply.Results {
		for _, text := range r.Notes {
			a.Note("%s: %s", r.Object, text)
		}
		switch {
		case o.format == "name":
			a.Printf("%s\n", resource.ShownName(r.Object))
		case dry:
			a.Printf("%s %s (server dry run)\n", resource.ShownName(r.Object), r.Action)
		default:
			a.Printf("%s %s\n", resource.ShownName(r.Object), r.Action)
		}
	}
	if dry {
		o.Next(a.Client, "plan")
		return nil
	}
	a.nextAfterApply(reply.Results)
	return nil
}

func (a Commands) nextAfterApply(results []api.ApplyResult) {
	for _, r := range results {
		if o := resource.RefTo(r.Object); o.Applied != nil {
			a.Next("flotilla %s", o.Applied(o))
			return
		}
	}
	a.Next("flotilla get placements")
}
