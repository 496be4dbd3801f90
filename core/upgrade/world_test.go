package upgrade_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones without a system's files

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/core/version"
)

// world is a hub without a broker: several runs and profiles over one fleet, locks that are created and
// never overwritten, agents that execute an operation once, and a clock that jumps from event to event.
type world struct {
	t        *testing.T
	now      time.Time
	fleet    *upgrade.Fleet
	catalog  *api.VersionCatalogSpec
	runs     map[string]*worldRun
	profiles map[string]*worldProfile
	plans    map[string]*api.UpdateStrategy
	locks    map[string]stage.Lock // by member
	owners   map[string]string     // member -> run
	results  map[string]api.UpgradeResult
	due      []worldResult
	agents   map[string]behaviour
	executed map[string]int // operation id -> times an agent executed it
	events   []stage.Event
	watch    func(w *world)                               // called after every instant
	guard    func(w *world, run string, d stage.Decision) // called before a decision is carried out
	uids     int
	freezes  map[string]api.Freeze // by scope
}

// frozen are the freezes.
func (w *world) frozen(scope string) *api.Freeze {
	if f, found := w.freezes[scope]; found {
		return &f
	}
	return nil
}

type worldRun struct {
	object *api.UpdateRun
	status api.UpdateRunStatus
	wake   time.Time
}

type worldProfile struct {
	object *api.AutoUpgradeProfile
	status *api.AutoUpgradeProfileStatus
}

type worldResult struct {
	at     time.Time
	member string
	result api.UpgradeResult
}

// behaviour is how the upgrades of a member go.
type behaviour struct {
	duration time.Duration
	fails    int // that many attempts fail; -1: all
	reason   string
	outcome  string // of the failing attempts, default Failed
	silent   bool
	late     time.Duration // when a silent one reports after all
}

func newWorld(t *testing.T, now time.Time) *world {
	t.Helper()
	return &world{
		t: t, now: now, freezes: map[string]api.Freeze{}, fleet: upgrade.NewFleet(time.LoadLocation), runs: map[string]*worldRun{}, profiles: map[string]*worldProfile{},
		plans: map[string]*api.UpdateStrategy{}, locks: map[string]stage.Lock{}, owners: map[string]string{},
		results: map[string]api.UpgradeResult{}, agents: map[string]behaviour{}, executed: map[string]int{},
	}
}

// view is what a run sees: locks are those of others.
func (w *world) view(run string) upgrade.View {
	v := upgrade.View{Fleet: w.fleet, Results: w.results, Locks: map[string]string{}, Freezes: w.frozen}
	for member, owner := range w.owners {
		if owner != run {
			v.Locks[member] = "run " + owner
		}
	}
	if w.catalog != nil {
		catalog, err := version.NewCatalog(w.catalog)
		require.NoError(w.t, err)
		v.Catalog = catalog
	}
	return v
}

// uid returns a new uid: a run deleted and made again is another one.
func (w *world) uid(name string) types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("uid-%s-%d", name, w.uids))
}

func (w *world) create(run *api.UpdateRun) *api.Refusal {
	run.UID = w.uid(run.Name)
	status, refusal := upgrade.Create(run, w.plans[run.Spec.StrategyName], w.view(run.Name), w.now)
	if refusal == nil {
		w.runs[run.Name] = &worldRun{object: run, status: status}
	}
	return refusal
}

// apply does what a decision says, as a hub does: locks first, all or none; then the status; then the
// commands that follow from the status.
func (w *world) apply(name string, d stage.Decision) {
	r := w.runs[name]
	if w.guard != nil {
		w.guard(w, name, d)
	}
	for _, lock := range d.Release {
		if w.locks[lock.Member] == lock {
			delete(w.locks, lock.Member)
			delete(w.owners, lock.Member)
		}
	}
	for _, lock := range d.Take {
		holder, taken := w.locks[lock.Member]
		require.False(w.t, taken, "%s takes the lock of %s, which %s holds", name, lock.Member, holder.Operation)
	}
	for _, lock := range d.Take {
		w.locks[lock.Member], w.owners[lock.Member] = lock, name
	}
	r.status, r.wake = stored(w.t, &d.Status), d.Recheck
	w.events = append(w.events, d.Events...)
	for _, wanted := range upgrade.Operations(r.object, &r.status) {
		w.command(wanted)
	}
}

// stored is a status as it comes back from a record.
func stored(t *testing.T, status *api.UpdateRunStatus) api.UpdateRunStatus {
	t.Helper()
	packed, err := json.Marshal(status)
	require.NoError(t, err)
	var out api.UpdateRunStatus
	require.NoError(t, json.Unmarshal(packed, &out))
	return out
}

// command reaches an agent, which executes an operation at most once.
func (w *world) command(wanted upgrade.Wanted) {
	op := wanted.Operation
	if w.executed[op.ID] > 0 {
		return
	}
	w.executed[op.ID]++
	b := w.behaviour(wanted.Member)
	result := api.UpgradeResult{Member: wanted.Member, Run: op.Run, Operation: op.ID, Outcome: api.OutcomeSucceeded}
	if b.fails < 0 || op.Attempt <= b.fails {
		result.Outcome, result.Reason, result.Message = api.OutcomeFailed, b.reason, "the driver said no"
		if b.outcome != "" {
			result.Outcome = b.outcome
		}
	}
	at := w.now.Add(b.duration)
	if b.silent {
		if b.late == 0 {
			return
		}
		at = w.now.Add(b.late)
	}
	w.due = append(w.due, worldResult{at: at, member: wanted.Member, result: result})
	slices.SortStableFunc(w.due, func(a, b worldResult) int { return a.at.Compare(b.at) })
}

