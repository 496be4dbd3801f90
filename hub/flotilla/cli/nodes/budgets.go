package nodes

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type budgetsOptions struct {
	offline.Source
	at     string
	format string
}

func (a Commands) budgetsCommand() *cobra.Command {
	o := &budgetsOptions{}
	cmd := &cobra.Command{
		Use:   "budgets [NODEPOOL] [-m MEMBER] | budgets -f FILE… [NODEPOOL]",
		Short: "Show how many nodes of each pool may be disrupted, now and in the next week",
		Long: `Show how many nodes of each NodePool may be disrupted for each reason on each member: the limit of the budgets that are active,
the nodes that are down already, and what is left; the budgets that pools share over members; then the calendar of the limits in
the next week, in UTC.

It asks the hub. Where files are named it answers from them alone: they hold NodePools, and the Nodes of one member for percentages
to be of; without any, each pool is taken to have 100.`,
		Example: `  flotilla budgets
  flotilla budgets general -m berlin --at 2026-03-02T09:00:00Z
  flotilla budgets -f pool.yaml -f nodes.yaml
  kubectl get nodes -o yaml | flotilla budgets -f pool.yaml -f - --at 2026-03-02T09:00:00Z`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.budgets(ctx, o, args) }),
	}
	o.AddFlags(cmd.Flags())
	a.MemberFlag(cmd.Flags())
	cmd.Flags().StringVar(&o.at, "at", "", "time to look at, RFC 3339 (default: now)")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: the stable form of docs/json.md")
	cmd.ValidArgsFunction = a.CompleteNames(api.KindNodePool)
	return cmd
}

func (a Commands) budgets(ctx context.Context, o *budgetsOptions, args []string) error {
	pool, err := poolName(args)
	if err != nil {
		return err
	}
	at, err := a.momentOf("--at", o.at, o.format)
	if err != nil {
		return err
	}
	var r disruption.BudgetReport
	if o.Empty() {
		r, err = a.budgetsLive(ctx, o, pool, at)
	} else {
		r, err = a.budgetsOffline(o, pool, at)
	}
	if err != nil {
		return err
	}
	a.Notes(r.Notes)
	if o.format == "json" {
		return session.PrintJSON(a.Out, r)
	}
	return a.printBudgets(&r)
}

// poolName reads at most one "NAME" or "nodepool/NAME".
func poolName(args []string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		if namesFile(args[0]) {
			return "", session.Usagef("found %q, expected the name of a NodePool; files are named with -f", args[0])
		}
		return resource.NameOfKind(args[0], api.KindNodePool, "a NodePool")
	}
	return "", session.Usagef("found %d arguments, expected the name of one NodePool; files are named with -f", len(args))
}

// namesFile tells an argument that was meant to stand behind -f.
func namesFile(arg string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg)) || arg == "-"
}

func (a Commands) budgetsLive(ctx context.Context, o *budgetsOptions, pool string, at time.Time) (disruption.BudgetReport, error) {
	request := api.BudgetsRequest{Pool: pool, Member: a.Member}
	if o.at != "" {
		request.At = &metav1.Time{Time: at}
	}
	var r disruption.BudgetReport
	err := a.Call(ctx, api.VerbBudgets, request, &r)
	if session.IsNotFound(err) && pool != "" {
		if names := a.NamesOf(ctx, api.KindNodePool); !slices.Contains(names, pool) {
			return r, &api.Failure{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no NodePool %q%s", pool, session.Meant(session.Nearest(pool, names))), Next: "flotilla get nodepools"}
		}
	}
	return r, a.WithNearMember(ctx, err)
}

// takenNodes is how many nodes a pool is taken to have where none is known: a percentage is as many.
const takenNodes = 100

func (a Commands) budgetsOffline(o *budgetsOptions, pool string, at time.Time) (disruption.BudgetReport, error) {
	r := disruption.BudgetReport{At: at}
	if a.Member != "" {
		return r, session.Usagef("-m asks the hub, -f answers from files: one or the other")
	}
	f, err := o.ReadNodeFiles(a.Client)
	if err != nil {
		return r, err
	}
	s, err := f.State(at, capacity.Rules{})
	if err != nil {
		return r, err
	}
	if len(f.Nodes) == 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("the files hold no Node: each pool is taken to have %d", takenNodes))
		r.Pools, r.Notes = disruption.BudgetsOf(s, takenNodes), f.Notes
	} else {
		r.Pools, r.Notes = disruption.ReportBudgets(s, ""), f.Notes
	}
	if pool == "" {
		return r, nil
	}
	names := poolNames(r.Pools)
	r.Pools = slices.DeleteFunc(r.Pools, func(p disruption.PoolBudget) bool { return p.Name != pool })
	if len(r.Pools) == 0 {
		return r, session.Refusedf("the files hold no NodePool %q%s", pool, session.Meant(session.Nearest(pool, names)))
	}
	return r, nil
}

