package conformance

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/validate"
)

const budgetsRecording = "budgets.jsonl.gz"

type budgetCase struct {
	ID         string          `json:"id"`
	Note       string          `json:"note"`
	Disruption json.RawMessage `json:"disruption"`
	Reason     string          `json:"reason"`
	Now        time.Time       `json:"now"`
	Total      int             `json:"nodesTotal"`
	Deleting   int             `json:"deleting"`
	NotReady   int             `json:"notReady"`
	Want       budgetWant      `json:"want"`
}

type budgetWant struct {
	Limit     *int    `json:"limit"`
	Allowed   *int    `json:"allowed"`
	Active    []*bool `json:"active"`
	PerBudget []*int  `json:"perBudget"`
	Invalid   bool    `json:"invalid"`
	CRDValid  bool    `json:"crdValid"`
}

func TestBudgets(t *testing.T) {
	cases := casesOf[budgetCase](t, budgetsRecording)
	outcomes := make([]outcome, len(cases))
	for i := range cases {
		outcomes[i] = judgeBudgets(t, &cases[i])
	}
	report(t, "budgets", outcomes, grants{"N4": {cases: []string{"b0102"}}})
}

// judgeBudgets says first whether N4 may explain a difference: a schedule of the case has no date at
// all. Such a case must give the recorded answer with the decision off, and with it on the budget
// must never count.
func judgeBudgets(t *testing.T, c *budgetCase) outcome {
	t.Helper()
	never := c.neverMatching(t)
	o := outcome{id: c.ID, differences: c.compare(t, capacity.Rules{})}
	if len(never) == 0 || len(o.differences) == 0 {
		return o
	}
	if peer := c.compare(t, capacity.Rules{Off: capacity.Departures{NeverMatching: true}}); len(peer) > 0 {
		o.differences = append(o.differences, peer...)
		return o
	}
	states := capacity.ParseBudgets(c.spec(t).Budgets(), time.LoadLocation).Each(c.Now, c.Total, capacity.Rules{})
	for _, i := range never {
		if states[i].Active || states[i].Limit != capacity.Unbounded {
			o.differences = append(o.differences, fmt.Sprintf("N4 does not hold: budget %d counts", i))
			return o
		}
	}
	o.decision = "N4"
	return o
}

// neverMatching finds the budgets that have no date.
func (c *budgetCase) neverMatching(t *testing.T) []int {
	t.Helper()
	var out []int
	for i, b := range c.spec(t).Budgets() {
		if datelessBudget(b) {
			out = append(out, i)
		}
	}
	return out
}

// dateless reports schedules of a day that no year has in their month.
func dateless(schedule string) bool {
	var minute, hour, day, month int
	n, _ := fmt.Sscanf(schedule, "%d %d %d %d *", &minute, &hour, &day, &month)
	longest, short := map[int]int{2: 29, 4: 30, 6: 30, 9: 30, 11: 30}[month]
	return n == 4 && short && day > longest
}

func (c *budgetCase) spec(t *testing.T) *api.NodePoolSpec {
	t.Helper()
	spec, err := c.pool()
	require.NoError(t, err, "case %s", c.ID)
	return spec
}

// pool reads the budgets of a case.
func (c *budgetCase) pool() (*api.NodePoolSpec, error) {
	var d api.PoolDisruption
	err := strictly(c.Disruption, &d)
	return &api.NodePoolSpec{Disruption: &d}, err
}

func (c *budgetCase) compare(t *testing.T, rules capacity.Rules) []string {
	t.Helper()
	var differences []string
	differ := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			differences = append(differences, fmt.Sprintf("%s: here %v, recorded %v", what, got, want))
		}
	}
	budgets := capacity.ParseBudgets(c.spec(t).Budgets(), time.LoadLocation)
	limit := budgets.Limit(c.Now, c.Total, c.Reason, rules)
	differ("limit", bounded(limit), pointed(c.Want.Limit))
	allowed := capacity.Allowed(limit, c.Deleting+c.NotReady)
	if limit == capacity.Unbounded {
		allowed = limit
	}
	differ("allowed", bounded(allowed), pointed(c.Want.Allowed))
	differ("invalid", budgets.Err() != nil, c.Want.Invalid)
	states := budgets.Each(c.Now, c.Total, rules)
	differ("budgets", len(states), len(c.Want.Active))
	for i := range min(len(states), len(c.Want.Active)) {
		active := "invalid"
		if !states[i].Invalid || states[i].Active {
			active = fmt.Sprint(states[i].Active)
		}
		wanted := "invalid"
		if w := c.Want.Active[i]; w != nil {
			wanted = fmt.Sprint(*w)
		}
		differ(fmt.Sprintf("active[%d]", i), active, wanted)
		differ(fmt.Sprintf("perBudget[%d]", i), bounded(states[i].Limit), pointed(c.Want.PerBudget[i]))
	}
	// The door refuses what the CRD refuses, and by N18 what would be evaluated as invalid.
	differ("accepted by the door", c.doorAccepts(t), c.Want.CRDValid && !c.Want.Invalid)
	return differences
}

// doorAccepts asks the strict decoding whether it takes the budgets as they were given.
func (c *budgetCase) doorAccepts(t *testing.T) bool {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"disruption": c.Disruption},
	})
	require.NoError(t, err)
	_, faults := validate.Decode(raw)
	return len(faults) == 0
}

func bounded(n capacity.Count) string {
	if n >= capacity.Unbounded {
		return "unbounded"
	}
	return fmt.Sprint(n)
}

func pointed(n *int) string {
	if n == nil {
		return "unbounded"
	}
	return bounded(capacity.Count(*n))
}
