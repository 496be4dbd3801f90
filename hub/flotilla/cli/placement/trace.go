package placement

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type traceOptions struct {
	member string
	format string
	limit  int
}

func (a Commands) traceCommand() *cobra.Command {
	o := &traceOptions{}
	cmd := &cobra.Command{
		Use:   "trace placement/NAME [--member MEMBER]",
		Short: "Tell how the last change of a placement came to its members, and what each hop took",
		Long: `Tell how the last change of a placement came to its members, and what each hop took: from the apply over the
snapshot, the schedule, overrides, staged runs, the release and the command to the agent that received it, applied it, saw it
available and reported that. Members come slowest first. What has not happened yet says what it waits for.

Times are the broker's, in UTC. Those that an agent states by its own clock are moved by how far that clock is ahead, and
say so; what is not kept any more is unknown.`,
		Example: `  flotilla trace placement/web
  flotilla trace placement/web -m berlin
  flotilla trace placement/web -o json`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.trace(ctx, o, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.member, "member", "m", "", "this member alone")
	cmd.Flags().IntVar(&o.limit, "limit", 3, "print the hops of so many members, the slowest; 0 for all that the hub lists")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json")
	return cmd
}

func (a Commands) trace(ctx context.Context, o *traceOptions, args []string) error {
	if err := a.Format(o.format, "json"); err != nil {
		return err
	}
	if o.limit < 0 {
		return session.Usagef("--limit: found %d, expected 0 or more", o.limit)
	}
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	var answer api.Trace
	if err := a.Call(ctx, api.VerbTrace, api.TraceRequest{Object: r.Object(), Member: o.member}, &answer); err != nil {
		return err
	}
	if a.Machine {
		return session.PrintJSON(a.Out, answer)
	}
	return a.printTrace(r, o, &answer)
}

func (a Commands) printTrace(r resource.Ref, o *traceOptions, t *api.Trace) error {
	by := ""
	if t.Change.By != "" {
		by = ", by " + t.Change.By
	}
	a.Printf("%s: %s%s, %s; %d of %d there\n", r, t.Change.What, by, instant(t.Change.At), t.Done, t.Total)
	if !t.Status.IsZero() {
		a.Printf("its status said that all is done at %s\n", instant(t.Status))
	}
	a.Notes(t.Notes)
	if err := a.printHops(t.Hops); err != nil {
		return err
	}
	shown := t.Members
	if o.limit > 0 {
		shown = shown[:min(len(shown), o.limit)]
	}
	for i := range shown {
		if err := a.printTraced(&shown[i]); err != nil {
			return err
		}
	}
	if more := t.Total - len(shown); more > 0 {
		a.Printf("\n%d more %s left out, which took less\n", more, session.Plural(more, "member is", "members are"))
		a.Next("flotilla trace %s --limit 0", r)
	}
	return nil
}

// printHops prints what each hop took over members.
func (a Commands) printHops(hops []api.HopSummary) error {
	if len(hops) == 0 {
		return nil
	}
	a.Printf("\n")
	w := a.Columns(2)
	session.Say(w, "HOP\tMEMBERS\tP50\tP90\tMAX\tSLOWEST\n")
	for i := range hops {
		h := &hops[i]
		session.Say(w, "%s\t%d\t%s\t%s\t%s\t%s\n", h.Hop, h.Members, span(h.P50Ms), span(h.P90Ms), span(h.MaxMs), h.Slowest)
	}
	return w.Flush()
}

func (a Commands) printTraced(m *api.TracedMember) error {
	a.Printf("\n%s: %s\n", m.Member, progressOf(m))
	w := a.Columns(2)
	session.Say(w, "  HOP\tAT\tTOOK\tNOTE\n")
	for i := range m.Hops {
		h := &m.Hops[i]
		at, took := whenOf(h), "-"
		if h.State == api.HopDone && i > 0 {
			took = span(h.TookMs)
		}
		session.Say(w, "  %s\t%s\t%s\t%s\n", h.Hop, at, took, session.OrDash(session.Cell(noteOf(h))))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if c := m.Clock; c != nil && (c.Turned || c.AheadMs >= noticed || c.AheadMs <= -noticed) {
		a.Printf("  %s\n", clockText(c))
	}
	return nil
}

// progressOf says how long it took, or takes.
func progressOf(m *api.TracedMember) string {
	what := "took "
	if m.Leaves {
		what = "leaves it: took "
	}
	if m.Done {
		return what + span(m.TookMs)
	}
	if m.Leaves {
		return "is to give it up, for " + span(m.SinceMs)
	}
	return "on its way for " + span(m.SinceMs)
}

// whenOf is when a hop was, or its state.
func whenOf(h *api.Hop) string {
	switch {
	case h.State == api.HopDone && h.Second:
		return h.At.UTC().Format(time.RFC3339)
	case h.State == api.HopDone && h.Latest:
		return "by " + instant(h.At)
	case h.State == api.HopDone:
		return instant(h.At)
	case h.State == api.HopBefore:
		return "before: " + instant(h.At)
	case h.State == api.HopWaits:
		return "waits"
	case h.State == api.HopUnknown:
		return "not kept"
	}
	return "-"
}

func noteOf(h *api.Hop) string {
	if h.Stated.IsZero() || absolute(h.Stated.Sub(h.At.Time)) < noticed*time.Millisecond {
		return h.Note
	}
	text := "its agent says " + instant(h.Stated)
	if h.Note != "" {
		text += "; " + h.Note
	}
	return text
}

func absolute(d time.Duration) time.Duration { return max(d, -d) }

// noticed is from how many milliseconds on it is said that a clock goes wrong.
const noticed = 1000

func clockText(c *api.AgentClock) string {
	text := fmt.Sprintf("the clock of its agent is %s ahead, as its %s tells; the times that it states are moved by that", span(c.AheadMs), c.By)
	if c.AheadMs < 0 {
		text = fmt.Sprintf("the clock of its agent is %s behind, as its %s tells; the times that it states are moved by that", span(-c.AheadMs), c.By)
	}
	if c.Turned {
		text += "; it was set meanwhile, so that they lie between what the broker stored"
	}
	return text
}

// instant is a time in UTC to the millisecond.
func instant(t metav1.MicroTime) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// span is a time in milliseconds as people read it.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if absolute(d) >= time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}
