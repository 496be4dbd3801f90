package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// explanation names our rule that may explain a difference, from the
// case's input alone; empty when none does.
func (c *placementCase) explanation() string {
	switch {
	case c.meetsNonQuantity():
		return "D1"
	case c.reusesUnderSpread():
		return "D2"
	case c.waitsForListed():
		return "D3"
	}
	return ""
}

// meetsNonQuantity reports whether KubeFleet's cycle comes to a property that it cannot read: one
// that is no quantity, or a resource name with a dash.
func (c *placementCase) meetsNonQuantity() bool {
	if c.Policy == nil || c.Policy.Affinity == nil || c.Policy.Affinity.ClusterAffinity == nil {
		return false
	}
	affinity := c.Policy.Affinity.ClusterAffinity
	for i := range c.Clusters {
		m := c.Clusters[i].member()
		if affinity.Required != nil && reachesUnreadable(affinity.Required.ClusterSelectorTerms, m) {
			return true
		}
		for k := range affinity.Preferred {
			if s := affinity.Preferred[k].Preference.Sorter(); s != nil && unreadable(s.Name, m) {
				return true
			}
		}
	}
	return false
}

// reachesUnreadable walks the terms as KubeFleet does: the first match ends, and so does the first
// failing expression of a term.
func reachesUnreadable(terms []api.ClusterSelectorTerm, m api.Member) bool {
	for _, t := range terms {
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if t.LabelSelector != nil && (err != nil || !selector.Matches(labels.Set(m.Labels))) {
			continue
		}
		matched := true
		if t.PropertySelector != nil {
			for _, e := range t.PropertySelector.MatchExpressions {
				if unreadable(e.Name, m) {
					return true
				}
				if matched = holds(e, m); !matched {
					break
				}
			}
		}
		if matched {
			return false
		}
	}
	return false
}

func unreadable(name string, m api.Member) bool {
	if rest, isResource := strings.CutPrefix(name, api.PropertyResourcePrefix); isResource {
		return strings.Count(rest, "-") != 1
	}
	value, present := m.Properties[name]
	if !present {
		return false
	}
	_, err := resource.ParseQuantity(value)
	return err != nil
}

func holds(e api.PropertyExpression, m api.Member) bool {
	value, present := m.Properties[e.Name]
	if !present {
		return false
	}
	order := new(resource.MustParse(value)).Cmp(resource.MustParse(e.Values[0]))
	return map[api.PropertyOperator]bool{
		api.OpGt: order > 0, api.OpGe: order >= 0, api.OpEq: order == 0,
		api.OpNe: order != 0, api.OpLt: order < 0, api.OpLe: order <= 0,
	}[e.Operator]
}

// reusesUnderSpread reports whether bindings of an older policy meet spread constraints, where
// KubeFleet forgets after its first cycle which members were in use.
func (c *placementCase) reusesUnderSpread() bool {
	return c.Policy != nil && len(c.Policy.TopologySpreadConstraints) > 0 && len(c.obsolete()) > 0
}

// obsolete lists the clusters in use under an older policy.
func (c *placementCase) obsolete() []string {
	var names []string
	for _, b := range c.Existing {
		if b.PolicyRevision == "previous" && b.State != api.BindingUnscheduled {
			names = append(names, b.Cluster)
		}
	}
	return names
}

// waitsForListed reports whether a PickFixed still lists a cluster in use under an older policy.
func (c *placementCase) waitsForListed() bool {
	if c.Policy.Type() != api.PickFixed {
		return false
	}
	return slices.ContainsFunc(c.obsolete(), func(name string) bool {
		return slices.Contains(c.Policy.ClusterNames, name)
	})
}

// decisionHolds checks what a decision promises where it departs from the recording, and says what
// is broken.
func decisionHolds(decision string, c *placementCase, in schedule.Input, plan *schedule.Plan) string {
	switch decision {
	case "D1":
		return decidedAsReadable(c, plan)
	case "D2":
		return movedNobodyEqual(c, in, plan)
	case "D3":
		return keptWaiting(c, plan)
	}
	return "unknown decision"
}

