package door_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/verdict"
	"flotilla/hub/door"
	"flotilla/hub/reporter"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// world is a fleet in which anything happens, by chance.
type world struct {
	*house
	*rand.Rand
	agents map[string]*member.Conn
}

func (w *world) pick(of ...string) string { return of[w.IntN(len(of))] }
func (w *world) name() string             { return w.pick("berlin", "oslo", "paris", "rome", "kiel", "nice") }
func (w *world) key() string              { return w.pick("web", "shop/api", "edge") }

func (w *world) agent(name string) *member.Conn {
	if w.agents[name] == nil {
		w.agents[name] = w.server.Agent(w.t, name)
	}
	return w.agents[name]
}

// step lets one thing happen.
func (w *world) step() {
	steps := []func(){w.admit, w.leave, w.beats, w.beats, w.heartbeat, w.inventory, w.identity, w.place, w.unplace, w.content, w.schedule, w.schedule, w.roll, w.roll, w.answer, w.answer, w.answer, w.freeze, w.startRun, w.judge}
	steps[w.IntN(len(steps))]()
}

func (w *world) admit() {
	taint := w.pick("", ", spec: {taints: [{key: flotilla.io/cordoned, effect: NoSchedule}]}", ", spec: {taints: [{key: a, value: b, effect: NoSchedule}]}")
	w.apply(fmt.Sprintf("{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: %s, labels: {env: %s, region: %s}}%s}",
		w.name(), w.pick("prod", "dev"), w.pick("eu", "us"), taint))
}

func (w *world) leave() {
	_, _ = ask[api.ApplyResult](w.house, api.VerbDelete, api.DeleteRequest{Request: w.id(), Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: w.name()}})
}

func (w *world) beats() {
	name := w.name()
	record := beat(elsewhen.Now().Add(-time.Duration(w.IntN(600))*time.Second), name, nil)
	if spec, _, found := store.TableOf[api.Spec](w.store.State, subjects.MemberSpecs).Get(name); found {
		record.UID, record.Labels = spec.UID, maps.Clone(spec.Labels)
	}
	record.State = []api.MemberState{api.MemberReady, api.MemberReady, api.MemberNotReady, api.MemberUnknown, api.MemberJoining}[w.IntN(5)]
	record.Message, record.KubernetesVersion, record.Nodes, record.AgentVersion = w.pick("", "it is tired"), w.pick("v1.31.2", "v1.30.1"), w.IntN(9), "1.0.0"
	if w.IntN(2) == 0 {
		delete(record.Properties, api.PropertyNodeCount)
		record.Properties[api.PropertyResourcePrefix+"available-memory"] = "9Gi"
	}
	write(w.house, subjects.Members, name, record)
}

func (w *world) heartbeat() {
	name := w.name()
	require.NoError(w.t, w.agent(name).PutHeartbeat(bustest.Context(w.t), api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: name}))
}

func (w *world) inventory() {
	require.NoError(w.t, w.agent(w.name()).PutInventory(bustest.Context(w.t), api.MemberInventory{Region: w.pick("weu", "neu"), ControlPlaneVersion: "1.30.1"}))
}

func (w *world) identity() {
	name, now := w.name(), elsewhen.Now()
	identity := api.Identity{Header: api.NewHeader(api.KindIdentity), Name: name, SealingKey: w.server.SealingKey(w.t, name)}
	if w.IntN(2) == 0 {
		identity.Key, identity.Issued, identity.Ends = "UKEY", metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now.Add(time.Duration(w.IntN(4)-1)*20*time.Minute))
	}
	write(w.house, subjects.Identities, name, identity)
}

