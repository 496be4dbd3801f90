package disruption

import (
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// CalendarAhead is how far the calendar of a BudgetReport looks.
const CalendarAhead = 7 * 24 * time.Hour

// BudgetReport is how many nodes of each pool may be disrupted.
type BudgetReport struct {
	At    time.Time    `json:"at"`
	Pools []PoolBudget `json:"pools"`
	// FleetBudgets are those that pools share over members (N11).
	FleetBudgets []FleetBudget `json:"fleetBudgets,omitempty"`
	Notes        []string      `json:"notes,omitempty"`
}

// PoolBudget is what the budgets of one pool say on one member.
type PoolBudget struct {
	Name   string `json:"name"`
	Member string `json:"member,omitempty"`
	// Nodes are those that count, Disrupting those of them that are deleting or not ready.
	Nodes      int `json:"nodes"`
	Disrupting int `json:"disrupting"`
	// Limits are by reason; Allowed is what is left of them, and of FleetBudget.
	Limits  map[string]capacity.Count `json:"limits"`
	Allowed map[string]capacity.Count `json:"allowed"`
	// Budgets are those of the pool, each on its own, in the order in which they stand.
	Budgets []capacity.BudgetState `json:"budgets"`
	// Invalid says why the budgets cannot be evaluated and allow nothing.
	Invalid string `json:"invalid,omitempty"`
	// FleetBudget is the name of the one that the pool shares.
	FleetBudget string `json:"fleetBudget,omitempty"`
	// Calendar has the limits of the next week.
	Calendar []capacity.Span `json:"calendar"`
}

// FleetBudget is a budget that pools share over members.
type FleetBudget struct {
	Name string `json:"name"`
	// Limit is the number or percentage of nodes that may be down: the smallest that a pool names.
	Limit      string   `json:"limit"`
	Nodes      int      `json:"nodes"`
	Disrupting int      `json:"disrupting"`
	Allowed    int      `json:"allowed"`
	Pools      []string `json:"pools"`
}

// Remaining is how many nodes may be disrupted beyond those that are, by reason and pool.
func Remaining(s *simulate.State) map[string]map[string]capacity.Count {
	d := begin(s)
	for _, reason := range api.DisruptionReasons {
		d.allowances(reason)
	}
	return d.out.Budgets
}

// ReportBudgets says what the budgets of each pool of a member leave, sorted by pool.
func ReportBudgets(s *simulate.State, member string) []PoolBudget {
	remaining := Remaining(s)
	counts := countPools(simulate.NewIndex(s))
	var out []PoolBudget
	for _, p := range s.Pools {
		b := report(p, s, counts.total[p.Name])
		b.Member, b.Disrupting = member, counts.disrupting[p.Name]
		for _, reason := range api.DisruptionReasons {
			b.Allowed[reason] = remaining[reason][p.Name]
		}
		out = append(out, b)
	}
	return sortedBudgets(out)
}

// BudgetsOf is ReportBudgets of pools whose nodes nobody knows, as if each had so many and none were down.
// Fleet-wide budgets do not count.
func BudgetsOf(s *simulate.State, nodes int) []PoolBudget {
	var out []PoolBudget
	for _, p := range s.Pools {
		out = append(out, report(p, s, nodes))
	}
	return sortedBudgets(out)
}

// report is what the budgets of a pool of so many nodes allow while none is down.
func report(p *capacity.Pool, s *simulate.State, nodes int) PoolBudget {
	b := PoolBudget{
		Name: p.Name, Nodes: nodes, FleetBudget: p.FleetBudget,
		Limits: map[string]capacity.Count{}, Allowed: map[string]capacity.Count{}, Calendar: p.Budgets.Calendar(s.Now, s.Now.Add(CalendarAhead), nodes),
		Budgets: p.Budgets.Each(s.Now, nodes, s.Rules),
	}
	if err := p.Budgets.Err(); err != nil {
		b.Invalid = err.Error()
	}
	for _, reason := range api.DisruptionReasons {
		b.Limits[reason] = p.Budgets.Limit(s.Now, nodes, reason, s.Rules)
		b.Allowed[reason] = b.Limits[reason]
	}
	return b
}

func sortedBudgets(out []PoolBudget) []PoolBudget {
	slices.SortStableFunc(out, func(a, b PoolBudget) int { return strings.Compare(a.Name, b.Name) })
	return out
}
