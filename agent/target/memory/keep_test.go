package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/podspec"
	"flotilla/agent/target/memory/provision"
	"flotilla/core/api"
	"flotilla/core/apply"
)

func open(t *testing.T, o Options, folder string) *Member {
	t.Helper()
	m, err := Open(o, folder)
	require.NoError(t, err)
	return m
}

// picture is all that others can see of a member, but for what counts its writes.
func picture(t *testing.T, m *Member) string {
	t.Helper()
	inventory, err := m.Inventory(t.Context())
	require.NoError(t, err)
	all, err := m.Nodes(t.Context())
	require.NoError(t, err)
	states := map[string]any{}
	for _, id := range m.UpgradesBegun() {
		state, known := m.UpgradeState(id)
		require.True(t, known)
		states[id] = []any{state.Percent, state.Message, state.Pools, state.Ended, state.Fault}
	}
	survey := survey(t, m)
	body, err := json.MarshalIndent([]any{inventory, all, m.Machines(), m.UpgradesBegun(), states, survey, m.Objects()}, "", " ")
	require.NoError(t, err)
	return string(body)
}

// twins are two members that live through the same; one of them is killed now and then and comes back
// from its folder.
type twins struct {
	t      *testing.T
	clock  *manualClock
	o      Options
	folder string
	whole  *Member
	killed *Member
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	clock := &manualClock{now: testNow}
	given := nodes("a", "b", "c", "d")
	for i, pool := range []string{"np1", "np1", "np2", "np2"} {
		given[i].Pool, given[i].NodePool = pool, "general"
	}
	w := &twins{t: t, clock: clock, folder: t.TempDir(), o: Options{
		Name: "berlin", Clock: clock, Nodes: given, ReadyAfter: 3 * time.Second, MostGrace: 20 * time.Second,
		Pools: []api.NodePoolFacts{{Name: "np1"}, {Name: "np2", KubernetesVersion: "v1.35.1", FromSnapshot: true}, {Name: "np3"}},
	}}
	w.whole = New(w.o)
	w.open(w.o)
	w.both(func(m *Member) string { return create(t, m, shop).GetName() })
	return w
}

// kill ends the member as SIGKILL does, nothing is told to it, and starts it again.
func (w *twins) kill() {
	w.clock.forget(w.killed)
	anew := w.o
	anew.Nodes, anew.Pools, anew.KubernetesVersion = nodes("other"), nil, "v1.30.0"
	w.open(anew)
}

// open starts the member whose counts leave no gap, so that it names things as its twin does.
func (w *twins) open(o Options) {
	var err error
	w.killed, err = openAhead(o, w.folder, 0)
	require.NoError(w.t, err)
}

// forget drops the timers of a member whose process is gone.
func (c *manualClock) forget(m *Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, stop := range m.stops {
		stop()
	}
}

func (w *twins) both(do func(m *Member) string) {
	w.t.Helper()
	require.Equal(w.t, do(w.whole), do(w.killed))
}

func text(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// happen is one thing that happens to a member.
func happen(t *testing.T, seed uint64, m *Member) string {
	r := rand.New(rand.NewPCG(seed, 1))
	name := fmt.Sprintf("w%d", r.IntN(4))
	ref := api.ObjectRef{APIVersion: "apps/v1", Kind: []string{podspec.KindDeployment, podspec.KindStatefulSet, podspec.KindDaemonSet}[r.IntN(3)], Namespace: "shop", Name: name}
	live, _ := m.Get(t.Context(), ref)
	node := []string{"a", "b", "c", "d", "n1", "n2"}[r.IntN(6)]
	switch kind := r.IntN(9); {
	case kind < 2 && live == nil:
		_, err := m.Apply(t.Context(), target.Write{Object: object(t, app(ref.Kind, name, 1+r.IntN(4), "700m", ""))})
		return text(err)
	case kind < 2:
		_, err := m.Apply(t.Context(), target.Write{Object: scaled(live, int64(r.IntN(5))), UID: string(live.GetUID())})
		return text(err)
	case kind == 2 && live != nil:
		return text(m.Delete(t.Context(), target.Removal{ObjectRef: ref, UID: string(live.GetUID())}))
	case kind == 3:
		return text(m.DeleteNode(t.Context(), node, ""))
	case kind == 4:
		return text(m.UpdateNode(t.Context(), node, func(n *corev1.Node) {
			n.Spec.Unschedulable = r.IntN(2) == 0
			n.Finalizers = [][]string{nil, {api.FinalizerTermination}}[r.IntN(2)]
			n.Spec.Taints = nil
		}))
	case kind == 5:
		_, err := m.LaunchNode(launch([]string{"n1", "n2"}[r.IntN(2)]))
		return text(err)
	case kind == 6:
		return fmt.Sprint(m.TerminateMachine(node, 10*time.Second))
	case kind == 7:
		op := api.UpgradeOperation{ID: fmt.Sprint("u", seed), Type: api.UpgradeFull, ControlPlaneVersion: "1.37.1", NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.37.1", Newest: true}}}
		return text(m.BeginUpgrade(op, provision.Pace{ControlPlane: 20 * time.Second, NodePool: 30 * time.Second, Images: []string{newer}}))
	}
	return evictFirst(t, m)
}

func evictFirst(t *testing.T, m *Member) string {
	for _, p := range survey(t, m).Pods {
		if p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
			return text(m.Evict(t.Context(), target.PodRef{Namespace: p.Namespace, Name: p.Name}))
		}
	}
	return ""
}

// A member that is killed at any moment is the one that it was: everything others can see, and all that
// follows, is the same as of one that never stopped.
func TestAKilledMemberIsTheSame(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newTwins(t)
			r := rand.New(rand.NewPCG(seed, 2))
			for step := range 60 {
				at := seed*1000 + uint64(step)
				w.both(func(m *Member) string { return happen(t, at, m) })
				if r.IntN(3) == 0 {
					w.kill()
				}
				for range r.IntN(9) {
					w.clock.Advance(time.Second)
				}
				w.both(func(m *Member) string { return picture(t, m) })
			}
		})
	}
}

