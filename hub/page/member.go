package page

import (
	"encoding/json"

	"flotilla/core/api"
	"flotilla/core/overview"
)

// memberScreen says of one member how it is, since when, and what runs there.
var memberScreen = &screen{Home: "/members", patterns: []string{"/members/{name}"}, draw: drawMember}

const (
	// eventsShown is how many of the newest events of an object are drawn.
	eventsShown = 20
	// placedShown is how many placements are drawn at once.
	placedShown = 80
)

// member is one member: the row of it, the object as the command line reads it, what it holds, and what happened.
type member struct {
	Name string
	// Row is nil for a member that came after the fleet was read.
	Row    *overview.Member
	Object *api.MemberCluster
	Status *api.MemberClusterStatus
	On     *api.OnMember
	// Placed are the first of On.Placements, the worst first.
	Placed []api.PlacementOn
	Shown  overview.Span
}

func drawMember(v *visit) (*drawing, error) {
	m, err := readMember(v, v.path("name"))
	if err != nil {
		return nil, err
	}
	happened, err := v.happened(&api.EventsRequest{Member: m.Name, Limit: eventsShown})
	if err != nil {
		return nil, err
	}
	return &drawing{
		Title: "Member " + m.Name,
		Parts: []part{
			{"member", "member", m},
			{"holds", "member-holds", m},
			{"placed", "member-placed", m},
			{"facts", "member-facts", m},
			{"events", "audits", happened},
		},
		Table: func(v *visit, _ string) (*overview.Table, error) {
			var body json.RawMessage
			if err := v.ask(api.VerbGet, &api.GetRequest{Kind: api.KindMemberCluster, Name: m.Name}, &body); err != nil {
				return nil, err
			}
			return overview.MemberTable("member-"+m.Name, []json.RawMessage{body}, []string{m.Name})
		},
	}, nil
}

func readMember(v *visit, name string) (*member, error) {
	m := &member{Name: name, Row: v.fleet.Member(name), Object: &api.MemberCluster{}, On: &api.OnMember{}}
	if err := v.ask(api.VerbGet, &api.GetRequest{Kind: api.KindMemberCluster, Name: name}, m.Object); err != nil {
		return nil, err
	}
	if err := v.ask(api.VerbMember, &api.MemberRequest{Name: name}, m.On); err != nil {
		return nil, err
	}
	if m.Status = m.Object.Status; m.Status == nil {
		m.Status = &api.MemberClusterStatus{}
	}
	overview.WorstFirst(m.On.Placements, func(p *api.PlacementOn) (overview.Sign, string) { return overview.SignOfEntry(p.State), p.Placement })
	m.Placed, m.Shown = windowOf(v, m.On.Placements, placedShown)
	return m, nil
}

// Labels are those that placements see.
func (m *member) Labels() map[string]string {
	if m.Status.Labels != nil {
		return m.Status.Labels
	}
	return m.Object.Labels
}
