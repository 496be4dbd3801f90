package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

const propertySeeds = 250

// randomMember is a member of two pools with everything that decisions read, made from a seed.
func randomMember(seed uint64) *fixture {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	f := &fixture{options: map[string]capacity.PoolOptions{}}
	for _, name := range []string{"a", "b"} {
		f.pools = append(f.pools, testPool(name, func(p *api.NodePool) {
			p.Spec.Disruption.ConsolidationPolicy = pick("", api.WhenEmpty, api.Balanced, api.WhenEmptyOrUnderutilized)
			p.Spec.Disruption.ConsolidateAfter = pick("0s", "0s", "30s", "5m")
			p.Spec.Template.Spec.ExpireAfter = pick(api.Never, api.Never, "5h", "90m")
			p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(pick("1", "2", "20%", "50%", "100%"))}}
			if r.IntN(3) == 0 {
				p.Spec.Disruption.Budgets = append(p.Spec.Disruption.Budgets, api.DisruptionBudget{Nodes: new(pick("0", "1")), Reasons: []string{pick(api.DisruptionReasons...)}})
			}
		}))
	}
	kinds := []string{"d2", "d4", "d8", "f2", "f4", "e4"}
	for i := range 3 + r.IntN(10) {
		n := aNode(fmt.Sprintf("n%02d", i), kinds[r.IntN(len(kinds))], pick("z-a", "z-b", "z-c"), pick("a", "a", "b", ""))
		n.Created = metav1.NewTime(testNow.Add(-time.Duration(r.IntN(400)) * time.Minute))
		n.Since = n.Created
		n.Ready, n.Initialized, n.Deleting = r.IntN(15) > 0, r.IntN(15) > 0, r.IntN(15) == 0
		if r.IntN(4) == 0 {
			n.LastPodEvent = metav1.NewTime(testNow.Add(-time.Duration(r.IntN(600)) * time.Second))
		}
		if r.IntN(8) == 0 {
			n.ProviderDrift = "ImageDrifted"
		}
		free := n.Allocatable["cpu"]
		for j := range r.IntN(6) {
			cpu := int64(100 + 100*r.IntN(8))
			if free -= cpu; free < 0 {
				break
			}
			n.Pods = append(n.Pods, randomPod(r, fmt.Sprintf("p%02d-%d", i, j), cpu, pick))
		}
		f.nodes = append(f.nodes, n)
	}
	if r.IntN(3) == 0 {
		f.pdbs = []api.PodBudget{{Namespace: "default", Name: "x", Selector: selecting("x"), Allowed: int32(r.IntN(3))}}
	}
	if r.IntN(3) == 0 {
		f.pending = []api.PodState{randomPod(r, "pending", 500, pick)}
	}
	return f
}

func randomPod(r *rand.Rand, name string, cpu int64, pick func(...string) string) api.PodState {
	app := pick("x", "y", "z")
	p := aPod(name, cpu, labelled(app))
	switch r.IntN(9) {
	case 0:
		apart(app, pick(corev1.LabelHostname, corev1.LabelTopologyZone))(&p)
	case 1:
		spreadOver(corev1.LabelTopologyZone, 1, 0)(&p)
		p.Labels = map[string]string{"app": app}
		p.Spread[0].LabelSelector = selecting(app)
	case 2:
		p.NodeSelector = map[string]string{corev1.LabelTopologyZone: pick("z-a", "z-b")}
	case 3:
		p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	case 4:
		p.Ports = []api.HostPort{{Port: 80}}
	case 5:
		p.Owner = "DaemonSet"
	}
	return p
}

// Deciding twice gives the same, and so does a member whose parts come in another order.
func TestDecidingTwiceChangesNothing(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		f := randomMember(seed)
		s := f.state()
		first := Decide(s)
		require.Equal(t, first, Decide(s), "seed %d", seed)
		shuffled := *f
		shuffled.nodes, shuffled.pools = slices.Clone(f.nodes), slices.Clone(f.pools)
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(shuffled.nodes), func(i, j int) {
			shuffled.nodes[i], shuffled.nodes[j] = shuffled.nodes[j], shuffled.nodes[i]
		})
		slices.Reverse(shuffled.pools)
		require.Equal(t, first, Decide(shuffled.state()), "seed %d, shuffled", seed)
	}
}