func (w *world) behaviour(member string) behaviour {
	b := w.agents[member]
	if b.duration == 0 {
		b.duration = 10 * time.Minute
	}
	return b
}

// deliver hands over the results that are due, and lets the members be what they were upgraded to.
func (w *world) deliver() {
	for len(w.due) > 0 && !w.due[0].at.After(w.now) {
		d := w.due[0]
		w.due = w.due[1:]
		d.result.At = metav1.NewTime(w.now)
		w.results[d.result.Operation] = d.result
		if d.result.Outcome == api.OutcomeSucceeded {
			w.upgraded(d.member, d.result.Run)
		}
	}
}

func (w *world) upgraded(member, run string) {
	m, inFleet := w.fleet.Member(member)
	r, exists := w.runs[run]
	if !inFleet || !exists {
		return
	}
	status, ok := stage.MemberStatus(&r.status, member)
	require.True(w.t, ok)
	inventory := m.Inventory
	if status.ToVersion != "" {
		inventory.ControlPlaneVersion = status.ToVersion
	}
	inventory.NodePools = slices.Clone(inventory.NodePools)
	for i := range inventory.NodePools {
		for _, move := range status.NodeImages {
			if move.Pool == inventory.NodePools[i].Name && move.ToVersion != "" {
				inventory.NodePools[i].KubernetesVersion = move.ToVersion
			}
			if move.Pool == inventory.NodePools[i].Name && move.To != "" {
				inventory.NodePools[i].NodeImageVersion = move.To
			}
		}
	}
	require.NoError(w.t, w.fleet.Observe(member, inventory))
}

// operate lets a user act now.
func (w *world) operate(name, verb string, ask *api.RunRequest) (noop bool, refusal *api.Refusal) {
	r, ok := w.runs[name]
	require.True(w.t, ok, "run %s", name)
	w.deliver()
	d, refusal := upgrade.Operate(r.object, &r.status, w.view(name), w.now, verb, ask)
	if refusal != nil {
		return false, refusal
	}
	w.apply(name, d)
	w.settle()
	return d.Noop, nil
}

// settle steps every run until nothing changes any more, and profiles with them.
func (w *world) settle() {
	w.deliver()
	for range 20 {
		changed := false
		for _, name := range slices.Sorted(maps.Keys(w.runs)) {
			r := w.runs[name]
			before := len(w.locks)
			d := upgrade.Step(r.object, &r.status, w.view(name), w.now)
			w.apply(name, d)
			changed = changed || d.Changed || len(w.locks) != before
		}
		changed = w.reconcile() || changed
		if !changed {
			if w.watch != nil {
				w.watch(w)
			}
			return
		}
	}
	require.Fail(w.t, "the world does not come to rest", w.now.String())
}

// until lets time pass up to and including an instant.
func (w *world) until(end time.Time) {
	for {
		next := w.next()
		if next.IsZero() || next.After(end) {
			w.now = end
			return
		}
		w.now = next
		w.settle()
	}
}

// next is the next instant at which something happens.
func (w *world) next() time.Time {
	var next time.Time
	at := func(when time.Time) {
		if when.After(w.now) && (next.IsZero() || when.Before(next)) {
			next = when
		}
	}
	for _, r := range w.runs {
		at(r.wake)
	}
	for _, d := range w.due {
		at(d.at)
	}
	return next
}

func (w *world) profileInput(p *worldProfile) upgrade.ProfileInput {
	in := upgrade.ProfileInput{
		Profile: p.object, Strategy: w.plans[p.object.Spec.StrategyName], Status: p.status, View: w.view(""), Now: w.now,
	}
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		in.Runs = append(in.Runs, upgrade.HeadOf(w.runs[name].object, &w.runs[name].status))
	}
	return in
}

// reconcile does what the profiles decide and reports whether anything changed.
func (w *world) reconcile() bool {
	changed := false
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		p := w.profiles[name]
		d := upgrade.Reconcile(w.profileInput(p))
		status := d.Status
		p.status = &status
		for _, run := range d.Remove {
			delete(w.runs, run)
			w.note("run %s removed", run)
		}
		for _, run := range d.Stop {
			w.note("run %s stopped by its profile", run)
			w.act(run, api.VerbRunStop)
		}
		if d.Create != nil {
			w.adopt(d.Create)
		}
		if d.Start != "" {
			w.act(d.Start, api.VerbRunStart)
		}
		changed = changed || d.Changed || len(d.Remove)+len(d.Stop) > 0 || d.Create != nil || d.Start != ""
	}
	return changed
}

func (w *world) act(run, verb string) {
	r := w.runs[run]
	d, refusal := upgrade.Operate(r.object, &r.status, w.view(run), w.now, verb, &api.RunRequest{})
	require.Nil(w.t, refusal)
	w.apply(run, d)
}

// adopt keeps a run that a profile made.
func (w *world) adopt(made *upgrade.NewRun) {
	made.Run.UID = w.uid(made.Run.Name)
	made.Status.UID = string(made.Run.UID)
	w.runs[made.Run.Name] = &worldRun{object: &made.Run, status: made.Status}
	text := fmt.Sprintf("run %s created for %s", made.Run.Name, strings.TrimSpace(made.Run.Spec.Upgrade.KubernetesVersion+" "+made.Run.Spec.Upgrade.Type))
	if made.Status.BlockedBy != "" {
		text += ", blocked by " + made.Status.BlockedBy
	}
	w.note("%s", text)
}

// note puts a line of the world's own among the events.
func (w *world) note(format string, args ...any) {
	w.events = append(w.events, stage.Event{At: w.now, Scope: "note", Message: fmt.Sprintf(format, args...)})
}
