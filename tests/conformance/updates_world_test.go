package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones without a system's files

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/core/version"
)

// runCase is one recorded update run.
type runCase struct {
	ID      string `json:"id"`
	Note    string `json:"note"`
	Group   string `json:"group"` // family of the case
	Compare string `json:"compare"`
	// Ambiguities name what hinges on which reading of the specification, Batch that the results of one
	// instant belong to one tick; the core has one reading and ticks so always.
	Ambiguities map[string]string       `json:"ambiguities"`
	Batch       bool                    `json:"batch"`
	Catalog     api.VersionCatalogSpec  `json:"catalog"`
	Members     []runMember             `json:"members"`
	Run         runInput                `json:"run"`
	Behaviour   map[string]runBehaviour `json:"behaviour"`
	Ops         []runOp                 `json:"ops"`
	Until       time.Time               `json:"until"`
	Want        json.RawMessage         `json:"want"`
}

type runMember struct {
	Name                string                       `json:"name"`
	Group               *string                      `json:"group"`
	Labels              map[string]string            `json:"labels"`
	Region              string                       `json:"region"`
	ControlPlaneVersion string                       `json:"controlPlaneVersion"`
	NodePools           []api.NodePoolFacts          `json:"nodePools"`
	Maintenance         api.MaintenanceConfiguration `json:"maintenance"`
	PowerState          string                       `json:"powerState"`
	Reachable           *bool                        `json:"reachable"`
	Busy                *bool                        `json:"busy"`
}

type runInput struct {
	CreatedAt          time.Time               `json:"createdAt"`
	Type               string                  `json:"type"`
	KubernetesVersion  *string                 `json:"kubernetesVersion"`
	NodeImageSelection *api.NodeImageSelection `json:"nodeImageSelection"`
	Strategy           *api.RunStrategy        `json:"strategy"`
	OnIneligible       string                  `json:"onIneligible"`
}

type runBehaviour struct {
	Minutes int            `json:"minutes"`
	Result  string         `json:"result"`
	Retries []runBehaviour `json:"retries"`
}

type runOp struct {
	At         time.Time               `json:"at"`
	Op         string                  `json:"op"`
	Targets    []api.SkipTarget        `json:"targets"`
	Gate       string                  `json:"gate"`
	Name       string                  `json:"name"`
	Set        runMember               `json:"set"`
	Kubernetes []api.KubernetesRelease `json:"kubernetes"`
	NodeImages []api.NodeImageRelease  `json:"nodeImages"`
}

// object is the UpdateRun of a case.
func (c *runCase) object() *api.UpdateRun {
	run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "recorded", UID: "recorded", CreationTimestamp: metav1.NewTime(c.Run.CreatedAt)}}
	run.Spec.Strategy = c.Run.Strategy
	run.Spec.Upgrade = api.Upgrade{Type: c.Run.Type, NodeImageSelection: c.Run.NodeImageSelection}
	if c.Run.KubernetesVersion != nil {
		run.Spec.Upgrade.KubernetesVersion = *c.Run.KubernetesVersion
	}
	if c.Run.OnIneligible != "" {
		run.Spec.Policy = &api.UpdatePolicy{OnIneligible: c.Run.OnIneligible}
	}
	return run
}

func (c *runCase) view(t *testing.T) upgrade.View {
	t.Helper()
	fleet := upgrade.NewFleet(time.LoadLocation)
	for i := range c.Members {
		require.NoError(t, fleet.Set(c.Members[i].facts()), c.ID)
	}
	catalog, err := version.NewCatalog(&c.Catalog)
	require.NoError(t, err, c.ID)
	return upgrade.View{Fleet: fleet, Catalog: catalog}
}

func (m *runMember) facts() upgrade.MemberFacts {
	f := upgrade.MemberFacts{
		Name: m.Name, UID: "uid-" + m.Name, Eligible: true, Reachable: m.Reachable == nil || *m.Reachable,
		Maintenance: &m.Maintenance,
		Inventory: api.MemberInventory{
			Region: m.Region, ControlPlaneVersion: m.ControlPlaneVersion, NodePools: m.NodePools, PowerState: m.PowerState,
		},
	}
	f.Labels = maps.Clone(m.Labels)
	if m.Region != "" { // as people wrote it
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels["topology.kubernetes.io/region"] = m.Region
	}
	if m.Group != nil {
		f.Group = *m.Group
	}
	if m.Busy != nil && *m.Busy {
		f.Inventory.CurrentOperation = "somebody-else"
	}
	return f
}

func (c *runCase) assume(member string, attempt int) upgrade.Assumed {
	b, ok := c.Behaviour[member]
	if !ok {
		return upgrade.Assumed{Duration: 10 * time.Minute}
	}
	if attempt > 1 && len(b.Retries) > 0 {
		b = b.Retries[min(attempt-2, len(b.Retries)-1)]
	}
	assumed := upgrade.Assumed{Duration: time.Duration(b.Minutes) * time.Minute}
	if b.Result == "Failed" {
		assumed.Reason = api.ReasonUpgradeFailed
	}
	return assumed
}

