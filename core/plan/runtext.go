package plan

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/core/window"
)

// writeRun renders the course of a run: how it ends, every member in order, and the timeline of
// everything but members, which stands in their rows.
func (r *Run) write(b *strings.Builder, d *RunDetail) {
	fmt.Fprintf(b, "%s/%s (%s): %s\n", cmp.Or(d.Kind, api.KindUpdateRun), r.Name, d.Upgrade, r.outcome(d))
	if d.Refusal != nil {
		for _, f := range d.Refusal.Faults {
			fmt.Fprintf(b, "  ! %s\n", f.String())
		}
	}
	for _, text := range d.Warnings {
		fmt.Fprintf(b, "  ! %s\n", text)
	}
	r.writeMembers(b, d)
	r.writeExpected(b)
	r.writeTimeline(b)
	for _, text := range d.WaitsFor {
		fmt.Fprintf(b, "  waits for %s\n", text)
	}
}

// outcome says in one line how the run ends.
func (r *Run) outcome(d *RunDetail) string {
	switch {
	case d.Refusal != nil:
		return "refused, " + d.Refusal.Code + ": " + d.Refusal.Message
	case r.ExpectedEnd == nil:
		return fmt.Sprintf("stays %s, %s", r.State, r.counts(d))
	}
	return fmt.Sprintf("would end %s at %s, %s, %s", r.State, Moment(*r.ExpectedEnd), whenText(d.Now, r.ExpectedEnd), r.counts(d))
}

// counts is "3 of 4 upgraded, 1 Skipped".
func (r *Run) counts(d *RunDetail) string {
	upgrades, others, order := 0, map[api.UpdateState]int{}, []api.UpdateState{}
	for i := range r.Members {
		m := &r.Members[i]
		if m.Start != nil {
			upgrades++
			continue
		}
		if others[m.State] == 0 {
			order = append(order, m.State)
		}
		others[m.State]++
	}
	what := "upgraded"
	if d.Kind != "" {
		what = "reached"
	}
	parts := []string{fmt.Sprintf("%d of %d %s", upgrades, len(r.Members), what)}
	for _, state := range order {
		parts = append(parts, fmt.Sprintf("%d %s", others[state], state))
	}
	return strings.Join(parts, ", ")
}

func (r *Run) writeMembers(b *strings.Builder, d *RunDetail) {
	if len(r.Members) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	write := func(cells ...string) { _, _ = fmt.Fprintf(w, "  %s\n", strings.Join(cells, "\t")) }
	write("", "MEMBER", "STAGE/GROUP", "WINDOW", "START", "END", "WHEN", "LOCAL", "FROM", "TO", "STATE")
	for i := range r.Members {
		m := &r.Members[i]
		order, state := "-", string(m.State)
		if m.Start != nil {
			order = fmt.Sprint(i + 1)
		}
		if m.Start == nil || m.State != api.StateCompleted {
			state = strings.TrimSpace(state+" "+m.Reason) + after(": ", d.Messages[i])
		}
		write(order, m.Name, m.Stage+"/"+m.Group, windowText(m.WindowClass), orNothing(m.Start), orNothing(m.End), whenText(d.Now, m.Start), dash(d.Local[i]), dash(m.From), dash(m.To), state)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

// basisWords say what an expected duration rests on.
var basisWords = map[string]string{
	upgrade.BasisRun: "as those that this run has finished", upgrade.BasisMember: "as before on the same member",
	upgrade.BasisFleet: "as before on other members", upgrade.BasisDefault: "as nothing is known of any like it",
}

// writeExpected says how long upgrades are taken to last, unless whoever asked said it, and who works on
// members until when.
func (r *Run) writeExpected(b *strings.Builder) {
	var lines []string
	members := map[string][]string{}
	for i := range r.Members {
		m := &r.Members[i]
		if m.HeldUntil != nil {
			fmt.Fprintf(b, "  %s: an operation of %s is expected to end at %s\n", m.Name, m.HeldBy, Moment(*m.HeldUntil))
		}
		if m.Expected == nil || basisWords[m.Expected.Basis] == "" {
			continue
		}
		line := fmt.Sprintf("taken to last %s, %s", phrase.Span(m.Expected.Duration.Duration), basisWords[m.Expected.Basis])
		if members[line] == nil {
			lines = append(lines, line)
		}
		members[line] = append(members[line], m.Name)
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %s: %s\n", line, phrase.Names(members[line], shownMembers))
	}
}

func (r *Run) writeTimeline(b *strings.Builder) {
	var last string
	for i := range r.Events {
		e := &r.Events[i]
		if e.Scope == stage.ScopeMember {
			continue
		}
		at := Moment(e.At)
		if at == last {
			at = strings.Repeat(" ", len(at))
		} else {
			last = at
		}
		fmt.Fprintf(b, "  %s  %s %s\n", at, strings.TrimSpace(e.Scope+" "+e.Name), e.State)
	}
}

// Moment renders a time for people, in UTC, with seconds only where there are some.
func Moment(t metav1.Time) string {
	text := t.UTC().Format("2006-01-02 15:04:05")
	return strings.TrimSuffix(text, ":00") + "Z"
}

func orNothing(t *metav1.Time) string {
	if t == nil {
		return "-"
	}
	return Moment(*t)
}

// whenText is how far away a time is, "in 3d4h", "now" or "5m ago"; "-" for none.
func whenText(now metav1.Time, at *metav1.Time) string {
	switch {
	case at == nil:
		return "-"
	case at.After(now.Time):
		return "in " + duration.HumanDuration(at.Sub(now.Time))
	case now.Sub(at.Time) < time.Second:
		return "now"
	}
	return duration.HumanDuration(now.Sub(at.Time)) + " ago"
}

func windowText(class int) string {
	if class == 0 {
		return "-"
	}
	return window.Class(class).String()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// ends is the latest expected end of the runs, zero when one of them does not end by itself.
func ends(runs []Run) time.Time {
	var latest time.Time
	for i := range runs {
		end := runs[i].ExpectedEnd
		if end == nil {
			return time.Time{}
		}
		if end.After(latest) {
			latest = end.Time
		}
	}
	return latest
}
