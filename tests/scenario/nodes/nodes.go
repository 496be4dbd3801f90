// Package nodes has the commands by which scenarios make a member of nodes, pods and NodePools.
package nodes

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
	"flotilla/core/strict"
	"flotilla/tests/scenario"
)

// World is one member at a moment.
type World struct {
	simulatetest.Member
	Now   time.Time
	busy  map[string]bool
	rules capacity.Rules
}

// NewWorld is a member without nodes, on Friday, 20 November 2026, at noon UTC.
func NewWorld() *World {
	return &World{
		Member: simulatetest.Member{Catalog: &api.InstanceCatalog{}, Options: map[string]capacity.PoolOptions{}},
		Now:    simulatetest.Now, busy: map[string]bool{},
	}
}

// Commands make the member; those of more do with it what a test is about.
func (w *World) Commands(more map[string]scenario.Command) map[string]scenario.Command {
	all := map[string]scenario.Command{
		"catalog": w.completeCatalog, "type": w.instanceType, "pool": w.pool, "node": w.node, "pod": w.pod, "daemonset": w.daemonSet,
		"pdb": w.podBudget, "busy": w.beBusy, "tick": w.tick, "spot-to-spot": w.spotToSpot,
	}
	maps.Copy(all, more)
	return all
}

// State is the member as decisions read it.
func (w *World) State() *simulate.State {
	s := w.Member.State()
	s.Now, s.Busy, s.Rules = w.Now, w.busy, w.rules
	return s
}

// words are those of a line: names, settings by key, and the block below the line.
type words struct {
	names    []string
	settings map[string]string
	block    string
}

func split(args []string) words {
	out := words{settings: map[string]string{}}
	for _, arg := range args {
		key, value, set := strings.Cut(arg, "=")
		switch {
		case strings.Contains(arg, "\n"):
			out.block = arg
		case set:
			out.settings[key] = value
		default:
			out.names = append(out.names, arg)
		}
	}
	return out
}

// has takes a word that is no name away.
func (w *words) has(word string) bool {
	at := slices.Index(w.names, word)
	if at >= 0 {
		w.names = slices.Delete(w.names, at, at+1)
	}
	return at >= 0
}

func (w *words) take(key, otherwise string) string {
	value, found := w.settings[key]
	if !found {
		return otherwise
	}
	delete(w.settings, key)
	return value
}

func (w *words) amounts(t *testing.T, cpu, memory string) api.Amounts {
	return amounts(t, w.take("cpu", cpu), w.take("memory", memory))
}

func amounts(t *testing.T, cpu, memory string) api.Amounts {
	t.Helper()
	c, err := strict.ParseQuantity(cpu)
	require.NoError(t, err)
	m, err := strict.ParseQuantity(memory)
	require.NoError(t, err)
	return api.Amounts{"cpu": c.MilliValue(), "memory": m.Value()}
}

// catalog complete.
func (w *World) completeCatalog(*testing.T, []string) string {
	w.Catalog.Spec.Complete = true
	return ""
}

// instanceType NAME cpu=4 memory=16Gi price=0.20 [spot=0.06] [zones=a,b]: prices of an hour in each zone.
func (w *World) instanceType(t *testing.T, args []string) string {
	s := split(args)
	made := api.InstanceType{Name: s.names[0], CPU: strict.Amount(s.take("cpu", "")), Memory: strict.Amount(s.take("memory", ""))}
	zones := strings.Split(s.take("zones", "a"), ",")
	for setting, capacityType := range map[string]string{"price": api.CapacityOnDemand, "spot": api.CapacitySpot} {
		text := s.take(setting, "")
		if text == "" {
			continue
		}
		price, err := strict.ParseDecimal(text)
		require.NoError(t, err)
		for _, zone := range zones {
			made.Offerings = append(made.Offerings, api.InstanceOffering{Zone: zone, CapacityType: capacityType, Price: strict.Price(price)})
		}
	}
	w.Catalog.Spec.Types = append(w.Catalog.Spec.Types, made)
	return ""
}

// pool NAME [ANNOTATION=VALUE…], with the spec of the NodePool below it; again, it is edited.
func (w *World) pool(t *testing.T, args []string) string {
	s := split(args)
	p := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.names[0], Annotations: s.settings}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(s.block), &p.Spec))
	w.Pools = slices.DeleteFunc(w.Pools, func(o *api.NodePool) bool { return o.Name == p.Name })
	w.Pools = append(w.Pools, p)
	w.Options[p.Name] = capacity.PoolOptions{Zones: time.LoadLocation}
	return ""
}

