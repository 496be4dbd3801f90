package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

// printFleetPlan shows what goes on which member, then each member in a line with why the other nodes stay;
// those on which nothing can ever go share one.
func (a Commands) printFleetPlan(all *FleetNodePlan) error {
	a.Printf("at %s\n", all.At.Format(time.RFC3339))
	for i := range all.Members {
		p := &all.Members[i]
		if len(p.Commands) == 0 {
			continue
		}
		a.Printf("\nmember %s:\n", p.Member)
		for _, c := range p.Commands {
			a.Printf("%s", c.String())
		}
		if p.Then != "" {
			a.Printf("%s\n", p.Then)
		}
	}
	a.Printf("\n")
	w := a.Columns(3)
	session.Say(w, "MEMBER\tNODES\tGO\tLAUNCH\tSAVES/H\tTHE OTHER NODES STAY BECAUSE\n")
	var total memberRow
	var still []*explain.MemberForecast
	for i := range all.Members {
		p := &all.Members[i]
		row := newMemberRow(p)
		total.add(&row)
		if p.Stale == "" && len(p.Commands) == 0 && firstManaged(p) == "" {
			still = append(still, p)
			continue
		}
		row.print(w, p.Member, row.because(p.Stale))
	}
	printStill(w, still)
	total.print(w, "in all", "")
	return w.Flush()
}

// printStill shows the members in one line whose nodes, if they have any, are nobody's.
func printStill(w *tabwriter.Writer, members []*explain.MemberForecast) {
	var names []string
	var row memberRow
	for _, p := range members {
		one := newMemberRow(p)
		row.add(&one)
		names = append(names, p.Member)
	}
	switch {
	case len(names) == 0:
	case len(names) == 1:
		row.print(w, names[0], row.because(""))
	default:
		row.print(w, fmt.Sprintf("%d members", len(names)), row.because("")+": "+phrase.Names(names, shownMembers))
	}
}

// shownMembers is how many members a line names.
const shownMembers = 5

// memberRow is what a line about a member, or about several, counts.
type memberRow struct {
	nodes, gone, launched int
	savings               api.Hourly
	stay                  map[disruption.Code]int
}

func newMemberRow(p *explain.MemberForecast) memberRow {
	row := memberRow{nodes: p.Nodes, savings: p.Savings, stay: map[disruption.Code]int{}}
	row.gone, row.launched = going(&p.Forecast)
	for i := range p.Verdicts {
		if v := &p.Verdicts[i]; v.Disrupt == "" {
			row.stay[v.Code()]++
		}
	}
	return row
}

func (r *memberRow) add(o *memberRow) {
	r.nodes, r.gone, r.launched, r.savings = r.nodes+o.nodes, r.gone+o.gone, r.launched+o.launched, r.savings.Plus(o.savings)
	if r.stay == nil {
		r.stay = map[disruption.Code]int{}
	}
	for code, n := range o.stay {
		r.stay[code] += n
	}
}

// because counts the nodes that stay by their reasons, the most frequent first.
func (r *memberRow) because(stale string) string {
	if stale != "" {
		return "nothing is decided: " + stale
	}
	codes := slices.SortedFunc(maps.Keys(r.stay), func(a, b disruption.Code) int {
		return cmp.Or(cmp.Compare(r.stay[b], r.stay[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, code := range codes {
		parts = append(parts, fmt.Sprintf("%s (%d)", code, r.stay[code]))
	}
	if r.nodes == 0 {
		return "no nodes"
	}
	return session.OrDash(strings.Join(parts, ", "))
}

func (r *memberRow) print(w *tabwriter.Writer, name, because string) {
	session.Say(w, "%s\t%d\t%d\t%d\t%s", name, r.nodes, r.gone, r.launched, r.savings)
	if because != "" {
		session.Say(w, "\t%s", because)
	}
	session.Say(w, "\n")
}

// firstManaged is the first node of a plan that may ever go, "" when there is none.
func firstManaged(p *explain.MemberForecast) string {
	i := slices.IndexFunc(p.Verdicts, func(v disruption.Verdict) bool { return v.Code() != disruption.CodeUnmanaged })
	if i < 0 {
		return ""
	}
	return p.Verdicts[i].Node
}
