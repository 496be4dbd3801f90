package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/tests/scenario"
)

// TestScenarios plays decisions that a person who knows KubeFleet can read.
func TestScenarios(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", func() map[string]scenario.Command {
		w := &world{in: schedule.Input{Placement: "web", UID: "u1", Now: sim.Now}, members: map[string]*api.Member{}}
		return map[string]scenario.Command{
			"member": w.member, "property": w.property, "taint": w.taint, "untaint": w.untaint, "agent": w.agent, "namespaces": w.namespaces,
			"remove": w.remove, "namespace": w.namespace, "policy": w.policy, "failover": w.failover, "evict": w.evict, "tick": w.tick,
			"delete": w.deletePlacement, "schedule": w.schedule, "why": w.why,
		}
	})
}

// world is a fleet and one placement, whose bindings are those of the last schedule.
type world struct {
	in      schedule.Input
	members map[string]*api.Member
	last    schedule.Plan
}

// member NAME [KEY=VALUE…] joins a healthy member with these labels, or labels one anew.
func (w *world) member(_ *testing.T, args []string) string {
	m := w.members[args[0]]
	if m == nil {
		made := member(args[0])
		made.LastHeartbeat, made.HealthChanged = w.in.Now, w.in.Now.Add(-time.Hour)
		m = &made
		w.members[args[0]] = m
	}
	m.Labels = map[string]string{}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		m.Labels[key] = value
	}
	return ""
}

// property MEMBER NAME=VALUE….
func (w *world) property(_ *testing.T, args []string) string {
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		w.members[args[0]].Properties[name] = value
	}
	return ""
}

// taint MEMBER KEY[=VALUE]:EFFECT, as kubectl has it.
func (w *world) taint(t *testing.T, args []string) string {
	text, effect, found := strings.Cut(args[1], ":")
	require.True(t, found, "a taint has an effect")
	key, value, _ := strings.Cut(text, "=")
	m := w.members[args[0]]
	m.Taints = append(m.Taints, api.Taint{Key: key, Value: value, Effect: effect})
	return ""
}

func (w *world) untaint(_ *testing.T, args []string) string {
	w.members[args[0]].Taints = nil
	return ""
}

// agent MEMBER beats|sick|absent|leaving.
func (w *world) agent(t *testing.T, args []string) string {
	m := w.members[args[0]]
	switch args[1] {
	case "beats":
		m.LastHeartbeat = w.in.Now
	case "sick":
		m.Healthy, m.HealthChanged = "False", w.in.Now
	case "absent":
		m.HasAgent = false
	case "leaving":
		m.Leaving = true
	default:
		require.Fail(t, "unknown state "+args[1])
	}
	return ""
}

// namespaces MEMBER [NAME…] are all that the member has.
func (w *world) namespaces(_ *testing.T, args []string) string {
	m := w.members[args[0]]
	m.NamespaceCondition, m.NamespacesKnown, m.Namespaces = true, true, args[1:]
	return ""
}

func (w *world) remove(_ *testing.T, args []string) string {
	delete(w.members, args[0])
	return ""
}

// namespace NAME makes the placement a ResourcePlacement.
func (w *world) namespace(_ *testing.T, args []string) string {
	w.in.Namespace = args[0]
	return ""
}

// policy is the placement's, in YAML below it.
func (w *world) policy(t *testing.T, args []string) string {
	w.in.Policy = &api.Policy{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(args[0]), w.in.Policy))
	w.in.Generation++
	return ""
}

// failover DURATION.
func (w *world) failover(t *testing.T, args []string) string {
	d, err := time.ParseDuration(args[0])
	require.NoError(t, err)
	w.in.FailoverAfter = d
	return ""
}

// evict MEMBER….
func (w *world) evict(_ *testing.T, args []string) string {
	w.in.Evicted = args
	return ""
}

// tick DURATION: agents go on beating, but for those in the list after it.
func (w *world) tick(t *testing.T, args []string) string {
	d, err := time.ParseDuration(args[0])
	require.NoError(t, err)
	w.in.Now = w.in.Now.Add(d)
	silent := strings.Join(args[1:], " ") + " "
	for name, m := range w.members {
		if !strings.Contains(silent, name+" ") {
			m.LastHeartbeat = w.in.Now
		}
	}
	return ""
}

func (w *world) deletePlacement(*testing.T, []string) string {
	w.in.Deleting = true
	return ""
}

// schedule decides, prints the decision, and makes it the placement's bindings; deciding again must change nothing.
func (w *world) schedule(t *testing.T, _ []string) string {
	w.fill()
	w.last = schedule.Schedule(w.in)
	var b strings.Builder
	w.in.Existing = nil
	for _, x := range w.last.Bindings {
		fmt.Fprintln(&b, boundLine(x))
		w.in.Existing = append(w.in.Existing, schedule.Existing{
			Member: x.Member, Policy: schedule.PolicyDigest(w.in.Policy), State: api.BindingBound,
			AffinityScore: x.AffinityScore, SpreadScore: x.SpreadScore,
		})
	}
	for _, r := range w.last.Removed {
		fmt.Fprintf(&b, "- %s: %s\n", r.Member, r.Reason)
	}
	fmt.Fprintf(&b, "%s\n", w.last.Message)
	if !w.last.Recheck.IsZero() {
		fmt.Fprintf(&b, "again in %s\n", w.last.Recheck.Sub(w.in.Now))
	}
	again := schedule.Schedule(w.in)
	require.Empty(t, again.Removed, "deciding twice removes somebody")
	require.Len(t, again.Bindings, len(w.last.Bindings), "deciding twice picks somebody else")
	return b.String()
}

func (w *world) fill() {
	var all []api.Member
	for _, m := range w.members {
		all = append(all, *m)
	}
	w.in.Fleet = schedule.NewFleet(all...)
}

// boundLine is "+ berlin", with the scores that are not 0.
func boundLine(b api.Binding) string {
	text := "+ " + b.Member
	if b.Waiting {
		return "? " + b.Member + ": " + b.Reason
	}
	for _, score := range []struct {
		of    string
		value *int32
	}{{"affinity", b.AffinityScore}, {"spread", b.SpreadScore}} {
		if score.value != nil && *score.value != 0 {
			text += fmt.Sprintf(" %s %d", score.of, *score.value)
		}
	}
	return text
}

// why prints what the last decision says of every member that it did not pick.
func (w *world) why(*testing.T, []string) string {
	var b strings.Builder
	for _, v := range w.last.Verdicts.All() {
		if !v.Picked {
			fmt.Fprintf(&b, "%s: %s: %s\n", v.Member, v.Filter, v.Reason)
		}
	}
	return b.String()
}