func poolNames(pools []disruption.PoolBudget) []string {
	var names []string
	for i := range pools {
		if !slices.Contains(names, pools[i].Name) {
			names = append(names, pools[i].Name)
		}
	}
	return names
}

func (a Commands) printBudgets(r *disruption.BudgetReport) error {
	a.Printf("at %s\n", r.At.Format(time.RFC3339))
	if len(r.Pools) == 0 {
		a.Printf("no NodePool is on any member\n")
		a.Next("flotilla get nodepools")
		return nil
	}
	live := slices.ContainsFunc(r.Pools, func(p disruption.PoolBudget) bool { return p.Member != "" })
	w := a.Columns(3)
	if live {
		session.Say(w, "POOL\tMEMBER\tREASON\tNODES\tLIMIT\tDOWN\tALLOWED\n")
	} else {
		session.Say(w, "POOL\tREASON\tNODES\tLIMIT\tDOWN\tALLOWED\n")
	}
	idle := 0
	for i := range r.Pools {
		p := &r.Pools[i]
		head := session.Cell(p.Name)
		if live {
			head += "\t" + session.OrDash(p.Member)
		}
		if live && a.Member == "" && p.Nodes == 0 && p.Disrupting == 0 {
			idle++
			continue
		}
		for _, row := range budgetRows(p) {
			_, _ = io.WriteString(w, head+"\t"+row+"\n")
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if idle > 0 {
		a.Printf("left out: %d where a member has no nodes of the pool; -m MEMBER shows them\n", idle)
	}
	if err := a.printFleetBudgets(r.FleetBudgets); err != nil {
		return err
	}
	a.printInvalid(r.Pools)
	a.printCalendars(r.Pools)
	return nil
}

// budgetRows are the cells from REASON on, reasons that are alike in one row.
func budgetRows(p *disruption.PoolBudget) []string {
	var order []string
	reasons := map[string][]string{}
	for _, reason := range api.DisruptionReasons {
		row := fmt.Sprintf("%d\t%s\t%d\t%s", p.Nodes, p.Limits[reason], p.Disrupting, p.Allowed[reason])
		if reasons[row] == nil {
			order = append(order, row)
		}
		reasons[row] = append(reasons[row], reason)
	}
	for i, row := range order {
		text := strings.Join(reasons[row], ",")
		if len(order) == 1 {
			text = "any"
		}
		order[i] = text + "\t" + row
	}
	return order
}

func (a Commands) printFleetBudgets(budgets []disruption.FleetBudget) error {
	if len(budgets) == 0 {
		return nil
	}
	a.Printf("\n")
	w := a.Columns(3)
	session.Say(w, "FLEET BUDGET\tLIMIT\tNODES\tDOWN\tALLOWED\tPOOLS\n")
	for i := range budgets {
		b := &budgets[i]
		session.Say(w, "%s\t%s\t%d\t%d\t%d\t%s\n", b.Name, b.Limit, b.Nodes, b.Disrupting, b.Allowed, strings.Join(b.Pools, ","))
	}
	return w.Flush()
}

// printInvalid says once of each pool why its budgets allow nothing.
func (a Commands) printInvalid(pools []disruption.PoolBudget) {
	for i := range pools {
		if p := &pools[i]; p.Invalid != "" && (i == 0 || pools[i-1].Name != p.Name) {
			a.Printf("\nthe budgets of %s cannot be evaluated, so that nothing is allowed: %s\n", p.Name, p.Invalid)
		}
	}
}

// printCalendars prints each calendar once, with the members that have it.
func (a Commands) printCalendars(pools []disruption.PoolBudget) {
	type calendar struct {
		pool, text string
		members    []string
	}
	var all []calendar
	for i := range pools {
		p := &pools[i]
		var text strings.Builder
		for _, span := range p.Calendar {
			fmt.Fprintf(&text, "  %s\n", strings.TrimSpace(span.String()))
		}
		j := slices.IndexFunc(all, func(c calendar) bool { return c.pool == p.Name && c.text == text.String() })
		if j < 0 {
			all, j = append(all, calendar{pool: p.Name, text: text.String()}), len(all)
		}
		if p.Member != "" {
			all[j].members = append(all[j].members, p.Member)
		}
	}
	shown, more := map[string]int{}, map[string]int{}
	for _, c := range all {
		if shown[c.pool]++; shown[c.pool] > shownCalendars {
			more[c.pool] += len(c.members)
			continue
		}
		where := ""
		if len(c.members) > 0 {
			where = " on " + strings.Join(c.members, ", ")
		}
		a.Printf("\nlimits of %s%s, UTC:\n%s", c.pool, where, c.text)
	}
	for _, pool := range slices.Sorted(maps.Keys(more)) {
		a.Printf("\nlimits of %s on %d more members, with other numbers of nodes: flotilla budgets %s -m MEMBER\n", pool, more[pool], pool)
	}
}

// shownCalendars is how many calendars of one pool are printed: members whose numbers of nodes differ have
// different ones where budgets are percentages.
const shownCalendars = 3
