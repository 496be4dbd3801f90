package disruptor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

func (d *Disruptor) answerBudgets(ctx context.Context, ask *api.BudgetsRequest) (any, error) {
	if ask.Pool != "" && !slices.Contains(names(d.records.poolSpecs), ask.Pool) {
		return nil, &api.Failure{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no NodePool %q", ask.Pool), Next: "flotilla get nodepools"}
	}
	members, err := d.asked(ctx, ask.Member, "")
	if err != nil {
		return nil, err
	}
	out := &disruption.BudgetReport{At: d.options.Now().UTC().Truncate(time.Second), Pools: []disruption.PoolBudget{}}
	if ask.At != nil {
		out.At = ask.At.UTC()
	}
	for _, member := range members {
		err := d.look(ctx, member, func(s *simulate.State) error {
			then := *s
			then.Now = out.At
			out.Pools = append(out.Pools, disruption.ReportBudgets(&then, member)...)
			if s.Stale != "" {
				out.Notes = append(out.Notes, fmt.Sprintf("member %s: nothing is decided: %s", member, s.Stale))
			}
			return nil
		})
		notes, goesOn := skipped(member, err)
		if err != nil && (!goesOn || ask.Member != "") {
			return nil, err
		}
		out.Notes = append(out.Notes, notes...)
	}
	if ask.Pool != "" {
		out.Pools = slices.DeleteFunc(out.Pools, func(p disruption.PoolBudget) bool { return p.Name != ask.Pool })
	}
	slices.SortStableFunc(out.Pools, func(a, b disruption.PoolBudget) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Member, b.Member))
	})
	d.noteNowhere(out, ask)
	return out, d.reportShared(out)
}

// noteNowhere says of which pools there is no member, and why that may be.
func (d *Disruptor) noteNowhere(out *disruption.BudgetReport, ask *api.BudgetsRequest) {
	for _, name := range names(d.records.poolSpecs) {
		shown := slices.ContainsFunc(out.Pools, func(p disruption.PoolBudget) bool { return p.Name == name })
		if shown || ask.Pool != "" && ask.Pool != name {
			continue
		}
		where := "any member"
		if ask.Member != "" {
			where = "member " + ask.Member
		}
		out.Notes = append(out.Notes, fmt.Sprintf("NodePool %s is not on %s: its annotation %s selects members by label", name, where, api.AnnotationMembers))
	}
}

// reportShared adds the fleet-wide budgets that the pools of a report share.
func (d *Disruptor) reportShared(out *disruption.BudgetReport) error {
	budgets, err := d.fleetBudgets()
	if err != nil {
		return err
	}
	for i := range budgets {
		b := &budgets[i]
		if !slices.ContainsFunc(out.Pools, func(p disruption.PoolBudget) bool { return p.FleetBudget == b.Name }) {
			continue
		}
		out.FleetBudgets = append(out.FleetBudgets, disruption.FleetBudget{
			Name: b.Name, Limit: b.Nodes, Nodes: b.Total, Disrupting: b.Disrupting, Allowed: b.Left, Pools: b.Pools,
		})
	}
	return nil
}
