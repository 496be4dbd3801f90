package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/verdict"
)

// shownRefusals is how many members of one filter the text names.
const shownRefusals = 3

// shownMembers is how many members a line of a run names.
const shownMembers = 5

// String renders the answer for people: + for what comes, = for what stays, - for what goes.
func (a *Answer) String() string {
	var b strings.Builder
	for i := range a.Objects {
		o := &a.Objects[i]
		if o.Action != api.ActionUnchanged {
			fmt.Fprintf(&b, "%s %s would be %s\n", sign(o.Action), o.Object, o.Action)
		}
	}
	for i := range a.Placements {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		a.Placements[i].write(&b, &a.Details[i])
	}
	for i := range a.Content {
		b.WriteString("\n")
		a.Content[i].write(&b)
	}
	for i := range a.Runs {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		a.Runs[i].write(&b, &a.RunDetails[i])
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(a.Summary() + "\n")
	return b.String()
}

// Summary counts the changes in one line.
func (a *Answer) Summary() string {
	var added, kept, removed, snapshots int
	for i := range a.Placements {
		plus, same := a.Placements[i].Counts()
		added, kept, removed = added+plus, kept+same, removed+len(a.Placements[i].Removed)
	}
	for i := range a.Content {
		if a.Content[i].Error == "" {
			snapshots++
		}
	}
	var parts []string
	if len(a.Placements) > 0 || len(a.Runs) == 0 {
		parts = append(parts, fmt.Sprintf("%d to add, %d to keep, %d to remove", added, kept, removed))
	}
	if snapshots > 0 {
		parts = append(parts, "content of "+phrase.Count(snapshots, "placement")+" changes")
	}
	if len(a.Runs) > 0 {
		parts = append(parts, a.runsSummary())
	}
	return "plan: " + strings.Join(parts, "; ")
}

// runsSummary counts the members that runs would upgrade and those that they would bring content to, and says when the last
// run ends.
func (a *Answer) runsSummary() string {
	counts := map[bool]int{} // by whether the run brings content
	for i := range a.Runs {
		content := a.RunDetails[i].Kind != ""
		counts[content] += 0
		for j := range a.Runs[i].Members {
			if a.Runs[i].Members[j].Start != nil {
				counts[content]++
			}
		}
	}
	var parts []string
	if upgrades, some := counts[false]; some {
		parts = append(parts, phrase.Count(upgrades, "upgrade"))
	}
	if brought, some := counts[true]; some {
		parts = append(parts, "content for "+phrase.Count(brought, "member"))
	}
	text := strings.Join(parts, ", ")
	if end := ends(a.Runs); !end.IsZero() {
		text += ", done by " + Moment(metav1.NewTime(end))
	}
	return text
}

func sign(action string) string {
	switch action {
	case api.ActionCreated:
		return "+"
	case api.ActionDeleted, api.ActionDeleting:
		return "-"
	}
	return "~"
}

func (p *Placement) write(b *strings.Builder, d *Detail) {
	fmt.Fprintf(b, "%s/%s (%s): %s\n", d.Kind, p.Name, p.Type, d.Message)
	for i := range p.Picked {
		k := &p.Picked[i]
		mark := "="
		if k.Change == ChangeAdd {
			mark = "+"
		}
		fmt.Fprintf(b, "  %s %s%s%s\n", mark, k.Member, scores(k.AffinityScore, k.TopologySpreadScore), after(": ", k.text()))
	}
	for i := range p.Removed {
		r := &p.Removed[i]
		fmt.Fprintf(b, "  - %s: %s%s\n", r.Member, r.Reason, after("; ", r.text("", "gives it up")))
	}
	for i := range p.Verdicts {
		if v := &p.Verdicts[i]; v.Keeps {
			fmt.Fprintf(b, "  = %s: %s\n", v.Member, v.Reason)
		}
	}
	p.writeMissing(b, d.Unpicked)
	p.writeRefusals(b)
	if d.Rollout != "" {
		fmt.Fprintf(b, "  rollout: %s\n", d.Rollout)
	}
	p.writeRollout(b)
}

// writeRollout says what the rollout waits for at present when members would wait, and of whom it is not known
// what would happen to them.
func (p *Placement) writeRollout(b *strings.Builder) {
	var reasons []string
	unknown, waits := map[string][]string{}, false
	note := func(member string, c *Course) {
		waits = waits || c.Rollout == RolloutWaits
		if c.Rollout != RolloutUnknown {
			return
		}
		if unknown[c.RolloutReason] == nil {
			reasons = append(reasons, c.RolloutReason)
		}
		unknown[c.RolloutReason] = append(unknown[c.RolloutReason], member)
	}
	for i := range p.Picked {
		note(p.Picked[i].Member, &p.Picked[i].Course)
	}
	for i := range p.Removed {
		note(p.Removed[i].Member, &p.Removed[i].Course)
	}
	if waits && p.RolloutMessage != "" {
		fmt.Fprintf(b, "  rollout now: %s\n", p.RolloutMessage)
	}
	for _, reason := range reasons {
		fmt.Fprintf(b, "  rollout of %s: unknown, %s\n", phrase.Names(unknown[reason], shownMembers), reason)
	}
}

// text is what would happen to a picked member, and which taint it has.
func (k *Pick) text() string {
	text := k.Course.text("changes", "changes")
	if k.Change == ChangeAdd {
		text = k.Course.text("", "gets it")
	}
	if k.Taint == "" {
		return text
	}
	return strings.TrimPrefix(text+"; is tainted "+k.Taint, "; ")
}

// writeMissing says why wanted members were not picked, but for those that keep the workload, which
// stand above with the same reason.
func (p *Placement) writeMissing(b *strings.Builder, unpicked []api.Unpicked) {
	if p.Fulfilled {
		return
	}
	for _, u := range unpicked {
		keeps := slices.ContainsFunc(p.Verdicts, func(v Verdict) bool { return v.Member == u.Member && v.Keeps })
		if !keeps {
			fmt.Fprintf(b, "  ! %s not picked: %s\n", u.Member, u.Reason)
		}
	}
}

// writeRefusals counts the other members by filter and names the first of each.
func (p *Placement) writeRefusals(b *strings.Builder) {
	byFilter := map[string][]string{}
	for i := range p.Verdicts {
		if v := &p.Verdicts[i]; v.Filter != "" && !v.Keeps {
			byFilter[v.Filter] = append(byFilter[v.Filter], v.Member)
		}
	}
	filters := slices.SortedFunc(maps.Keys(byFilter), func(x, y string) int {
		return cmp.Or(len(byFilter[y])-len(byFilter[x]), strings.Compare(x, y))
	})
	for _, f := range filters {
		names := byFilter[f]
		by := "not picked by " + f
		if word := verdict.FilterWord(p.Type, f); word != f {
			by = word
		}
		fmt.Fprintf(b, "  %s: %s\n", by, phrase.Names(names, shownRefusals))
	}
}

func scores(affinity, spread *int32) string {
	if affinity == nil || spread == nil {
		return ""
	}
	return fmt.Sprintf("  affinity score %d, topology spread score %d", *affinity, *spread)
}

func (c *ContentChange) write(b *strings.Builder) {
	if c.Error != "" {
		fmt.Fprintf(b, "content of placement/%s cannot be selected: %s\n", c.Placement, c.Error)
		return
	}
	fmt.Fprintf(b, "content of placement/%s, to roll out to %s\n", c.Placement, phrase.Count(c.Members, "member"))
	for _, group := range []struct {
		mark    string
		objects []api.ObjectRef
	}{{"+", c.Added}, {"~", c.Changed}, {"-", c.Removed}} {
		for _, o := range group.objects {
			fmt.Fprintf(b, "  %s %s\n", group.mark, o)
		}
	}
	if c.Rollout != "" {
		fmt.Fprintf(b, "  rollout: %s\n", c.Rollout)
	}
}
