package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/plan"
)

// suppose takes out of documents those that the hub is to plan nodes with, in place of its own.
func (a *app) suppose(o *planNodesOptions, documents []document) error {
	var rest []document
	for i := range documents {
		if d := &documents[i]; isAboutNodes(d.ref.Kind) {
			o.supposed = append(o.supposed, *d)
		} else {
			rest = append(rest, *d)
		}
	}
	if len(o.supposed) == 0 {
		return refusedf("the files hold no Node, NodePool, InstanceCatalog or node class: found %d documents of other kinds", len(documents))
	}
	for _, text := range notLookedAt(rest) {
		a.note("%s", text)
	}
	return nil
}

// isAboutNodes tells the kinds that say what nodes are made of.
func isAboutNodes(kind string) bool {
	return kind == api.KindNodePool || kind == api.KindInstanceCatalog || strings.HasSuffix(kind, "NodeClass")
}

// bodies are documents as a request takes them, nil for none.
func bodies(documents []document) []json.RawMessage {
	var out []json.RawMessage
	for i := range documents {
		out = append(out, documents[i].body)
	}
	return out
}

// withPlaces says of a refusal of what is supposed where in the files its faults are.
func (o *planNodesOptions) withPlaces(err error) error {
	if len(o.supposed) == 0 || err == nil || len(failureOf(err).Faults) == 0 {
		return err
	}
	return describeFaults(err, o.supposed, &o.source, false)
}

// nodesWerePlanned ends a plan of the hub's nodes; after one that supposes files it is for them to be applied.
func (a *app) nodesWerePlanned(o *planNodesOptions, members []disruption.MemberForecast) error {
	if len(o.supposed) == 0 {
		return a.nodesPlanned(members)
	}
	a.nextWith(&o.source, "apply")
	if slices.ContainsFunc(members, func(p disruption.MemberForecast) bool { return len(p.Commands) > 0 }) {
		return different()
	}
	return nil
}

// noteNodes names what a plan of the fleet leaves out: what becomes of nodes.
func (a *app) noteNodes(o *planOptions, answer *plan.Answer) {
	var changes []string
	for i := range answer.Objects {
		if r := &answer.Objects[i]; isAboutNodes(r.Object.Kind) && r.Action != api.ActionUnchanged {
			changes = append(changes, r.Object.String()+" would be "+r.Action)
		}
	}
	if len(changes) == 0 {
		return
	}
	text := "what becomes of nodes is shown by flotilla plan nodes, with the same files"
	if command := o.command("plan nodes"); command != "" {
		text = "what becomes of nodes is shown by " + command
	}
	if a.machine { // the report has placements and runs alone
		text = strings.Join(changes, ", ") + "; " + text
	}
	a.note("%s", text)
}
