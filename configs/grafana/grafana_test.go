package grafana

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/tests/documented"
)

// board is what is read of board.json.
type board struct {
	Panels []panel
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ Expr string }
}

func readBoard(t *testing.T) (b board) {
	t.Helper()
	text, err := os.ReadFile("board.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &b))
	require.Greater(t, len(b.Panels), 20)
	return b
}

// rules are what is read of alerts.yaml.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			Annotations map[string]string
			Labels      map[string]string
		}
	}
}

func readInto(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into))
}

// expressions are all of the board and the alerts, by what they are of.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range readBoard(t).Panels {
		for _, target := range p.Targets {
			found["panel "+p.Title+": "+target.Expr] = target.Expr
		}
	}
	var r rules
	readInto(t, "alerts.yaml", &r)
	for _, rule := range r.Groups[0].Rules {
		found["alert "+rule.Alert] = rule.Expr
	}
	return found
}

var (
	metric   = regexp.MustCompile(`\b(flotilla_[a-z_]+)(\{[^}]*\})?`)
	selector = regexp.MustCompile(`([a-z]+)(!=|=~|=)"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|without) \(([a-z, ]+)\)`)
)

// What the board and the alerts ask for exists: metrics, their labels, and the words that a label may have.
func TestWhatIsAskedForExists(t *testing.T) {
	known := documented.Metrics(t, "../../docs/operations.md")
	maps.Copy(known, documented.Metrics(t, "../../docs/node-disruption.md"))
	asked := map[string]bool{}
	for of, expr := range expressions(t) {
		labels := map[string]bool{"le": true}
		for _, m := range metric.FindAllStringSubmatch(expr, -1) {
			name := strings.TrimSuffix(m[1], "_bucket")
			require.Contains(t, known, name, of)
			asked[name] = true
			own := strings.Split(known[name], ",")
			for _, label := range own {
				labels[label] = true
			}
			for _, s := range selector.FindAllStringSubmatch(m[2], -1) {
				require.Contains(t, own, s[1], of)
				for value := range strings.SplitSeq(s[3], "|") {
					require.Contains(t, values(t, name), value, of)
				}
			}
		}
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(g[1], ", ") {
				require.True(t, labels[label], "%s: no metric of it has the label %s", of, label)
			}
		}
	}
	// These are for people who look for one thing: which command an agent follows, how much there is in a stream.
	for _, name := range []string{
		"flotilla_agent_command_generation", "flotilla_agent_command_term", "flotilla_agent_placements", "flotilla_agent_unlisted_placements",
		"flotilla_stream_messages", "flotilla_unreadable_properties", "flotilla_disruption_simulations_total", "flotilla_disruption_decisions_total",
		"flotilla_disruption_failed_validations_total", "flotilla_disruption_unreadable_reports_total",
	} {
		require.NotContains(t, asked, name)
		asked[name] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(asked)), "what a hub exports and nobody looks at")
}

// values are the words that labels of a metric may have.
func values(t *testing.T, metric string) (all []string) {
	t.Helper()
	switch metric {
	case "flotilla_members":
		return []string{string(api.MemberReady), string(api.MemberNotReady), string(api.MemberUnknown)}
	case "flotilla_update_runs":
		return []string{string(api.StateFailed), string(api.StateCompleted)}
	case "flotilla_stream_bytes":
		return []string{"AUDIT"}
	}
	for _, word := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(documented.Row(t, "../../docs/operations.md", "| `"+metric+"`"), -1) {
		all = append(all, word[1])
	}
	return all
}

// Every alert is tried: it fires, and is quiet a while before. What it says goes on with a command or a place to look at.
func TestEveryAlertIsTried(t *testing.T) {
	var r rules
	readInto(t, "alerts.yaml", &r)
	var tried struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string `json:"alertname"`
				ExpAlerts []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	readInto(t, "alerts_test.yaml", &tried)
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range tried.Tests {
		for _, c := range test.AlertRuleTest {
			(map[bool]map[string]bool{true: fires, false: quiet})[len(c.ExpAlerts) > 0][c.Alertname] = true
		}
	}
	for _, rule := range r.Groups[0].Rules {
		require.True(t, fires[rule.Alert] && quiet[rule.Alert], rule.Alert)
		require.Regexp(t, "^(warning|critical)$", rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.Regexp(t, "`flotilla |Look at", rule.Annotations["description"], rule.Alert)
	}
}

// Panels have their own numbers and titles, and none lies on another.
func TestPanelsDoNotOverlap(t *testing.T) {
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range readBoard(t).Panels {
		require.False(t, ids[p.ID] || titles[p.Title], p.Title)
		ids[p.ID], titles[p.Title] = true, true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, taken[at], p.Title)
				taken[at] = p.Title
			}
		}
	}
}
