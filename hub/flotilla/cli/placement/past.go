package placement

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type pastOptions struct {
	format string
	since  string
	limit  int
}

func (a Commands) pastCommand() *cobra.Command {
	o := &pastOptions{}
	cmd := &cobra.Command{
		Use:   "history placement/NAME",
		Short: "Tell what became of a placement: who applied what, picks, rollouts, and who steered them",
		Long: `Tell what became of a placement, oldest first: who applied what, which snapshots were cut, which members were gained
and lost and why, which rollouts began and ended, and who undid, paused, resumed and restarted them. It is made of the events that
are kept, for 90 days at most, and says from when on they are. A placement that is gone has a history too.

"rollout history" lists the revisions that one can go back to, "events" every event; this is the story of the two.`,
		Example: `  flotilla history placement/web
  flotilla history placement/web --since yesterday -o wide
  flotilla get placement web --at -2h`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.past(ctx, o, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().StringVar(&o.since, "since", "", "leave out what was before: "+momentWords)
	cmd.Flags().IntVar(&o.limit, "limit", api.DefaultPast, fmt.Sprintf("the newest so many, %d at most", api.MaxPast))
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json, or wide: with the id of the request, and how many members were picked then")
	return cmd
}

func (a Commands) past(ctx context.Context, o *pastOptions, args []string) error {
	if err := a.Format(o.format, "json", "wide"); err != nil {
		return err
	}
	if o.limit < 1 || o.limit > api.MaxPast {
		return session.Usagef("--limit: found %d, expected 1 to %d", o.limit, api.MaxPast)
	}
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	request := api.PastRequest{Object: r.Object(), Limit: o.limit}
	if o.since != "" {
		since, err := Moment("--since", o.since, a.Now())
		if err != nil {
			return err
		}
		request.Since = metav1.NewMicroTime(since)
	}
	var answer api.Past
	if err := a.Call(ctx, api.VerbHistory, request, &answer); err != nil {
		return err
	}
	if o.format == "json" {
		return session.PrintJSON(a.Out, answer)
	}
	if err := a.printPast(answer.Entries, o.format == "wide", ""); err != nil {
		return err
	}
	if answer.Left > 0 {
		a.Note("%d older entries are left out: --limit %d", answer.Left, min(answer.Left+len(answer.Entries), api.MaxPast))
	}
	if answer.Gone {
		a.Note("there is no %s now", r)
	}
	if !answer.Whole && request.Since.Time.Before(answer.KeptFrom.Time) {
		a.Note("events are kept from %s on; what was before is not known", stamp(answer.KeptFrom))
	}
	return nil
}

// printPast prints what became of a placement.
func (a Commands) printPast(entries []api.PastEntry, wide bool, indent string) error {
	w := a.Columns(2)
	session.Say(w, "%sAT\tWHAT\tGEN\tSNAPSHOT\tBY\tMESSAGE", indent)
	if wide {
		session.Say(w, "\tPICKED\tREQUEST")
	}
	session.Say(w, "\n")
	for i := range entries {
		e := &entries[i]
		session.Say(w, "%s%s\t%s\t%s\t%s\t%s\t%s", indent, stamp(e.At), e.What, number(e.Generation), number(e.Snapshot), session.OrDash(e.By), session.OrDash(session.Cell(e.Message)))
		if wide {
			picked := "-"
			if e.Picks != nil {
				picked = fmt.Sprint(e.Picks.Count)
			}
			session.Say(w, "\t%s\t%s", picked, session.OrDash(e.Request))
		}
		session.Say(w, "\n")
	}
	return w.Flush()
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func stamp(t metav1.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// ShowAt prints a placement as it was at a time, as JSON where machine says so.
func (a Commands) ShowAt(ctx context.Context, r resource.Ref, text string, machine bool) error {
	at, err := Moment("--at", text, a.Now())
	if err != nil {
		return err
	}
	var answer api.Past
	if err := a.Call(ctx, api.VerbHistory, api.PastRequest{Object: r.Object(), Limit: 1, At: metav1.NewMicroTime(at)}, &answer); err != nil {
		return err
	}
	then := answer.Then
	if machine {
		return session.PrintJSON(a.Out, then)
	}
	if !then.Existed {
		return &session.Failure{Code: session.ExitDifferent, Message: a.absent(r, then), Next: "flotilla history " + r.String()}
	}
	return a.printThen(r, then)
}

// absent says that there was no such placement, or that nobody knows.
func (a Commands) absent(r resource.Ref, then *api.PastState) string {
	if len(then.Unknown) > 0 {
		return fmt.Sprintf("whether there was a %s at %s is not known: %s", r, stamp(then.At), then.Unknown[0].Why)
	}
	return fmt.Sprintf("there was no %s at %s", r, stamp(then.At))
}

func (a Commands) printThen(r resource.Ref, then *api.PastState) error {
	unknown := map[string]string{}
	for _, u := range then.Unknown {
		unknown[u.Field] = "not known: " + u.Why
	}
	known := func(field, value string) string {
		if why := unknown[field]; why != "" && value == "-" {
			return why
		}
		return value
	}
	a.Printf("%s at %s\n", r, stamp(then.At))
	w := a.Columns(2)
	session.Say(w, "Generation:\t%s\n", known("generation", number(then.Generation)))
	session.Say(w, "Snapshot:\t%s\n", known("snapshot", number(then.Snapshot)))
	picked := fmt.Sprint(then.Picked)
	if why := unknown["picked"]; why != "" {
		picked = why
	}
	session.Say(w, "Picked:\t%s\n", picked)
	session.Say(w, "Paused:\t%s\n", known("paused", session.OrDash(session.Cell(then.Paused))))
	session.Say(w, "Conditions:\t%s\n", known("conditions", "-"))
	if err := w.Flush(); err != nil {
		return err
	}
	if err := a.printPicks(then, unknown["members"]); err != nil {
		return err
	}
	a.printSpec(then, unknown["spec"])
	a.Printf("Told last:\n")
	return a.printPast(then.Told, false, "  ")
}

// printPicks prints the members of a time.
func (a Commands) printPicks(then *api.PastState, unknown string) error {
	a.Printf("Members:\n")
	w := a.Columns(2)
	if len(then.Members) > 0 {
		session.Say(w, "  MEMBER\tSINCE\tUNTIL\tREASON\n")
	}
	for _, m := range then.Members {
		session.Say(w, "  %s\t%s\t%s\t%s\n", m.Member, stamp(m.Since), stamp(m.Until), session.OrDash(session.Cell(m.Reason)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if unknown != "" {
		a.Printf("  %s\n", unknown)
	}
	return nil
}

// printSpec prints the spec of a time as YAML.
func (a Commands) printSpec(then *api.PastState, unknown string) {
	a.Printf("Spec:\n")
	text, err := yaml.JSONToYAML(then.Spec)
	if len(then.Spec) == 0 || err != nil {
		a.Printf("  %s\n", session.OrDash(unknown))
		return
	}
	for line := range strings.Lines(string(text)) {
		a.Printf("  %s", line)
	}
}
