package nodes

import (
	"encoding/json"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/session"
)

// suppose takes out of documents those that the hub is to plan nodes with, in place of its own.
func (a Commands) suppose(o *PlanNodesOptions, documents []offline.Document) error {
	var rest []offline.Document
	for i := range documents {
		if d := &documents[i]; IsAboutNodes(d.Ref.Kind) {
			o.supposed = append(o.supposed, *d)
		} else {
			rest = append(rest, *d)
		}
	}
	if len(o.supposed) == 0 {
		return session.Refusedf("the files hold no Node, NodePool, InstanceCatalog or node class: found %d documents of other kinds", len(documents))
	}
	a.Notes(offline.NotLookedAt(rest))
	return nil
}

// IsAboutNodes tells the kinds that say what nodes are made of.
func IsAboutNodes(kind string) bool {
	return kind == api.KindNodePool || kind == api.KindInstanceCatalog || strings.HasSuffix(kind, "NodeClass")
}

// bodies are documents as a request takes them, nil for none.
func bodies(documents []offline.Document) []json.RawMessage {
	var out []json.RawMessage
	for i := range documents {
		out = append(out, documents[i].Body)
	}
	return out
}

// withPlaces says of a refusal of what is supposed where in the files its faults are.
func (o *PlanNodesOptions) withPlaces(err error) error {
	if len(o.supposed) == 0 || err == nil || len(session.FailureOf(err).Faults) == 0 {
		return err
	}
	return offline.DescribeFaults(err, o.supposed, &o.Source, false)
}

// nodesWerePlanned ends a plan of the hub's nodes; after one that supposes files it is for them to be applied.
func (a Commands) nodesWerePlanned(o *PlanNodesOptions, members []explain.MemberForecast) error {
	if len(o.supposed) == 0 {
		return a.nodesPlanned(members)
	}
	o.Next(a.Client, "apply")
	if slices.ContainsFunc(members, func(p explain.MemberForecast) bool { return len(p.Commands) > 0 }) {
		return session.Different()
	}
	return nil
}