// decidedAsReadable: where KubeFleet's cycle died, the core decides as it does on a fleet in which the
// property has a name without dashes, and is absent where it is no quantity.
func decidedAsReadable(c *placementCase, plan *schedule.Plan) string {
	if !c.Expected.Error {
		return "the recorded cycle did not die"
	}
	readable := c.input()
	members := make([]api.Member, len(c.Clusters))
	for i := range c.Clusters {
		members[i] = c.Clusters[i].member()
		for name, value := range members[i].Properties {
			delete(members[i].Properties, name)
			if _, err := resource.ParseQuantity(value); err == nil {
				members[i].Properties[readableName(name)] = value
			}
		}
	}
	readable.Fleet, readable.Policy = schedule.NewFleet(members...), readablePolicy(c.Policy)
	readable.PolicyDigest = schedule.PolicyDigest(readable.Policy)
	want := schedule.Schedule(readable)
	for i, v := range want.Verdicts.All() {
		got := plan.Verdicts.Row(i)
		if got.Filter != v.Filter || show(got.AffinityScore) != show(v.AffinityScore) || got.Rank != v.Rank {
			return fmt.Sprintf("%s: %s; with readable properties: %s", v.Member, got.Reason, v.Reason)
		}
	}
	return ""
}

// readableName leaves no dash in the name of a resource.
func readableName(name string) string {
	if rest, isResource := strings.CutPrefix(name, api.PropertyResourcePrefix); isResource {
		return "example.com/" + strings.ReplaceAll(rest, "-", ".")
	}
	return name
}

func readablePolicy(p *api.Policy) *api.Policy {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	var readable api.Policy
	if err := json.Unmarshal(text, &readable); err != nil {
		panic(err)
	}
	affinity := readable.Affinity.ClusterAffinity
	if affinity.Required != nil {
		for _, t := range affinity.Required.ClusterSelectorTerms {
			if t.PropertySelector == nil {
				continue
			}
			for i := range t.PropertySelector.MatchExpressions {
				t.PropertySelector.MatchExpressions[i].Name = readableName(t.PropertySelector.MatchExpressions[i].Name)
			}
		}
	}
	for i := range affinity.Preferred {
		if s := affinity.Preferred[i].Preference.Sorter(); s != nil {
			s.Name = readableName(s.Name)
		}
	}
	return &readable
}

// movedNobodyEqual: no member in use lost its place to one that was not in use and ranks equal, which
// is to say scores the same affinity and stands in the same domains.
func movedNobodyEqual(c *placementCase, in schedule.Input, plan *schedule.Plan) string {
	if len(plan.Bindings) != len(c.Expected.Selected) || plan.Fulfilled != c.Expected.Fulfilled {
		return fmt.Sprintf("%d picked, %d recorded", len(plan.Bindings), len(c.Expected.Selected))
	}
	used := c.obsolete()
	for _, moved := range plan.Removed {
		old, known := in.Fleet.Member(moved.Member)
		verdict, _ := plan.Verdicts.Of(moved.Member)
		if !known || !slices.Contains(used, moved.Member) || verdict.AffinityScore == nil {
			continue
		}
		for _, b := range plan.Bindings {
			taker, _ := in.Fleet.Member(b.Member)
			if slices.Contains(used, b.Member) || *b.AffinityScore != *verdict.AffinityScore {
				continue
			}
			if sameDomains(c.Policy, old, taker) {
				return fmt.Sprintf("%s was moved to %s, which ranks equal", moved.Member, b.Member)
			}
		}
	}
	return ""
}

func sameDomains(p *api.Policy, a, b api.Member) bool {
	for _, constraint := range p.TopologySpreadConstraints {
		one, hasOne := a.Labels[constraint.TopologyKey]
		other, hasOther := b.Labels[constraint.TopologyKey]
		if one != other || hasOne != hasOther {
			return false
		}
	}
	return true
}

// keptWaiting: a listed member in use that is not eligible keeps its workload without being picked.
func keptWaiting(c *placementCase, plan *schedule.Plan) string {
	for _, name := range c.obsolete() {
		v, known := plan.Verdicts.Of(name)
		if known && slices.Contains(c.Policy.ClusterNames, name) && !v.Picked && !v.Keeps {
			return name + " is listed and lost its workload: " + v.Reason
		}
	}
	return ""
}
