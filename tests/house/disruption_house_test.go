package house

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
)

// quickNodes lets machines come and go at once.
func quickNodes(n *configs.MemberNodes) {
	soon := configs.Duration(50 * time.Millisecond)
	n.Interval, n.LeastDrain = soon, soon
	n.Memory = configs.NodesMemory{LaunchTime: soon, ReadyAfter: soon, DeleteTime: soon}
}

// nodeHouse is a house with one member whose nodes the hub disrupts.
type nodeHouse struct {
	*house
	t      *testing.T
	member *memory.Member
	// mostGrace is how long its pods take to end.
	mostGrace time.Duration
}

const city = "berlin"

// kinds are the types that the catalog of these tests has: cores, and the price of an hour on demand; spot
// costs a third.
var kinds = map[string]struct {
	cores int64
	price float64
}{"d2": {2, 0.1}, "d4": {4, 0.2}, "d8": {8, 0.4}}

// newNodeHouse starts a hub, a member with nodes and the agent of it.
func newNodeHouse(t *testing.T, nodes ...target.Node) *nodeHouse {
	t.Helper()
	return newNodeHouseAt(t, 100*time.Millisecond, nodes...)
}

// newNodeHouseAt has a hub that lets an interval pass between two decisions that changes of the member or
// its pools call for.
func newNodeHouseAt(t *testing.T, interval time.Duration, nodes ...target.Node) *nodeHouse {
	t.Helper()
	return newNodeHouseOf(t, interval, 100*time.Millisecond, nodes...)
}

// newNodeHouseOf has a member whose pods take so long to end.
func newNodeHouseOf(t *testing.T, interval, mostGrace time.Duration, nodes ...target.Node) *nodeHouse {
	t.Helper()
	h := &nodeHouse{t: t, mostGrace: mostGrace}
	config := filepath.Join(t.TempDir(), "hub.yaml")
	require.NoError(t, os.WriteFile(config, []byte(fmt.Sprintf("disruption: {validationWait: 200ms, interval: %s}\n", interval)), 0o600))
	h.house = newHouseWith(t, []string{"--config", config})
	h.inhabit(nodes)
	return h
}

// inhabit makes the member with its agent, and the catalog.
func (h *nodeHouse) inhabit(nodes []target.Node) {
	h.t.Helper()
	h.member = memory.New(memory.Options{
		Clock: memory.Running(h.now), Name: city, KubernetesVersion: "v1.29.2", Nodes: nodes, ReadyAfter: 10 * time.Millisecond, MostGrace: h.mostGrace, ScheduleAfter: 50 * time.Millisecond,
	})
	h.members[city] = h.member
	h.startAgent(h.t, city)
	h.apply(h.t, catalog())
}

func catalog() string {
	var b strings.Builder
	b.WriteString("apiVersion: flotilla.io/v1alpha1\nkind: InstanceCatalog\nmetadata: {name: all}\nspec:\n  types:\n")
	for _, name := range []string{"d2", "d4", "d8"} {
		k := kinds[name]
		fmt.Fprintf(&b, "  - name: %s\n    cpu: %d\n    memory: %dGi\n    offerings:\n", name, k.cores, 4*k.cores)
		fmt.Fprintf(&b, "    - {zone: z-a, capacityType: on-demand, price: %v}\n    - {zone: z-a, capacityType: spot, price: %.4f}\n", k.price, k.price/3)
	}
	return b.String()
}

