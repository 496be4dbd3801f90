package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/core/strict"
)

// clock stands still until it is moved.
type clock struct {
	now    time.Time
	timers []timer
}

type timer struct {
	at time.Time
	do func()
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.timers = append(c.timers, timer{c.now.Add(d), f})
	return func() bool { return true }
}

func (c *clock) move(d time.Duration) {
	c.now = c.now.Add(d)
	due := c.timers
	c.timers = nil
	for _, t := range due {
		if t.at.After(c.now) {
			c.timers = append(c.timers, t)
		} else {
			t.do()
		}
	}
}

func member(t *testing.T, c *clock, words ...string) *targetmemory.Member {
	t.Helper()
	m := targetmemory.New(targetmemory.Options{Name: "berlin", Clock: c})
	t.Cleanup(m.Close)
	f, err := faults.Parse(words)
	require.NoError(t, err)
	m.SetFaults(f)
	return m
}

func offering(zone string, price float64, available ...bool) api.InstanceOffering {
	o := api.InstanceOffering{Zone: zone, CapacityType: api.CapacitySpot, Price: strict.Price(price)}
	if len(available) > 0 {
		o.Available = &available[0]
	}
	return o
}

func wanted(types ...api.LaunchType) api.NodeLaunch {
	return api.NodeLaunch{
		Name: "d1-0", Member: "berlin", Pool: "general", Types: types, Labels: map[string]string{"team": "web"},
		Taints: []api.NodeTaint{{Key: "dedicated", Effect: "NoSchedule"}}, StartupTaints: []api.NodeTaint{{Key: "cni", Effect: "NoSchedule"}},
	}
}

func nodeOf(t *testing.T, m *targetmemory.Member) *corev1.Node {
	t.Helper()
	s, err := m.Survey(t.Context())
	require.NoError(t, err)
	if len(s.Nodes) == 0 {
		return nil
	}
	return s.Nodes[0]
}

// The cheapest offering that can be had is launched; the node shows up after a while, is ready after
// another, and goes after a third.
func TestTheLifeOfAMachine(t *testing.T) {
	c := &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	m := member(t, c)
	p := New(m, Options{LaunchTime: time.Second, ReadyAfter: time.Second, DeleteTime: time.Second})
	amounts := api.Amounts{"cpu": 7910, "memory": 32 << 30, "nvidia.com/gpu": 1}
	l := wanted(
		api.LaunchType{Name: "d4", Capacity: amounts, Offerings: []api.InstanceOffering{offering("z-a", 0.1, false), offering("z-b", 0.4)}},
		api.LaunchType{Name: "d8", Capacity: amounts, Allocatable: amounts, Labels: map[string]string{"gpu": "yes"}, Offerings: []api.InstanceOffering{offering("z-c", 0.3), offering("z-a", 0.3)}},
	)
	for range 2 {
		out, err := p.Launch(t.Context(), l)
		require.NoError(t, err)
		require.Equal(t, api.LaunchedNode{Node: "d1-0"}, out)
	}
	require.Equal(t, []string{"d1-0"}, m.Machines(), "a launch of the same name launches nothing")
	require.Nil(t, nodeOf(t, m))
	c.move(time.Second)
	n := nodeOf(t, m)
	for key, value := range map[string]string{
		corev1.LabelInstanceTypeStable: "d8", corev1.LabelTopologyZone: "z-c", api.LabelCapacityType: api.CapacitySpot, "gpu": "yes", "team": "web",
		api.LabelNodePool: "general", api.LabelRegistered: "", api.LabelInitialized: "",
	} {
		require.Equal(t, value, n.Labels[key], key)
	}
	require.Equal(t, "7910m", n.Status.Capacity.Cpu().String())
	require.Equal(t, "32Gi", n.Status.Allocatable.Memory().String())
	gpus := n.Status.Allocatable["nvidia.com/gpu"]
	require.Equal(t, int64(1), gpus.Value())
	keys := func() (out []string) {
		for _, taint := range nodeOf(t, m).Spec.Taints {
			out = append(out, taint.Key)
		}
		return out
	}
	require.ElementsMatch(t, []string{corev1.TaintNodeNotReady, api.TaintUnregistered, "dedicated", "cni"}, keys())
	c.move(time.Second)
	require.ElementsMatch(t, []string{api.TaintUnregistered, "dedicated"}, keys())

	machine := api.NodeMachine{Launch: "d1-0"}
	for _, want := range []bool{false, true} {
		gone, err := p.Delete(t.Context(), machine)
		require.NoError(t, err)
		require.Equal(t, want, gone)
		gone, err = p.Gone(t.Context(), machine)
		require.NoError(t, err)
		require.Equal(t, want, gone)
		c.move(time.Second)
	}
	require.NotNil(t, nodeOf(t, m), "its Node is for others to delete")
}

func TestLaunchesThatFail(t *testing.T) {
	c := &clock{}
	for name, row := range map[string]struct {
		faults []string
		types  []api.LaunchType
		want   string
	}{
		"nothing is offered":    {nil, []api.LaunchType{{Name: "d4", Offerings: []api.InstanceOffering{offering("z-a", 0.1, false)}}}, "none of the instance types of launch d1-0 can be bought"},
		"nothing is listed":     {nil, nil, "none of the instance types of launch d1-0 can be bought"},
		"no capacity of a sort": {[]string{"fail-launch=d4"}, []api.LaunchType{{Name: "d4", Offerings: []api.InstanceOffering{offering("z-a", 0.1)}}}, "no capacity of type d4"},
	} {
		t.Run(name, func(t *testing.T) {
			m := member(t, c, row.faults...)
			out, err := New(m, Options{}).Launch(t.Context(), wanted(row.types...))
			require.NoError(t, err)
			require.Contains(t, out.Failed, row.want)
			require.Empty(t, m.Machines())
		})
	}
}
