package cli

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/core/plan"
	"flotilla/core/upgrade"
	"flotilla/core/verdict"
	"flotilla/core/whatif"
	"flotilla/core/why"
	"flotilla/hub/flotilla/cli/hub"
	"flotilla/hub/flotilla/cli/nodes"
	"flotilla/hub/flotilla/cli/run"
	"flotilla/hub/flotilla/cli/session"
)

// promised is what docs/json.md describes whole.
var promised = []any{
	plan.Report{},
	whatif.Report{},
	[]why.Answer{},
	hub.Status{},
	hub.Versions{},
	hub.PageLink{},
	session.Refusal{},
	api.ApplyResponse{},
	api.Audit{},
	run.Calendar{},
	nodes.FleetNodePlan{},
	explain.NodeAnswer{},
	disruption.BudgetReport{},
	api.MemberNodeSpec{},
	api.MemberNodeStatus{},
	api.NodeDisruptionSpec{},
	api.Disruption{},
	api.NodePoolStatus{},
	api.Rollout{},
	api.Withdrawal{},
	api.Trace{},
	api.Past{},
}

// TestJSONIsDocumented finds every field of the promised JSON in docs/json.md, and every value of the
// enumerations that it lists.
func TestJSONIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/json.md")
	require.NoError(t, err)
	for _, v := range promised {
		for _, field := range jsonFields(reflect.TypeOf(v)) {
			documented := strings.Contains(string(text), `"`+field+`"`) || strings.Contains(string(text), "`"+field+"`") ||
				strings.Contains(string(text), "`"+field+"[]`")
			require.True(t, documented, "%T: field %q", v, field)
		}
	}
	for _, word := range []string{
		verdict.FilterAffinity, verdict.FilterEligibility, verdict.FilterNamespace, verdict.FilterTaint, verdict.FilterPlaced, verdict.FilterSpread,
		verdict.FilterRank, verdict.FilterNotFound, plan.ChangeAdd, plan.ChangeKeep,
		why.FlipLabel, why.FlipTaint, why.FlipProperty, why.FlipHealth, why.FlipNamespace, why.FlipJoin, why.FlipLeave,
		why.FlipScale, why.FlipNames, why.FlipToleration, why.FlipThreshold, why.FlipSkew, why.FlipWeight, why.FlipEvicted,
		upgrade.Refused, upgrade.BasisGiven, upgrade.BasisRun, upgrade.BasisMember, upgrade.BasisFleet, upgrade.BasisDefault, api.ActionCreated, api.ActionConfigured, api.ActionUnchanged,
	} {
		require.Contains(t, string(text), "`"+word+"`")
	}
}

// jsonFields lists the JSON names of a type's fields and of the types inside it, but for those of
// Kubernetes and for pods, which only describe shows.
func jsonFields(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || strings.HasPrefix(t.PkgPath(), "k8s.io/") || t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[api.PodState]() {
		return nil
	}
	var fields []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields = append(fields, name)
		}
		if f.IsExported() {
			fields = append(fields, jsonFields(f.Type)...)
		}
	}
	return fields
}
