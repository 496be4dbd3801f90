package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

type budgetsOptions struct {
	source
	at     string
	format string
}

// calendarAhead is how far the calendar of budgets looks.
const calendarAhead = 7 * 24 * time.Hour

// budgetsReport is what budgets -o json prints.
type budgetsReport struct {
	At    time.Time    `json:"at"`
	Pools []poolBudget `json:"pools"`
	Notes []string     `json:"notes,omitempty"`
}

// poolBudget is what the budgets of one pool say. Numbers of nodes are disruption.Unbounded for no limit.
type poolBudget struct {
	Name string `json:"name"`
	// Nodes are those that count, Disrupting those of them that are deleting or not ready.
	Nodes      int `json:"nodes"`
	Disrupting int `json:"disrupting"`
	// Limits are by reason; Allowed is what is left of them.
	Limits  map[string]int `json:"limits"`
	Allowed map[string]int `json:"allowed"`
	// Calendar has the limits of the next week.
	Calendar []disruption.Span `json:"calendar"`
}

func (a *app) budgetsCommand() *cobra.Command {
	o := &budgetsOptions{}
	cmd := &cobra.Command{
		Use:   "budgets -f FILE…",
		Short: "Show how many nodes of each pool may be disrupted, now and in the next week",
		Long: `Show how many nodes of each NodePool may be disrupted for each reason: the limit of the budgets that are active, the nodes that are
down already, and what is left; then the calendar of the limits in the next week, in UTC.

It answers from files alone; the hub is not asked in this version. The files hold NodePools, and the Nodes of one member for percentages to be of.`,
		Example: `  flotilla budgets -f pool.yaml -f nodes.yaml
  kubectl get nodes -o yaml | flotilla budgets -f pool.yaml -f - --at 2026-03-02T09:00:00Z`,
		Args: noArgs,
		RunE: a.run(func(context.Context, []string) error { return a.budgets(o) }),
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.at, "at", "", "time to look at, RFC 3339 (default: now)")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: the stable form of docs/json.md")
	return cmd
}

func (a *app) budgets(o *budgetsOptions) error {
	f, at, err := a.openNodeFiles(&o.source, "--at", o.at, o.format)
	if err != nil {
		return err
	}
	s, err := f.state(at)
	if err != nil {
		return err
	}
	if len(f.Nodes) == 0 {
		f.notes = append(f.notes, "the files hold no Node: percentages are of 0 nodes")
	}
	r := reportBudgets(s)
	r.Notes = f.notes
	for _, text := range r.Notes {
		a.note("%s", text)
	}
	if o.format == "json" {
		return printJSON(a.Out, r)
	}
	return a.printBudgets(&r)
}

func reportBudgets(s *disruption.State) budgetsReport {
	r := budgetsReport{At: s.Now}
	remaining := disruption.Remaining(s)
	for _, p := range s.Pools {
		count := disruption.CountPool(s, p.Name())
		b := poolBudget{
			Name: p.Name(), Nodes: count.Total, Disrupting: count.Disrupting, Limits: map[string]int{}, Allowed: map[string]int{},
			Calendar: p.Budgets().Calendar(s.Now, s.Now.Add(calendarAhead), count.Total),
		}
		for _, reason := range api.DisruptionReasons {
			b.Limits[reason] = p.Budgets().Limit(s.Now, count.Total, reason, s.Rules)
			b.Allowed[reason] = remaining[reason][p.Name()]
		}
		r.Pools = append(r.Pools, b)
	}
	return r
}

func (a *app) printBudgets(r *budgetsReport) error {
	a.printf("at %s\n", r.At.Format(time.RFC3339))
	w := tabwriter.NewWriter(a.Out, 0, 8, 3, ' ', 0)
	say(w, "POOL\tREASON\tNODES\tLIMIT\tDOWN\tALLOWED\n")
	for i := range r.Pools {
		p := &r.Pools[i]
		for _, reason := range api.DisruptionReasons {
			say(w, "%s\t%s\t%d\t%s\t%d\t%s\n", p.Name, reason, p.Nodes, nodesText(p.Limits[reason]), p.Disrupting, nodesText(p.Allowed[reason]))
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		a.printf("\nlimits of %s, UTC:\n", p.Name)
		for _, span := range p.Calendar {
			a.printf("  %s\n", strings.TrimSpace(span.String()))
		}
	}
	return nil
}

func nodesText(n int) string {
	if n >= disruption.Unbounded {
		return "no limit"
	}
	return fmt.Sprint(n)
}