// A simulation leaves no trace in the index: each that comes later finds what one of a fresh index finds.
func TestUndo(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		s := randomMember(seed).state()
		x, quiet := simulate.NewIndex(s), seed%2 == 0
		for i, n := range x.Nodes {
			if n.Deleting {
				continue
			}
			fresh := simulate.NewIndex(s)
			require.Equal(t, result(fresh.Simulate(fresh.Nodes[i:i+1], quiet)), result(x.Simulate(x.Nodes[i:i+1], quiet)), "seed %d node %s", seed, n.State.Name)
			require.Equal(t, fresh.Nodes[i].Free, n.Free)
		}
	}
}

// result is an outcome in words.
func result(out *simulate.Outcome) []string {
	var lines []string
	for i := range out.Moves {
		lines = append(lines, out.Moves[i].Pod.Key+" to "+out.Moves[i].To())
	}
	for _, c := range out.Claims {
		lines = append(lines, fmt.Sprintf("%s of %s, %d types", c.Hostname, c.Pool.Name, len(c.Types)))
	}
	return append(lines, simulate.Failures(out.Failed), simulate.Failures(out.Homeless))
}

// No move that does not pay: what consolidation does saves money, with at most one new node.
func TestConsolidationPays(t *testing.T) {
	moved := 0
	for seed := range uint64(propertySeeds) {
		for _, c := range Decide(randomMember(seed).state()).Commands {
			if c.Method == MethodEmpty || c.Method == MethodMulti || c.Method == MethodSingle {
				require.Positive(t, c.Savings.Amount, "seed %d: %s", seed, c)
				require.LessOrEqual(t, len(c.Replacements), 1)
				moved++
			}
		}
	}
	require.Greater(t, moved, propertySeeds/4)
}

// No pod of a node that goes is without a place, no place takes more than it has, and no pod is put
// where its own or another's anti-affinity, its selector, or a port forbids it.
func TestEveryPodHasAPlace(t *testing.T) {
	checked := 0
	for seed := range uint64(propertySeeds) {
		f := randomMember(seed)
		s := f.state()
		x := simulate.NewIndex(s)
		for _, c := range Decide(s).Commands {
			if c.Method == MethodEmpty || c.Forceful {
				continue
			}
			places := map[string]string{}
			for _, m := range c.Moves {
				places[m.Pod] = m.To
			}
			for _, name := range c.Nodes {
				for _, m := range x.ByName[name].Movable {
					require.NotEmpty(t, places[m.Key], "seed %d: %s\n%s", seed, m.Key, c)
					checked++
				}
			}
			requireRoom(t, seed, x, &c, places)
		}
	}
	require.Greater(t, checked, propertySeeds/2)
}

// requireRoom recounts every target from scratch.
func requireRoom(t *testing.T, seed uint64, x *simulate.Index, c *Command, places map[string]string) {
	t.Helper()
	pods := map[string]*cluster.Pod{}
	on := map[string][]*cluster.Pod{}
	for _, n := range x.Nodes {
		for i := range n.Pods {
			p := &n.Pods[i]
			pods[p.Key] = p
			if places[p.Key] == "" && !slices.Contains(c.Nodes, n.State.Name) {
				on[n.State.Name] = append(on[n.State.Name], p)
			}
		}
	}
	for _, m := range x.Waiting {
		pods[m.Key] = m.Pod
	}
	for key, to := range places {
		if n := x.ByName[to]; n != nil {
			require.NotContains(t, c.Nodes, to)
			require.False(t, n.Deleting)
			on[to] = append(on[to], pods[key])
		}
	}
	for name, list := range on {
		n := x.ByName[name]
		cpu := int64(0)
		ports := map[int32]bool{}
		for _, p := range list {
			cpu += p.Requests.Base[cluster.CPUIndex]
			if places[p.Key] != name {
				continue
			}
			require.True(t, capacity.NeedsOfLabels(p.State.NodeSelector).Admits(n.Labels, n.Hostname), "seed %d: %s on %s", seed, p.Key, name)
			for _, q := range list {
				require.False(t, p != q && (minds(p, q) || minds(q, p)), "seed %d: %s beside %s on %s", seed, p.Key, q.Key, name)
			}
			for _, port := range p.State.Ports {
				require.False(t, ports[port.Port], "seed %d: port twice on %s", seed, name)
				ports[port.Port] = true
			}
		}
		if len(list) > 0 && slices.ContainsFunc(list, func(p *cluster.Pod) bool { return places[p.Key] == name }) {
			require.LessOrEqual(t, cpu, n.State.Allocatable["cpu"], "seed %d: %s is overfull", seed, name)
		}
	}
}