func TestWhatWasUnderWayGoesOn(t *testing.T) {
	w := newTwins(t)
	w.both(func(m *Member) string { return text(m.BeginUpgrade(fullUpgrade(1), slow)) })
	require.Contains(t, look(t, w.killed), "v1.36.3")
	w.clock.Advance(11 * time.Minute)
	w.kill()
	require.Contains(t, look(t, w.killed), "v1.37.1 np1=v1.36.3")
	w.clock.now = w.clock.now.Add(time.Hour)
	w.kill()
	w.clock.Advance(0)
	for range 10 {
		w.clock.Advance(time.Millisecond)
	}
	require.Contains(t, look(t, w.killed), "np1=v1.37.1", "what fell due while nobody looked is done")
	require.ErrorContains(t, w.killed.BeginUpgrade(fullUpgrade(1), slow), "was carried out already")
}

func TestAFolderThatIsNotTheMembers(t *testing.T) {
	for name, row := range map[string]struct{ file, content, want string }{
		"another layout": {"member.json", `{"layout":7,"name":"berlin"}`, "has layout 7, expected 1"},
		"another member": {"member.json", `{"layout":1,"name":"oslo"}`, "is of member oslo, expected berlin"},
		"half a file":    {"member.json", `{"layout":1,`, "reading "},
		"half an object": {"objects/000000000001.json", `{"object":`, "000000000001.json"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			open(t, Options{Name: "berlin", Clock: &manualClock{now: testNow}}, folder).Close()
			require.NoError(t, os.WriteFile(filepath.Join(folder, row.file), []byte(row.content), 0o600))
			_, err := Open(Options{Name: "berlin", Clock: &manualClock{now: testNow}}, folder)
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, "without the folder "+folder+" it starts anew")
		})
	}
}

// A disk that takes no more is told by the member's health, and all is written once there is room.
func TestAStateThatCannotBeKeptIsTold(t *testing.T) {
	folder := t.TempDir()
	o := Options{Name: "berlin", Clock: &manualClock{now: testNow}, Nodes: nodes("a")}
	m := open(t, o, folder)
	create(t, m, shop)
	create(t, m, app(podspec.KindDeployment, "web", 1, "1", ""))
	require.NoError(t, m.Ready(t.Context()))
	away := folder + "-away"
	require.NoError(t, os.Rename(folder, away))
	create(t, m, app(podspec.KindDeployment, "more", 1, "1", ""))
	require.ErrorContains(t, m.Ready(t.Context()), "the state of member berlin cannot be kept: ")
	require.NoError(t, os.Rename(away, folder))
	require.NoError(t, m.Ready(t.Context()), "it is tried again")
	m.Close()
	again := open(t, o, folder)
	for _, name := range []string{"web", "more"} {
		_, err := again.Get(t.Context(), api.ObjectRef{APIVersion: "apps/v1", Kind: podspec.KindDeployment, Namespace: "shop", Name: name})
		require.NoError(t, err)
	}
	require.Len(t, survey(t, again).Pods, 2)
	require.NotEmpty(t, apply.RefOf(again.Objects()[0]).Name)
}
