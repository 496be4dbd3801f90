package cli

import (
	"context"
	"slices"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// actionChecked is the action of a document that was looked at without a hub, which alone knows whether it
// would be created or changed.
const actionChecked = "checked"

// applyOnPaper holds documents to every rule that needs no other object.
func (a objectCommands) applyOnPaper(o *applyOptions) error {
	if !slices.Contains([]string{"", "name", "json"}, o.format) {
		return usagef("unknown output format %q, expected name or json", o.format)
	}
	a.machine = o.format != ""
	documents, err := o.read(a.Client)
	if err != nil {
		return err
	}
	if _, err := applyRequest(documents, true); err != nil {
		return err
	}
	var faults strict.Faults
	reply := api.ApplyResponse{Results: []api.ApplyResult{}}
	for i := range documents {
		decoded, wrong := validate.Decode(documents[i].body)
		wrong = append(wrong, zoneFaults(&decoded)...)
		faults = append(faults, documents[i].placed(wrong)...)
		result := api.ApplyResult{Object: decoded.Object, Action: actionChecked, Notes: decoded.Notes}
		if note := decoded.DropServerSet(); note != "" {
			result.Notes = append(result.Notes, note)
		}
		reply.Results = append(reply.Results, result)
	}
	if len(faults) > 0 {
		return describeFaults(faults, documents, &o.source, false)
	}
	if o.format == "json" {
		return printJSON(a.Out, reply)
	}
	for _, r := range reply.Results {
		for _, text := range r.Notes {
			a.note("%s: %s", r.Object, text)
		}
		if o.format == "name" {
			a.printf("%s\n", shownName(r.Object))
			continue
		}
		a.printf("%s %s (client dry run)\n", shownName(r.Object), r.Action)
	}
	o.source.next(a.Client, "apply --dry-run=server")
	return nil
}

// deleteOnPaper names what a deletion would ask for. Objects that are chosen and not named are listed by the hub.
func (a objectCommands) deleteOnPaper(ctx context.Context, o *deleteOptions, args []string) error {
	if o.format != "" && o.format != "name" {
		return usagef("unknown output format %q, expected name", o.format)
	}
	a.machine = o.format == "name"
	refs, err := a.deletionRefs(ctx, o, args)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if o.format == "name" {
			a.printf("%s\n", shownName(r.object()))
			continue
		}
		a.printf("%s %q deleted (client dry run)\n", r.resource(), r.name)
	}
	return nil
}