func (w *world) place() {
	namespace, name, below := strings.Cut(w.key(), "/")
	kind, where, selector := "ClusterResourcePlacement", "name: "+namespace, `{group: "", version: v1, kind: Namespace, name: shop}`
	if below {
		kind, where, selector = "ResourcePlacement", "name: "+name+", namespace: "+namespace, `{group: "", version: v1, kind: ConfigMap, name: settings}`
	}
	policy := w.pick("{placementType: PickAll}", "{placementType: PickN, numberOfClusters: 2}", "{placementType: PickN, numberOfClusters: 5}")
	_, _ = ask[api.ApplyResponse](w.house, api.VerbApply, api.ApplyRequest{Request: w.id(), Documents: docs(w.t, shopNamespace, fmt.Sprintf(
		"{apiVersion: placement.kubernetes-fleet.io/v1, kind: %s, metadata: {%s}, spec: {resourceSelectors: [%s], policy: %s}}", kind, where, selector, policy))})
}

func (w *world) unplace() {
	if w.IntN(3) == 0 {
		_, _ = ask[api.ApplyResult](w.house, api.VerbDelete, api.DeleteRequest{Request: w.id(), Yes: true, Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "edge"}})
	}
}

func (w *world) content() {
	w.apply(shopNamespace, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: "%d"}}`, w.IntN(9)))
}

// placed is a placement that is there.
func (w *world) placed() (key string, spec api.Spec, found bool) {
	key = w.key()
	spec, _, found = store.TableOf[api.Spec](w.store.State, subjects.PlacementSpecs).Get(key)
	return key, spec, found
}

func (w *world) schedule() {
	key, spec, found := w.placed()
	if !found {
		return
	}
	want := int32(w.IntN(4))
	schedule := api.Schedule{Header: api.NewHeader(api.KindSchedule), Placement: key, UID: spec.UID, Generation: spec.Generation, Fulfilled: w.IntN(3) > 0, Message: "found them", Want: &want}
	for _, name := range []string{"berlin", "kiel", "nice", "oslo", "paris", "rome"} {
		if w.IntN(2) == 0 {
			schedule.Bindings = append(schedule.Bindings, api.Binding{Member: name, Reason: "fits", Waiting: w.IntN(5) == 0})
		}
	}
	schedule.Unpicked = []api.Unpicked{{Reason: "nothing fits"}}
	write(w.house, subjects.Schedules, key, schedule)
}

func (w *world) roll() {
	key, spec, found := w.placed()
	indexes := w.indexes(key)
	if !found || len(indexes) == 0 {
		return
	}
	schedule, _, _ := store.TableOf[api.Schedule](w.store.State, subjects.Schedules).Get(key)
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: key}
	for i := range schedule.Bindings {
		entry := api.ReleaseEntry{
			Member: schedule.Bindings[i].Member, UID: spec.UID, Generation: 1, Since: metav1.NewTime(elsewhen.Now().Add(-time.Minute).Truncate(time.Second)),
			Snapshot: indexes[w.IntN(len(indexes))], Withdrawn: w.IntN(6) == 0,
		}
		if w.IntN(5) > 0 {
			release.Entries = append(release.Entries, entry)
		}
	}
	write(w.house, subjects.Releases, key, release)
}

// answer plays an agent: it tells how it does with a placement.
func (w *world) answer() {
	key, spec, found := w.placed()
	if !found {
		return
	}
	name := w.name()
	result := api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: name, Placement: key, UID: spec.UID, Generation: 1, Total: 1,
		Applied: w.pick("True", "True", "False"), Available: w.pick("True", "False"), Changed: metav1.NewTime(elsewhen.Now().Add(-time.Minute).Truncate(time.Second)),
	}
	if indexes := w.indexes(key); len(indexes) > 0 {
		result.Snapshot = indexes[len(indexes)-1]
	}
	if result.Applied == "False" {
		result.Available, result.Failed = "False", 1
		result.Failures = []api.ManifestFailure{{Condition: api.ConditionApplied, Reason: w.pick("FoundDrifts", "ApplyFailed"), Message: "no"}}
	}
	require.NoError(w.t, w.agent(name).PutResult(bustest.Context(w.t), subjects.CommandPlacement, key, result))
}

func (w *world) freeze() {
	verb := w.pick(api.VerbFreeze, api.VerbUnfreeze)
	_, _ = ask[api.FreezeResponse](w.house, verb, api.FreezeRequest{Request: w.id(), Scope: api.FreezePlacements, Reason: "snow"})
}

func (w *world) judge() {
	key, spec, found := w.placed()
	if !found {
		return
	}
	v := verdict.Verdicts{
		Header: api.NewHeader(api.KindVerdicts), Placement: key, UID: spec.UID, Generation: spec.Generation, Type: api.PickAll,
		Members: []string{"berlin", "kiel", "oslo"}, Outcomes: []verdict.Outcome{verdict.OutcomePicked, verdict.OutcomeNotFound, verdict.OutcomeNotFound}, First: []int32{0, 0, 0},
	}
	write(w.house, subjects.Verdicts, key, v)
}

func (w *world) startRun() {
	name := w.pick("r1", "r2")
	w.apply(rings, strings.Replace(run, "r1", name, 1))
	if w.IntN(2) == 0 {
		w.taken(name, w.IntN(2) == 0)
	}
}

// listed are all objects of a kind as get -o json prints them.
func listed[T any](h *house, kind string) (all []T) {
	h.t.Helper()
	for _, item := range must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: kind}).Items {
		var one T
		require.NoError(h.t, json.Unmarshal(item, &one))
		all = append(all, one)
	}
	return all
}

// agree says what fleet and cells say otherwise than get and status do.
func (w *world) agree() error {
	placements := append(listed[api.Placement](w.house, api.KindClusterResourcePlacement), listed[api.Placement](w.house, api.KindResourcePlacement)...)
	members := listed[api.MemberCluster](w.house, api.KindMemberCluster)
	runs := listed[api.UpdateRun](w.house, api.KindUpdateRun)
	status := must[api.FleetStatus](w.house, api.VerbStatus, struct{}{})
	fleet := must[overview.Fleet](w.house, api.VerbFleet, struct{}{})
	slices.SortFunc(placements, func(a, b api.Placement) int { return cmp.Compare(a.Key(), b.Key()) })
	return cmp.Or(
		same("members", wantedMembers(members, placements), shownMembers(fleet.Members)),
		same("placements", wantedPlacements(placements), shownPlacements(fleet.Placements)),
		same("runs", wantedRuns(runs), shownRuns(fleet.Runs)),
		same("status", []api.FleetStatus{status}, []api.FleetStatus{fleet.Status}),
		w.cellsAgree(placements),
	)
}

func same[T any](what string, want, got []T) error {
	asJSON := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	if len(want) != len(got) {
		return fmt.Errorf("%s: wanted %s, got %s", what, asJSON(want), asJSON(got))
	}
	for i := range want {
		if a, b := asJSON(want[i]), asJSON(got[i]); a != b {
			return fmt.Errorf("%s:\nwanted %s\ngot    %s", what, a, b)
		}
	}
	return nil
}

// told are the rows that are compared, in one shape whoever tells of them.
type toldMember struct {
	Name, State, Message, Version, Agent, CPU, Memory, Credentials string
	Labels                                                         map[string]string
	Taints                                                         []string
	Nodes, Placed, Troubled                                        int
	Created, Since, Seen                                           metav1.Time
	Leaving, Cordoned, Admitted                                    bool
}

func wantedMembers(members []api.MemberCluster, placements []api.Placement) (rows []toldMember) {
	troubled := map[string]int{}
	for i := range placements {
		for _, entry := range placements[i].Status.PlacementStatuses {
			if slices.Contains([]string{api.EntryFailed, api.EntryDrifted, api.EntryNotAvailable}, entry.State) {
				troubled[entry.ClusterName]++
			}
		}
	}
	for i := range members {
		m := &members[i]
		row := toldMember{
			Name: m.Name, State: string(api.MemberJoining), Labels: m.Labels, Created: m.CreationTimestamp, Leaving: m.DeletionTimestamp != nil,
			Admitted: m.UID != "", Troubled: troubled[m.Name],
		}
		for _, taint := range m.Spec.Taints {
			row.Taints, row.Cordoned = append(row.Taints, taint.String()), row.Cordoned || taint.Key == api.TaintCordoned
		}
		if s := m.Status; s != nil {
			row.State, row.Message, row.Version, row.Agent, row.Placed, row.Nodes = string(s.State), s.Message, s.KubernetesVersion, s.AgentVersion, s.Placed, s.Nodes
			if s.Labels != nil {
				row.Labels = s.Labels
			}
			if n, err := strconv.Atoi(s.Properties[api.PropertyNodeCount].Value); err == nil {
				row.Nodes = n
			}
			if s.ResourceUsage != nil {
				row.CPU, row.Memory = s.ResourceUsage.Available["cpu"], s.ResourceUsage.Available["memory"]
			}
			if s.Credentials != nil {
				row.Credentials = s.Credentials.State
			}
			if len(s.AgentStatus) > 0 {
				row.Seen = s.AgentStatus[0].LastReceivedHeartbeat
			}
			for _, c := range s.Conditions {
				if c.Type == "Ready" {
					row.Since = c.LastTransitionTime
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func shownMembers(members []overview.Member) (rows []toldMember) {
	for i := range members {
		m := &members[i]
		rows = append(rows, toldMember{
			m.Name, string(m.State), m.Message, m.Version, m.Agent, m.CPU, m.Memory, m.Credentials, m.Labels, m.Taints,
			m.Nodes, m.Placements, m.Troubled, m.Created, m.Since, m.LastSeen, m.Leaving, m.Cordoned, m.Admitted,
		})
	}
	return rows
}

type toldPlacement struct {
	Key, Kind, Type, State, Waits string
	Generation, Observed          int64
	Snapshot                      string
	Counts                        api.PlacementCounts
	Paused                        *api.Pause
	HeldUpTotal                   int
	HeldUpBy                      []api.HeldUp
	Deleting                      bool
}

func wantedPlacements(placements []api.Placement) (rows []toldPlacement) {
	for i := range placements {
		p := &placements[i]
		s := p.Status
		row := toldPlacement{
			Key: p.Key(), Kind: p.Kind, Type: string(p.Spec.Policy.Type()), Generation: p.Generation, Observed: s.ObservedGeneration, State: overview.StateOf(p.Kind, s.Conditions),
			Snapshot: cmp.Or(s.ObservedSnapshot, "0"), Counts: s.Counts, Paused: s.Paused, Deleting: p.DeletionTimestamp != nil,
		}
		if s.Rollout != nil {
			row.Waits, row.HeldUpTotal, row.HeldUpBy = s.Rollout.Message, s.Rollout.HeldUpTotal, s.Rollout.HeldUpBy[:min(3, len(s.Rollout.HeldUpBy))]
		}
		rows = append(rows, row)
	}
	return rows
}

func shownPlacements(placements []overview.Placement) (rows []toldPlacement) {
	for i := range placements {
		p := &placements[i]
		rows = append(rows, toldPlacement{
			Key: p.Key, Kind: p.Kind, Type: p.Type, State: p.State, Waits: p.Waits, Generation: p.Generation, Observed: p.Observed, Snapshot: fmt.Sprint(p.Snapshot), Counts: p.Counts, Paused: p.Paused,
			HeldUpTotal: p.HeldUpTotal, HeldUpBy: p.HeldUpBy, Deleting: p.Deleting,
		})
	}
	return rows
}

type toldRun struct {
	Name, State       string
	Members, Finished int
	Created           metav1.Time
}

func wantedRuns(runs []api.UpdateRun) (rows []toldRun) {
	for i := range runs {
		row := toldRun{Name: runs[i].Name, State: "NotStarted", Created: runs[i].CreationTimestamp}
		if s := runs[i].Status; s != nil {
			row.State, row.Members, row.Finished = string(s.Status.State), s.Members, s.Finished
		}
		rows = append(rows, row)
	}
	return rows
}

func shownRuns(runs []overview.Run) (rows []toldRun) {
	for i := range runs {
		rows = append(rows, toldRun{runs[i].Name, string(runs[i].State), runs[i].Members, runs[i].Finished, runs[i].Created})
	}
	slices.SortFunc(rows, func(a, b toldRun) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

type toldCells struct {
	States   map[string]string
	Troubled []overview.TroubledCell
}

func (w *world) cellsAgree(placements []api.Placement) error {
	var keys []string
	for i := range placements {
		keys = append(keys, placements[i].Key())
	}
	cells := must[overview.Cells](w.house, api.VerbCells, api.CellsRequest{Placements: append(keys, "missing")})
	last := len(keys)
	if !cells.Placements[last].Missing {
		return fmt.Errorf("what is not there: %+v", cells.Placements[last])
	}
	for i := range placements {
		want, got := toldCells{States: map[string]string{}}, toldCells{States: map[string]string{}, Troubled: cells.Placements[i].Troubled}
		for _, withdrawal := range placements[i].Status.Withdrawals {
			want.States[withdrawal.ClusterName] = api.EntryWithdrawing
		}
		for _, e := range placements[i].Status.PlacementStatuses {
			if e.ClusterName != "" {
				want.States[e.ClusterName] = e.State
			}
			if e.State != api.EntryAvailable {
				want.Troubled = append(want.Troubled, overview.TroubledCell{Member: e.ClusterName, State: e.State, Since: e.Since, Message: e.Message})
			}
		}
		for k, name := range cells.Members {
			if state := cells.Placements[i].EntryOf(k); state != "" {
				got.States[name] = state
			}
		}
		if err := same("cells of "+keys[i], []toldCells{want}, []toldCells{got}); err != nil {
			return err
		}
		stored, _, found := store.TableOf[verdict.Verdicts](w.store.State, subjects.Verdicts).Get(keys[i])
		if counted := found && stored.UID == string(placements[i].UID); counted != reflect.DeepEqual(map[string]int{verdict.FilterNotFound: 2}, cells.Placements[i].Verdicts) {
			return fmt.Errorf("verdicts of %s: %v", keys[i], cells.Placements[i].Verdicts)
		}
	}
	return nil
}

// Whatever happens, fleet and cells say what get and status say, with status records as a reporter keeps them and
// without any.
func TestTheOverviewSaysWhatGetSays(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{house: open(t, door.Options{}), Rand: rand.New(rand.NewPCG(seed, 7)), agents: map[string]*member.Conn{}}
			w.member("lagos", "eu", "1.28.9") // for runs: these two stay
			w.member("boston", "us", "1.28.9")
			if seed%2 == 0 {
				w.report()
			}
			for range 10 {
				for range 8 {
					w.step()
				}
				bustest.Eventually(t, w.agree)
			}
		})
	}
}

// A viewer reads both; too many placements at once are refused with the number that may be asked for.
func TestTheOverviewIsForViewers(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, web, berlin)
	h.client = h.server.Person(t, "vera", api.RoleViewer)
	fleet := must[overview.Fleet](h, api.VerbFleet, nil)
	require.Equal(t, []string{"berlin", "web"}, []string{fleet.Members[0].Name, fleet.Placements[0].Key})
	require.NotEmpty(t, fleet.Mark)
	require.Equal(t, "web", must[overview.Cells](h, api.VerbCells, api.CellsRequest{Placements: []string{"web"}}).Placements[0].Key)
	_, failure := ask[overview.Cells](h, api.VerbCells, api.CellsRequest{Placements: make([]string, api.MostCells+1)})
	require.Equal(t, api.CodeInvalid, failure.Code)
	require.Equal(t, "found 51 placements, expected at most 50: ask for the others on their own", failure.Message)
}

// report runs a reporter until the test ends.
func (w *world) report() {
	ctx, cancel := contextOf(w.t)
	ended := make(chan error, 1)
	go func() {
		ended <- reporter.New(w.store, reporter.Options{Settle: time.Millisecond, Log: zerolog.Nop()}).Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
}