// change applies an operation on the world.
func (c *runCase) change(t *testing.T, op *runOp, view *upgrade.View) {
	t.Helper()
	if op.Op == "publish" {
		publish(&c.Catalog, op)
		catalog, err := version.NewCatalog(&c.Catalog)
		require.NoError(t, err, c.ID)
		view.Catalog = catalog
		return
	}
	member, ok := view.Fleet.Member(op.Name)
	require.True(t, ok, "%s: member %s", c.ID, op.Name)
	facts := member.MemberFacts
	if op.Set.Reachable != nil {
		facts.Reachable = *op.Set.Reachable
	}
	if op.Set.Busy != nil {
		facts.Inventory.CurrentOperation = map[bool]string{true: "somebody-else"}[*op.Set.Busy]
	}
	if op.Set.PowerState != "" {
		facts.Inventory.PowerState = op.Set.PowerState
	}
	if op.Set.NodePools != nil {
		facts.Inventory.NodePools = op.Set.NodePools
	}
	require.NoError(t, view.Fleet.Set(facts))
}

func publish(catalog *api.VersionCatalogSpec, op *runOp) {
	for _, add := range op.Kubernetes {
		found := false
		for i := range catalog.Kubernetes {
			if catalog.Kubernetes[i].Version == add.Version {
				catalog.Kubernetes[i].Regions, found = append(catalog.Kubernetes[i].Regions, add.Regions...), true
			}
		}
		if !found {
			catalog.Kubernetes = append(catalog.Kubernetes, add)
		}
	}
	for _, add := range op.NodeImages {
		found := false
		for i := range catalog.NodeImages {
			if catalog.NodeImages[i].Family == add.Family && catalog.NodeImages[i].Version == add.Version {
				catalog.NodeImages[i].Regions, found = append(catalog.NodeImages[i].Regions, add.Regions...), true
			}
		}
		if !found {
			catalog.NodeImages = append(catalog.NodeImages, add)
		}
	}
}

// answer runs a case and renders it in the form of the recorded answer.
func (c *runCase) answer(t *testing.T) map[string]any {
	t.Helper()
	run, view := c.object(), c.view(t)
	status, refusal := upgrade.Create(run, nil, view, c.Run.CreatedAt)
	if refusal != nil {
		return map[string]any{"createError": refusal.Code}
	}
	sim := upgrade.NewSimulation(run, status, view, c.Run.CreatedAt, c.assume)
	ops := []any{}
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.At.After(c.Until) {
			break
		}
		result, code := c.operate(t, sim, op)
		ops = append(ops, map[string]any{"index": i, "result": result, "code": code})
	}
	sim.Until(c.Until)
	events := []any{}
	for _, e := range sim.Events {
		events = append(events, map[string]any{
			"at": e.At.Format(time.RFC3339), "scope": e.Scope, "name": e.Name, "state": e.To, "reason": reasonShown(e.To, e.Reason),
		})
	}
	return map[string]any{"ops": ops, "events": events, "final": finalTree(sim), "completedAt": completedAt(&sim.Status)}
}

func (c *runCase) operate(t *testing.T, sim *upgrade.Simulation, op *runOp) (result, code string) {
	t.Helper()
	verbs := map[string]string{"start": api.VerbRunStart, "stop": api.VerbRunStop, "skip": api.VerbRunSkip, "approve": api.VerbRunApprove}
	verb, ok := verbs[op.Op]
	if !ok {
		sim.Change(op.At, func(v *upgrade.View) { c.change(t, op, v) })
		return "ok", ""
	}
	noop, refusal := sim.Operate(op.At, verb, &api.RunRequest{Targets: op.Targets, Gate: op.Gate})
	switch {
	case refusal != nil:
		return "error", refusal.Code
	case noop:
		return "noop", ""
	default:
		return "ok", ""
	}
}

func reasonShown(state api.UpdateState, reason string) string {
	switch state {
	case api.StatePending, api.StateSkipped, api.StateFailed:
		return reason
	default:
		return ""
	}
}

func completedAt(s *api.UpdateRunStatus) any {
	if !s.Status.State.Terminal() {
		return nil
	}
	return s.Status.CompletedTime.UTC().Format(time.RFC3339)
}

func finalTree(sim *upgrade.Simulation) map[string]any {
	s := &sim.Status
	stages := []any{}
	for i := range s.Stages {
		stages = append(stages, stageTree(sim, &s.Stages[i]))
	}
	return map[string]any{
		"state": s.Status.State, "failureCount": s.FailureCount, "resolvedKubernetesVersion": orNull(s.ResolvedKubernetesVersion),
		"selectedNodeImageVersions": selectedTree(s), "stages": stages,
	}
}

