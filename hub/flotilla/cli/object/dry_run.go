package object

import (
	"context"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// actionChecked is the action of a document that was looked at without a hub, which alone knows whether it
// would be created or changed.
const actionChecked = "checked"

// applyOnPaper holds documents to every rule that needs no other object.
func (a Commands) applyOnPaper(o *applyOptions) error {
	if err := a.Format(o.format, "name", "json"); err != nil {
		return err
	}
	documents, err := o.Read(a.Client)
	if err != nil {
		return err
	}
	if _, err := applyRequest(documents, true); err != nil {
		return err
	}
	var faults strict.Faults
	reply := api.ApplyResponse{Results: []api.ApplyResult{}}
	for i := range documents {
		decoded, wrong := validate.Decode(documents[i].Body)
		wrong = append(wrong, offline.ZoneFaults(&decoded)...)
		faults = append(faults, documents[i].Placed(wrong)...)
		result := api.ApplyResult{Object: decoded.Object, Action: actionChecked, Notes: decoded.Notes}
		if note := decoded.DropServerSet(); note != "" {
			result.Notes = append(result.Notes, note)
		}
		reply.Results = append(reply.Results, result)
	}
	if len(faults) > 0 {
		return offline.DescribeFaults(faults, documents, &o.Source, false)
	}
	if o.format == "json" {
		return session.PrintJSON(a.Out, reply)
	}
	for _, r := range reply.Results {
		for _, text := range r.Notes {
			a.Note("%s: %s", r.Object, text)
		}
		if o.format == "name" {
			a.Printf("%s\n", resource.ShownName(r.Object))
			continue
		}
		a.Printf("%s %s (client dry run)\n", resource.ShownName(r.Object), r.Action)
	}
	o.Next(a.Client, "apply --dry-run=server")
	return nil
}

// deleteOnPaper names what a deletion would ask for. Objects that are chosen and not named are listed by the hub.
func (a Commands) deleteOnPaper(ctx context.Context, o *deleteOptions, args []string) error {
	if err := a.Format(o.Format, "name"); err != nil {
		return err
	}
	refs, err := a.deletionRefs(ctx, o, args)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if o.Format == "name" {
			a.Printf("%s\n", resource.ShownName(r.Object()))
			continue
		}
		a.Printf("%s %q deleted (client dry run)\n", r.Resource(), r.Name)
	}
	return nil
}
