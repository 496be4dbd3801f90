package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// suppose takes out of documents those that the hub is to plan nodes with, in place of its own.
func (a nodesCommands) suppose(o *planNodesOptions, documents []document) error {
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
func (a nodesCommands) nodesWerePlanned(o *planNodesOptions, members []disruption.MemberForecast) error {
	if len(o.supposed) == 0 {
		return a.nodesPlanned(members)
	}
	o.source.next(a.Client, "apply")
	if slices.ContainsFunc(members, func(p disruption.MemberForecast) bool { return len(p.Commands) > 0 }) {
		return different()
	}
	return nil
}