// machine is a managed node of pool general.
func machine(t *testing.T, name, kind string, change ...func(*target.Node)) target.Node {
	t.Helper()
	cores := kinds[kind].cores
	n, err := target.NewNode(name, fmt.Sprint(cores), fmt.Sprintf("%dGi", 4*cores))
	require.NoError(t, err)
	n.NodePool, n.InstanceType, n.Zone, n.CapacityType = "general", kind, "z-a", api.CapacityOnDemand
	n.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(1000*cores-100, resource.DecimalSI), corev1.ResourcePods: resource.MustParse("110"),
		corev1.ResourceMemory: *resource.NewQuantity(4*cores<<30-10<<20, resource.BinarySI),
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

// pool applies NodePool general with these lines under spec, once the hub knows which pods are where.
func (h *nodeHouse) pool(spec string) {
	h.t.Helper()
	h.eventually(func() error {
		var answer api.NodesResponse
		if err := h.request(h.t, api.VerbNodes, api.NodesRequest{Member: city}, &answer); err != nil {
			return err
		}
		known, real := map[string]int{}, map[string]int{}
		for i := range answer.Items {
			known[answer.Items[i].Name] = answer.Items[i].Status.Pods
		}
		survey := h.survey()
		for _, n := range survey.Nodes {
			real[n.Name] = 0
		}
		for _, p := range survey.Pods {
			real[p.Spec.NodeName]++
		}
		if !maps.Equal(known, real) {
			return fmt.Errorf("the hub knows of pods %v, there are %v", known, real)
		}
		return nil
	})
	h.apply(h.t, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\nspec:\n"+spec+"\n")
}

const anyMachine = `  template: {spec: {expireAfter: Never, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]}}`

// whole lets all nodes of the pool go at once.
const whole = anyMachine + "\n  disruption: {consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}"

// runs plants a Deployment whose pods ask for so much CPU, each, and waits until they run. With node set
// they must be there.
func (h *nodeHouse) runs(name string, replicas int64, cpu, node string) {
	h.t.Helper()
	spec := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "web", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}}
	if node != "" {
		spec["nodeSelector"] = map[string]any{"kubernetes.io/hostname": node}
	}
	labels := map[string]any{"app": name}
	h.member.Plant(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec},
		},
	}})
	h.eventually(func() error {
		if n := h.running(name); n != int(replicas) {
			return fmt.Errorf("%d of %d pods of %s run", n, replicas, name)
		}
		return nil
	})
}

func (h *nodeHouse) survey() *target.Survey {
	h.t.Helper()
	s, err := h.member.Survey(h.t.Context())
	require.NoError(h.t, err)
	return s
}

// running counts pods of an app that have a node and are not on their way out.
func (h *nodeHouse) running(app string) int {
	n := 0
	for _, at := range h.places(app) {
		n += at
	}
	return n
}

// places are the pods of an app by node.
func (h *nodeHouse) places(app string) map[string]int {
	out := map[string]int{}
	for _, p := range h.survey().Pods {
		if p.Labels["app"] == app && p.Spec.NodeName != "" && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			out[p.Spec.NodeName]++
		}
	}
	return out
}

// nodes are the names of the member's nodes, sorted.
func (h *nodeHouse) nodes() []string {
	out := []string{}
	for _, n := range h.survey().Nodes {
		out = append(out, n.Name)
	}
	sort.Strings(out)
	return out
}

func (h *nodeHouse) node(name string) *corev1.Node {
	for _, n := range h.survey().Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// tainted are the nodes that carry the taint of a disruption.
func (h *nodeHouse) tainted() []string {
	out := []string{}
	for _, n := range h.survey().Nodes {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintDisrupted }) {
			out = append(out, n.Name)
		}
	}
	sort.Strings(out)
	return out
}

// flotilla runs the command line, which ends with a code, and returns what it prints.
func (h *nodeHouse) flotilla(code int, args ...string) string {
	h.t.Helper()
	out, ended := h.house.flotilla(h.t, args...)
	require.Equal(h.t, code, ended, out)
	return out
}

func (h *nodeHouse) eventually(check func() error) {
	h.t.Helper()
	bustest.EventuallyIn(h.t, patience, check)
}

// disruptions are those of the member's record, oldest first.
func (h *nodeHouse) disruptions() ([]api.Disruption, error) {
	var answer api.DisruptionsResponse
	if err := h.request(h.t, api.VerbDisruptions, api.DisruptionsRequest{Member: city}, &answer); err != nil {
		return nil, err
	}
	var out []api.Disruption
	for i := range answer.Items {
		out = append(out, answer.Items[i].Status)
	}
	return out, nil
}

// line is a disruption on one line: what ended how, or where it stands.
func line(d *api.Disruption) string {
	return fmt.Sprintf("%s %s %s %v", d.Method, d.Reason, d.Phase, d.Nodes)
}

// until waits until the disruptions are these, on one line each.
func (h *nodeHouse) until(want ...string) []api.Disruption {
	h.t.Helper()
	var found []api.Disruption
	h.eventually(func() error {
		list, err := h.disruptions()
		if err != nil {
			return err
		}
		var got []string
		for i := range list {
			got = append(got, line(&list[i]))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the disruptions are %q, wanted %q; %v", got, want, list)
		}
		found = list
		return nil
	})
	return found
}

// has waits until the member has these nodes.
func (h *nodeHouse) has(names ...string) {
	h.t.Helper()
	h.eventually(func() error {
		if got := h.nodes(); !slices.Equal(got, names) {
			return fmt.Errorf("the nodes are %v, wanted %v", got, names)
		}
		return nil
	})
}