// minds reports whether p does not want q on its node.
func minds(p, q *cluster.Pod) bool {
	a := p.State.Affinity
	if a == nil || a.PodAntiAffinity == nil || !p.Active || !q.Active {
		return false
	}
	return slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		return t.LabelSelector.MatchLabels["app"] == q.State.Labels["app"]
	})
}

// Budgets hold at every instant: two hubs that decide from views of different age, crashes that lose
// what was not recorded, results that come late or not at all. The record is what both share, and a
// command that does not fit it is dropped.
func TestBudgetsHoldAtEveryInstant(t *testing.T) {
	begun := 0
	for seed := range uint64(60) {
		begun += runHubs(t, seed)
	}
	require.Greater(t, begun, 100)
}

func runHubs(t *testing.T, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	f := randomMember(seed)
	now, begun := testNow, 0
	var record []api.Disruption
	revision := 0
	type hub struct {
		revision int
		record   []api.Disruption
	}
	hubs := [2]hub{}
	for tick := range 60 {
		now = now.Add(time.Duration(1+r.IntN(90)) * time.Second)
		for i := range hubs {
			h := &hubs[i]
			if r.IntN(3) > 0 { // else its view is as old as it was
				h.revision, h.record = revision, slices.Clone(record)
			}
			s := f.state()
			s.Now, s.Busy = now, Busy(h.record)
			d := Decide(s)
			if len(d.Commands) == 0 || h.revision != revision || r.IntN(6) == 0 { // the write is refused, or the hub dies before it
				continue
			}
			for k := range d.Commands {
				c := &d.Commands[k]
				require.True(t, Fits(c, record))
				if !c.Forceful {
					requireBudget(t, seed, s, c)
				}
				record = append(record, Begin(c, fmt.Sprintf("d-%d-%d-%d", tick, i, k), now, len(s.Busy)+len(c.Nodes)))
				begun++
			}
			revision++
		}
		finishSome(r, f, record, now)
	}
	return begun
}

// requireBudget counts, from the nodes alone, that a pool stays within the limit for a reason.
func requireBudget(t *testing.T, seed uint64, s *simulate.State, c *Command) {
	t.Helper()
	for _, p := range s.Pools {
		total, down := 0, 0
		for _, n := range s.Cluster.Nodes {
			if n.Pool != p.Name || !n.State.Managed || !n.State.Initialized || n.State.InstanceTerminating {
				continue
			}
			total++
			if !n.State.Ready || n.State.Deleting || s.Busy[n.State.Name] || slices.Contains(c.Nodes, n.State.Name) {
				down++
			}
		}
		takes := slices.ContainsFunc(c.Nodes, func(name string) bool { return s.Cluster.Nodes[name].Pool == p.Name })
		if limit := p.Budgets.Limit(s.Now, total, c.Reason, s.Rules); takes {
			require.LessOrEqual(t, down, limit, "seed %d: pool %s, %s", seed, p.Name, c)
		}
	}
}

// finishSome lets some disruptions end: their nodes go, or their replacement failed.
func finishSome(r *rand.Rand, f *fixture, record []api.Disruption, now time.Time) {
	for i := range record {
		d := &record[i]
		if !Running(d) || r.IntN(4) > 0 {
			continue
		}
		if d.Phase == api.PhaseLaunching && r.IntN(2) == 0 {
			*d, _ = Advance(*d, &api.DisruptionResult{ID: d.ID, Replacements: []api.NodeReplacement{{Name: d.ID + "-0", Failed: "no capacity"}}}, now)
			continue
		}
		d.Phase = api.PhaseDone
		f.nodes = slices.DeleteFunc(f.nodes, func(n *api.NodeState) bool { return slices.Contains(d.Nodes, n.Name) })
	}
}
