package explain

import (
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// MemberForecast is the answer to what would be disrupted on a member now: of the hub, or of files,
// which hold a member without a name.
type MemberForecast struct {
	Member string    `json:"member,omitempty"`
	At     time.Time `json:"at"`
	// Nodes is how many the member has.
	Nodes int `json:"nodes"`
	Forecast
	// Explanations are those of the nodes that were named.
	Explanations []Explanation `json:"explanations,omitempty"`
	Notes        []string      `json:"notes,omitempty"`
}

// ForeseeMember returns what would begin now, and explains the named nodes: one that goes as things are
// when it is its turn, one that stays as they are once the nodes of the plan go. A launch ends the plan,
// so what it replaces is not taken to go; so does the number of passes, unless it is 0.
func ForeseeMember(s *simulate.State, member string, named []string, passes int) MemberForecast {
	f := MemberForecast{Member: member, At: s.Now.UTC().Truncate(time.Second), Nodes: s.Cluster.Len(), Forecast: Foresee(s, passes)}
	ahead := s.Ahead()
	going := map[string]Explanation{}
	for i := range f.Commands {
		c := &f.Commands[i]
		f.Notes = append(f.Notes, c.Warnings()...)
		for _, name := range named {
			if slices.Contains(c.Nodes, name) {
				going[name], _ = Explain(ahead, name)
			}
		}
		if len(c.Replacements) == 0 {
			c.Begun(ahead)
		}
	}
	f.explain(named, func(name string) (Explanation, bool) {
		if e, ok := going[name]; ok {
			return e, true
		}
		return Explain(ahead, name)
	})
	return f
}

// explain adds what is to be said of the nodes that were named.
func (f *MemberForecast) explain(named []string, tell func(name string) (Explanation, bool)) {
	for _, name := range named {
		if e, ok := tell(name); ok {
			f.Explanations = append(f.Explanations, e)
		}
	}
}

// NodeAnswer is the hub's answer to why a node of a member goes or stays.
type NodeAnswer struct {
	Member string    `json:"member,omitempty"`
	At     time.Time `json:"at"`
	Explanation
	// Running is the disruption that holds the node already.
	Running *api.Disruption `json:"running,omitempty"`
	// Backoff is the failure of the last one.
	Backoff *api.NodeBackoff `json:"backoff,omitempty"`
	Notes   []string         `json:"notes,omitempty"`
}

// Answer explains a node with what the record of its member says of it; false when the member has no
// such node.
func Answer(s *simulate.State, member, node string, record *api.DisruptionRecord) (NodeAnswer, bool) {
	e, found := Explain(s, node)
	if !found {
		return NodeAnswer{}, false
	}
	a := NodeAnswer{Member: member, At: s.Now.UTC().Truncate(time.Second), Explanation: e}
	for i := range record.Disruptions {
		if d := &record.Disruptions[i]; d.Running() && slices.Contains(d.Nodes, node) {
			a.Running = d
			if a.NoFlip == advices[disruption.CodeQueued] && d.Message != "" {
				a.NoFlip = "what disruption " + d.ID + " waits for has to end"
			}
		}
	}
	for i := range record.Backoffs {
		if b := &record.Backoffs[i]; b.Node == node {
			a.Backoff = b
		}
	}
	return a, true
}
