package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/nodes"
	"flotilla/hub/flotilla/cli/session"
)

// canned is a hub that answers each verb what a test wants, and keeps what it was asked.
type canned struct {
	t       *testing.T
	answers map[string]func(request json.RawMessage) (any, error)
	asked   map[string][]json.RawMessage
}

// cannedHub knows members, and what plans of their nodes are.
func cannedHub(t *testing.T, plans map[string]explain.MemberForecast) *canned {
	c := &canned{t: t, asked: map[string][]json.RawMessage{}}
	c.answers = map[string]func(json.RawMessage) (any, error){
		api.VerbList: func(json.RawMessage) (any, error) {
			return map[string]any{"items": []any{
				map[string]any{"apiVersion": api.ClusterVersion, "kind": api.KindMemberCluster, "metadata": map[string]any{"name": "berlin"}},
				map[string]any{"apiVersion": api.ClusterVersion, "kind": api.KindMemberCluster, "metadata": map[string]any{"name": "joins"}},
				map[string]any{"apiVersion": api.ClusterVersion, "kind": api.KindMemberCluster, "metadata": map[string]any{"name": "oslo"}},
			}}, nil
		},
		api.VerbPlanNodes: func(body json.RawMessage) (any, error) {
			var request api.PlanNodesRequest
			require.NoError(t, json.Unmarshal(body, &request))
			p, found := plans[request.Member]
			if !found {
				return nil, &api.Failure{Code: api.CodeNotFound, Message: "there is no such member"}
			}
			return p, nil
		},
	}
	return c
}

func twoPlans() map[string]explain.MemberForecast {
	return map[string]explain.MemberForecast{
		"berlin": {Member: "berlin", At: clitest.Now, Nodes: 3, Notes: []string{"member berlin: one is on its way"}, Forecast: explain.Forecast{
			Commands: []disruption.Command{{
				Method: disruption.MethodSingle, Reason: api.ReasonUnderutilized, Nodes: []string{"n1", "n2"}, Savings: api.Hourly{Amount: 0.25},
				Replacements: []disruption.Replacement{{Pool: "a", InstanceTypes: []string{"d2"}, Price: 0.1}},
				Moves:        []api.PodMove{{Pod: "shop/web", From: "n1", To: "new-0"}},
			}},
			Savings: api.Hourly{Amount: 0.25}, Then: "further disruptions are decided when new-0 is ready", FleetBudgets: map[string]int{"all": 1},
		}},
		"oslo": {Member: "oslo", At: clitest.Now, Nodes: 2, Forecast: explain.Forecast{Stale: "the member is NotReady"}},
	}
}

// Without a member all are planned, those that are not admitted left out; totals come last, and what one
// plan leaves of fleet-wide budgets is what the next has.
func TestPlanOfAllMembers(t *testing.T) {
	c := cannedHub(t, twoPlans())
	out, errs, code := c.typed("plan nodes")
	require.Equal(t, session.ExitDifferent, code, errs)
	require.Equal(t, `at 2026-03-01T12:00:00Z

member berlin:
replace n1, n2: Underutilized (single), saves 0.2500 an hour
  new-0: pool a, d2, from 0.1000 an hour
  shop/web: n1 -> new-0
further disruptions are decided when new-0 is ready

MEMBER   NODES   GO   LAUNCH   SAVES/H   THE OTHER NODES STAY BECAUSE
berlin   3       2    1        0.2500    -
oslo     2       0    0        0.0000    nothing is decided: the member is NotReady
in all   5       2    1        0.2500
next: flotilla get disruptions -m berlin -w
`, out)
	require.Equal(t, "note: member berlin: one is on its way\n", errs)
	require.JSONEq(t, `{"member": "oslo", "fleetBudgets": {"all": 1}}`, string(c.asked[api.VerbPlanNodes][2]))

	out, _, code = c.typed("plan nodes -o json")
	require.Equal(t, session.ExitDifferent, code)
	var plan nodes.FleetNodePlan
	require.NoError(t, json.Unmarshal([]byte(out), &plan))
	require.Len(t, plan.Members, 2)
	require.InDelta(t, 0.25, plan.Savings.Amount, 1e-9)

	out, _, code = c.typed("plan nodes -m oslo")
	require.Equal(t, session.ExitDone, code)
	require.Equal(t, "at 2026-03-01T12:00:00Z\nnothing is decided: the member is NotReady\nnext: flotilla describe member/oslo\n", out)
	_, errs, code = c.typed("plan nodes -m osol")
	require.Equal(t, session.ExitDifferent, code)
	require.Contains(t, errs, `there is no member "osol", did you mean oslo?`)
}

func (c *canned) Call(_ context.Context, verb string, request, response any) error {
	body, err := json.Marshal(request)
	require.NoError(c.t, err)
	c.asked[verb] = append(c.asked[verb], body)
	require.Contains(c.t, c.answers, verb)
	answer, err := c.answers[verb](body)
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	require.NoError(c.t, err)
	return json.Unmarshal(text, response)
}

func (c *canned) Close() {}

// typed runs one command line against a canned hub.
func (c *canned) typed(line string) (out, errs string, code int) {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(c.t.Context(), strings.Fields(line), session.Environment{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }, Now: func() time.Time { return clitest.Now },
		Dial: func(context.Context, session.Connection) (session.Hub, error) { return c, nil },
	})
	return stdout.String(), stderr.String(), code
}
