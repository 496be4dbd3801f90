package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
)

func TestFleetKnowsItsMembers(t *testing.T) {
	f := schedule.NewFleet(member("b"), member("a", label("env", "prod"), property(api.PropertyNodeCount, "3")))
	require.Equal(t, 2, f.Len())
	require.Equal(t, []string{"a", "b"}, f.Names())
	a, known := f.Member("a")
	require.True(t, known)
	require.Equal(t, member("a", label("env", "prod"), property(api.PropertyNodeCount, "3")), a)
	_, known = f.Member("c")
	require.False(t, known)
	require.False(t, f.Remove("c"))
	require.False(t, f.Heartbeat("c", sim.Now, nil))
}

func TestHeartbeatChangesInPlace(t *testing.T) {
	f := schedule.NewFleet(member("a", property(api.PropertyNodeCount, "3"), property("example.com/gone", "1")), member("b"))
	at := sim.Now.Add(time.Minute)
	require.True(t, f.Heartbeat("a", at, map[string]string{api.PropertyNodeCountAKS: "7"}))
	a, _ := f.Member("a")
	require.Equal(t, at, a.LastHeartbeat)
	require.Equal(t, map[string]string{api.PropertyNodeCount: "7"}, a.Properties, "D13: one property under its canonical name")
}

// Whatever happens to a fleet, and whatever it was asked meanwhile, it decides as one that was made of its members
// at once.
func TestFleetAfterAnyHistory(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := sim.NewSource(seed)
		now := map[string]api.Member{}
		f := schedule.NewFleet(sim.Members(s, 3)...)
		for _, name := range f.Names() {
			now[name], _ = f.Member(name)
		}
		asked := sim.Policy(s, sim.Members(s, 12))
		for range 60 {
			name := fmt.Sprintf("member-%03d", s.Below(12))
			schedule.Schedule(schedule.Input{Policy: sim.Pick(s, asked, sim.Policy(s, nil)), Fleet: f, Now: sim.Now})
			switch s.Below(4) {
			case 0:
				_, known := now[name]
				require.Equal(t, known, f.Remove(name))
				delete(now, name)
			case 1:
				other := sim.Member(s, name)
				if m, known := now[name]; known {
					m.Properties, m.LastHeartbeat = other.Properties, other.LastHeartbeat
					now[name] = m
				}
				f.Heartbeat(name, other.LastHeartbeat, other.Properties)
			default:
				now[name] = sim.Member(s, name)
				f.Set(now[name])
			}
		}
		members := make([]api.Member, 0, len(now))
		for _, m := range now {
			members = append(members, m)
		}
		in := schedule.Input{Policy: sim.Pick(s, asked, sim.Policy(s, members)), Fleet: f, Now: sim.Now}
		want := in
		want.Fleet = schedule.NewFleet(members...)
		require.Equal(t, plainPlan(t, want), plainPlan(t, in))
		in.Fleet = f.Clone()
		require.Equal(t, plainPlan(t, want), plainPlan(t, in), "a clone")
	})
}

func TestCloneIsApart(t *testing.T) {
	f := schedule.NewFleet(member("a", label("env", "prod"), property(api.PropertyNodeCount, "3")))
	c := f.Clone()
	c.Set(member("a", label("env", "dev"), taint(api.Taint{Key: "gpu", Effect: api.EffectNoSchedule})))
	c.Set(member("b"))
	c.Heartbeat("a", sim.Now.Add(time.Hour), map[string]string{"example.com/n": "1"})
	a, _ := f.Member("a")
	require.Equal(t, member("a", label("env", "prod"), property(api.PropertyNodeCount, "3")), a)
	require.Equal(t, []string{"a"}, f.Names())
}

// A property that changes all the time does not make the fleet grow without end.
func TestValuesOutOfUseAreForgotten(t *testing.T) {
	f := schedule.NewFleet(member("a"), member("b", property("example.com/n", "7")))
	require.Equal(t, 2, f.Kept("example.com/n"))
	for i := range 20000 {
		f.Heartbeat("a", sim.Now, map[string]string{"example.com/n": fmt.Sprint(i)})
	}
	require.Less(t, f.Kept("example.com/n"), 200)
	b, _ := f.Member("b")
	require.Equal(t, "7", b.Properties["example.com/n"])
}

// The three decisions of the benchmark over a thousand members stay below the number of allocations
// that they are to stay below over ten thousand; it does not grow with the fleet.
func TestAllocationsAreFew(t *testing.T) {
	fleet := schedule.NewFleet(benchMembers(1000)...)
	for name, policy := range map[string]func() *api.Policy{
		"PickAll": benchPickAll, "PickNSorter": benchPickNSorter, "PickNSpread": benchPickNSpread,
	} {
		allocations := testing.AllocsPerRun(10, func() {
			schedule.Schedule(schedule.Input{Placement: "bench", Policy: policy(), Fleet: fleet, Now: benchNow})
		})
		require.Less(t, allocations, 100.0+detectorAllocates, name)
	}
}