func selectedTree(s *api.UpdateRunStatus) any {
	if s.NodeImageSelection == nil {
		return nil
	}
	selected := map[string]any{}
	for _, image := range s.NodeImageSelection.SelectedNodeImageVersions {
		selected[image.Family] = orNull(image.Version)
	}
	return selected
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func stageTree(sim *upgrade.Simulation, s *api.StageStatus) map[string]any {
	groups := []any{}
	for j := range s.Groups {
		groups = append(groups, groupTree(sim, &s.Groups[j]))
	}
	tree := map[string]any{
		"name": s.Name, "state": s.Status.State, "maxConcurrency": s.MaxConcurrency, "maxAllowedFailures": s.MaxAllowedFailures,
		"failureCount": s.FailureCount, "beforeGates": gateTrees(s.BeforeGates), "afterGates": gateTrees(s.AfterGates),
		"wait": nil, "groups": groups,
	}
	if s.Wait != nil {
		tree["wait"] = map[string]any{"state": s.Wait.Status.State, "seconds": s.Wait.WaitDurationInSeconds}
	}
	return tree
}

func groupTree(sim *upgrade.Simulation, g *api.GroupStatus) map[string]any {
	members := []any{}
	for k := range g.Members {
		m := &g.Members[k]
		facts, _ := sim.View.Fleet.Member(m.Name)
		pools := []any{}
		for _, p := range facts.Inventory.NodePools {
			pools = append(pools, map[string]any{"name": p.Name, "kubernetesVersion": p.KubernetesVersion, "nodeImageVersion": p.NodeImageVersion})
		}
		members = append(members, map[string]any{
			"name": m.Name, "state": m.Status.State, "reason": reasonShown(m.Status.State, m.Reason), "skippedBy": m.SkippedBy,
			"attempt": m.Attempt, "controlPlaneVersion": facts.Inventory.ControlPlaneVersion, "nodePools": pools,
		})
	}
	return map[string]any{
		"name": g.Name, "state": g.Status.State, "maxConcurrency": g.MaxConcurrency, "maxAllowedFailures": g.MaxAllowedFailures,
		"failureCount": g.FailureCount, "beforeGates": gateTrees(g.BeforeGates), "afterGates": gateTrees(g.AfterGates), "members": members,
	}
}

func gateTrees(gates []api.GateStatus) []any {
	out := []any{}
	for k := range gates {
		tree := map[string]any{"type": gates[k].Type, "state": gates[k].Status.State, "absoluteStartTime": nil}
		if !gates[k].AbsoluteStartTime.IsZero() {
			tree["absoluteStartTime"] = gates[k].AbsoluteStartTime.UTC().Format(time.RFC3339)
		}
		out = append(out, tree)
	}
	return out
}

// ignore copies into got what the recorded answer leaves open: any refusal for code "*", the
// concurrency of groups without members, and for compare "final" the events.
func (c *runCase) ignore(want, got map[string]any) {
	if c.Compare == "final" {
		delete(want, "events")
		delete(got, "events")
	}
	wantOps, _ := want["ops"].([]any)
	gotOps, _ := got["ops"].([]any)
	for i := range min(len(wantOps), len(gotOps)) {
		w, g := wantOps[i].(map[string]any), gotOps[i].(map[string]any)
		if w["code"] == "*" && g["result"] == "error" {
			g["code"] = "*"
		}
	}
	eachGroup(want, got, func(w, g map[string]any) {
		if w["maxConcurrency"] == nil {
			g["maxConcurrency"] = nil
		}
	})
}

func eachGroup(want, got map[string]any, f func(w, g map[string]any)) {
	for _, pair := range pairs(want["final"], got["final"], "stages") {
		for _, groups := range pairs(pair[0], pair[1], "groups") {
			f(groups[0].(map[string]any), groups[1].(map[string]any))
		}
	}
}

func pairs(a, b any, key string) [][2]any {
	first, _ := a.(map[string]any)
	second, _ := b.(map[string]any)
	x, _ := first[key].([]any)
	y, _ := second[key].([]any)
	var out [][2]any
	for i := range min(len(x), len(y)) {
		out = append(out, [2]any{x[i], y[i]})
	}
	return out
}

// eventLines renders the events of an answer one a line, so that differences read well. Those of one instant
// come in the order of their text: recordings tell a run before its members, Flotilla causes before effects.
func eventLines(answer map[string]any) string {
	events, _ := answer["events"].([]any)
	lines := make([]string, len(events))
	for i, event := range events {
		e := event.(map[string]any)
		lines[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", e["at"], e["scope"], e["name"], e["state"], e["reason"]))
	}
	slices.Sort(lines) // by time first
	return strings.Join(append(lines, strconv.Itoa(len(events))+" events"), "\n")
}