// node NAME [in POOL] type=T [zone=a] [capacity=spot] [age=2h] [notready] [deleting], with what else is to be said of
// it below; a node without a pool is not managed, a label without a value is none. Its type says how large it is.
func (w *World) node(t *testing.T, args []string) string {
	s := split(args)
	managed := s.has("in")
	age, err := time.ParseDuration(s.take("age", "2h"))
	require.NoError(t, err)
	created := metav1.NewTime(w.Now.Add(-age))
	kind := s.take("type", "")
	n := &api.NodeState{
		Name: s.names[0], Managed: managed, Ready: !s.has("notready"), Initialized: true, Deleting: s.has("deleting"), Created: created, Since: created,
		LastPodEvent: created,
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: kind, corev1.LabelTopologyZone: s.take("zone", "a"), corev1.LabelArchStable: "amd64",
			api.LabelCapacityType: s.take("capacity", api.CapacityOnDemand), corev1.LabelHostname: s.names[0], corev1.LabelOSStable: "linux",
		},
	}
	if managed {
		n.Labels[api.LabelNodePool] = s.names[1]
	}
	maps.Copy(n.Labels, s.settings)
	maps.DeleteFunc(n.Labels, func(_, value string) bool { return value == "" })
	if at := slices.IndexFunc(w.Catalog.Spec.Types, func(t api.InstanceType) bool { return t.Name == kind }); at >= 0 {
		n.Capacity = amounts(t, string(w.Catalog.Spec.Types[at].CPU), string(w.Catalog.Spec.Types[at].Memory))
		n.Capacity["pods"] = 110
		n.Allocatable = api.Amounts{"cpu": n.Capacity["cpu"] - 100, "memory": n.Capacity["memory"] - 10<<20, "pods": 110}
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(s.block), n))
	w.Nodes = slices.DeleteFunc(w.Nodes, func(o *api.NodeState) bool { return o.Name == n.Name })
	w.Nodes = append(w.Nodes, n)
	return ""
}

// pod NAME [on NODE] [cpu=500m] [memory=256Mi] [app=A] [owner=ReplicaSet], with what else is to be said of it below;
// one without a node waits for one. A pod without app=A has its name for one.
func (w *World) pod(t *testing.T, args []string) string {
	s := split(args)
	on := s.has("on")
	p := api.PodState{
		Namespace: "default", Name: s.names[0], Owner: s.take("owner", "ReplicaSet"), Phase: "Running",
		Labels: map[string]string{"app": s.take("app", s.names[0])}, Requests: s.amounts(t, "500m", "256Mi"),
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(s.block), &p))
	if !on {
		p.Phase = "Pending"
		w.Pending = append(w.Pending, p)
		return ""
	}
	at := slices.IndexFunc(w.Nodes, func(n *api.NodeState) bool { return n.Name == s.names[1] })
	require.GreaterOrEqual(t, at, 0, "there is no node %s", s.names[1])
	w.Nodes[at].Pods = append(w.Nodes[at].Pods, p)
	return ""
}

// daemonSet NAME [cpu=100m] [memory=64Mi] is a pod on every node there will be.
func (w *World) daemonSet(t *testing.T, args []string) string {
	s := split(args)
	p := api.PodState{Namespace: "kube-system", Name: s.names[0], Owner: "DaemonSet", Phase: "Running", Requests: s.amounts(t, "100m", "64Mi")}
	require.NoError(t, yaml.UnmarshalStrict([]byte(s.block), &p))
	w.Daemons = append(w.Daemons, api.DaemonSetState{Namespace: p.Namespace, Name: p.Name, Pod: p})
	return ""
}

// podBudget NAME app=A allowed=N [maxUnavailable=1].
func (w *World) podBudget(t *testing.T, args []string) string {
	s := split(args)
	allowed, err := strconv.ParseInt(s.take("allowed", ""), 10, 32)
	require.NoError(t, err)
	unavailable := intstr.Parse(s.take("maxUnavailable", "1"))
	w.Pdbs = append(w.Pdbs, api.PodBudget{
		Namespace: "default", Name: s.names[0], Allowed: int32(allowed), MaxUnavailable: &unavailable,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": s.take("app", "")}},
	})
	return ""
}

// beBusy NODE…: a disruption that runs removes them.
func (w *World) beBusy(_ *testing.T, args []string) string {
	for _, name := range args {
		w.busy[name] = true
	}
	return ""
}

// spotToSpot lets spot be replaced by cheaper spot, as a hub may be configured.
func (w *World) spotToSpot(*testing.T, []string) string {
	w.rules.SpotToSpot = true
	return ""
}

// tick DURATION.
func (w *World) tick(t *testing.T, args []string) string {
	d, err := time.ParseDuration(args[0])
	require.NoError(t, err)
	w.Now = w.Now.Add(d)
	return ""
}
