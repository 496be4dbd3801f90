package page

import (
	"encoding/json"
	"strconv"
	"strings"

	"flotilla/core/api"
	"flotilla/core/overview"
)

// membersScreen says which members there are, as a query and an order have them.
var membersScreen = &screen{Name: "Members", Home: "/members", Key: "m", patterns: []string{"/members"}, draw: drawMembers}

// memberWindow is how many members are drawn at once.
const memberWindow = 80

func windowOf[T any](v *visit, rows []T, size int) ([]T, overview.Span) {
	from, _ := strconv.Atoi(v.query("from"))
	return overview.SpanOf(rows, from, size)
}

// memberQuery is what the URL asks for, with the state that may stand by itself.
func memberQuery(v *visit) string {
	q := strings.TrimSpace(v.query("q"))
	if state := v.query("state"); state != "" {
		q = strings.TrimSpace(q + " " + overview.Term("state", state))
	}
	return q
}

func drawMembers(v *visit) (*drawing, error) {
	q := memberQuery(v)
	members, faults := overview.Choose(v.fleet.Members, q, v.query("sort"), v.query("by"))
	rows, shown := windowOf(v, members, memberWindow)
	list := map[string]any{"Members": rows, "Shown": shown, "Faults": faults, "By": v.query("by"), "Columns": overview.Headings(v.query("sort"))}
	return &drawing{
		Title: "Members",
		Parts: []part{{"asked", "find", q}, {"facets", "facets", overview.Narrow(q, members)}, {"members", "members", list}},
		Table: func(v *visit, _ string) (*overview.Table, error) {
			bodies, err := v.list(api.KindMemberCluster, false)
			if err != nil {
				return nil, err
			}
			names := make([]string, len(members))
			for i := range members {
				names[i] = members[i].Name
			}
			return overview.MemberTable("members", bodies, names)
		},
	}, nil
}

// list reads all objects of a kind as who looks may read them.
func (v *visit) list(kind string, brief bool) (all []json.RawMessage, err error) {
	ask := api.ListRequest{Kind: kind, Brief: brief}
	err = pages(func(next string) (string, error) {
		var answer api.ListResponse
		ask.Continue = next
		err := v.ask(api.VerbList, &ask, &answer)
		all = append(all, answer.Items...)
		return answer.Continue, err
	})
	return all, err
}

// pages asks for one page after another, each from where the one before said.
func pages(ask func(from string) (next string, err error)) error {
	next, err := ask("")
	for err == nil && next != "" {
		next, err = ask(next)
	}
	return err
}
