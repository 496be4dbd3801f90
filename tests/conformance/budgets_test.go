package conformance

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

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
	outcomes := judgeEach(cases, judgeBudgets)
	report(t, "budgets", outcomes, grants{"N4": {cases: []string{"b0102"}}})
}

// judgeBudgets says first whether N4 may explain a difference: a schedule of the case has no date at
// all. Such a case must give the recorded answer with the decision off, and with it on the budget
// must never count.
func judgeBudgets(c *budgetCase) outcome {
	never := c.neverMatching()
	o := outcome{id: c.ID, differences: c.compare(capacity.Rules{})}
	if len(never) == 0 || len(o.differences) == 0 {
		return o
	}
	if peer := c.compare(capacity.Rules{Off: capacity.Departures{NeverMatching: true}}); len(peer) > 0 {
		o.differences = append(o.differences, peer...)
		return o
	}
	spec, _ := c.pool()
	states := capacity.ParseBudgets(spec.Budgets(), time.LoadLocation).Each(c.Now, c.Total, capacity.Rules{})
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
func (c *budgetCase) neverMatching() []int {
	var out []int
	spec, err := c.pool()
	if err != nil {
		return nil
	}
	for i, b := range spec.Budgets() {
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

// pool reads the budgets of a case.
func (c *budgetCase) pool() (*api.NodePoolSpec, error) {
	var d api.PoolDisruption
	err := strictly(c.Disruption, &d)
	return &api.NodePoolSpec{Disruption: &d}, err
}

// compare lists every difference between the recording and the core. The door refuses what the CRD refuses, and
// by N18 what would be evaluated as invalid; what both refuse agrees, whatever would become of it behind the door.
func (c *budgetCase) compare(rules capacity.Rules) []string {
	accepted := c.doorAccepts()
	if !accepted && !c.Want.CRDValid {
		return nil
	}
	differences := c.compareLimits(rules)
	if accepts := c.Want.CRDValid && !c.Want.Invalid; accepted != accepts {
		differences = append(differences, fmt.Sprintf("accepted by the door: here %t, recorded %t", accepted, accepts))
	}
	return differences
}

// compareLimits compares what budgets allow, wherever they come from.
func (c *budgetCase) compareLimits(rules capacity.Rules) []string {
	spec, err := c.pool()
	if err != nil {
		return []string{fmt.Sprintf("the budgets cannot be read: %v", err)}
	}
	var differences []string
	differ := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			differences = append(differences, fmt.Sprintf("%s: here %v, recorded %v", what, got, want))
		}
	}
	budgets := capacity.ParseBudgets(spec.Budgets(), time.LoadLocation)
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
	return differences
}

// doorAccepts asks the strict decoding whether it takes the budgets as they were given.
func (c *budgetCase) doorAccepts() bool {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"disruption": c.Disruption},
	})
	if err != nil {
		return false
	}
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
