package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/tests/elsewhen"
)

// provisions are a catalog and a pool for all members.
const provisions = `
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: all}
spec: {types: [{name: d4, cpu: 4, memory: 16Gi, offerings: [{zone: z-a, capacityType: on-demand, price: 0.2}]}]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: workers}
spec:
  template: {spec: {expireAfter: Never, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]}}
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
`

// worker is a node of that pool with pods.
func worker(name string, pods ...api.PodState) api.NodeState {
	created := metav1.NewTime(elsewhen.Now().Add(-2 * time.Hour).Truncate(time.Second))
	return api.NodeState{
		Name: name, UID: name, Managed: true, Ready: true, Initialized: true, Created: created, Since: created, Pods: pods,
		Labels: map[string]string{
			api.LabelNodePool: "workers", corev1.LabelInstanceTypeStable: "d4", corev1.LabelTopologyZone: "z-a",
			api.LabelCapacityType: api.CapacityOnDemand, corev1.LabelHostname: name,
		},
		Capacity:    api.Amounts{"cpu": 4000, "memory": 16 << 30, "pods": 110},
		Allocatable: api.Amounts{"cpu": 3900, "memory": 16 << 30, "pods": 110},
	}
}

// fitsNowhere is a pod that is compared with all there is.
func fitsNowhere(i int) api.PodState {
	return api.PodState{
		Namespace: "shop", Name: fmt.Sprint("w", i), Owner: "ReplicaSet", Phase: "Pending",
		Requests: api.Amounts{"cpu": int64(100 + i)}, NodeSelector: map[string]string{"none": "x"},
	}
}

// states has the attacker tell of nodes whose decision takes long: thousands of pods wait that fit nowhere, and no pod
// fits on another node, so that all are compared with all for each node.
func (g *ground) states(nodes, waiting int) {
	g.Helper()
	stored := func(subject string, pack func([]byte) ([]byte, error), value any) {
		body, err := json.Marshal(value)
		require.NoError(g, err)
		body, err = pack(body)
		require.NoError(g, err)
		require.NoError(g, g.mallory.Publish(subject, body))
	}
	told := api.NodeInventory{
		Header: api.NewHeader(api.KindNodeInventory), Member: attacker, Boot: marker, Sequence: 1, At: metav1.NewTime(elsewhen.Now()), Nodes: map[string]uint64{},
	}
	for i := range waiting {
		told.Pending = append(told.Pending, fitsNowhere(i))
	}
	for i := range nodes {
		n := worker(fmt.Sprint("n", i), api.PodState{
			Namespace: "shop", Name: fmt.Sprint("p", i), Owner: "ReplicaSet", Phase: "Running", Requests: api.Amounts{"cpu": int64(2500 + i%1000)},
		})
		told.Nodes[n.Name] = 1
		stored(g.names.NodeEvent(attacker, n.Name), bus.NodeBounds.Pack, api.NodeEvent{
			Header: api.NewHeader(api.KindNodeEvent), Member: attacker, Boot: marker, Sequence: 1, At: told.At, Node: n,
		})
	}
	stored(g.names.NodeInventory(attacker), bus.InventoryBounds.Pack, told)
	require.NoError(g, g.mallory.Flush())
}

// A member states nodes that take minutes to decide about, and somebody asks about them without end: whoever asks about
// the fleet, keeps the member out or stops the hub waits for none of it (H38).
func TestNobodyWaitsForADecisionWithoutEnd(t *testing.T) {
	g := newGround(t, func(o *dev.Options) {
		o.Hub.Policy.Disruption = configs.DefaultHub().Disruption
		o.Hub.Policy.Disruption.Interval = configs.Duration(10 * time.Millisecond)
	})
	documents, err := configs.Parse("pool", []byte(provisions))
	require.NoError(t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	g.ask(api.VerbApply, request)
	g.states(2_000, 4_000)
	ask := func(verb string, question, answer any) error {
		return bus.Request(bustest.Context(t), g.fleet.Client, verb, question, answer, bus.RequestOptions{Total: 20 * time.Second})
	}
	bustest.EventuallyIn(t, time.Minute, func() error {
		var nodes json.RawMessage
		err := bus.Request(bustest.Context(t), g.fleet.Client, api.VerbNodes, api.NodesRequest{Member: attacker, Limit: 1}, &nodes, bus.RequestOptions{Total: 6 * time.Second})
		if said := fmt.Sprintf("%s %v", nodes, err); !strings.Contains(said, "is being decided about, which takes long") && !strings.Contains(said, "compares more than is followed") {
			return fmt.Errorf("no decision takes long: %s", said)
		}
		return nil
	})
	asked := make(chan error, 3) // of the four requests that run of one person
	for range cap(asked) {
		go func() { asked <- ask(api.VerbPlanNodes, api.PlanNodesRequest{Member: attacker}, nil) }()
	}
	require.NoError(t, ask(api.VerbStatus, nil, nil))
	require.NoError(t, ask(api.VerbNodes, api.NodesRequest{}, nil))
	require.NoError(t, ask(api.VerbDisruptions, api.DisruptionsRequest{Member: attacker}, nil))
	g.lives()
	require.NoError(t, ask(api.VerbMemberRevoke, api.MemberRevokeRequest{Name: attacker}, nil))
	require.NoError(t, ask(api.VerbStatus, nil, nil))
	for range cap(asked) {
		if err := <-asked; err != nil {
			_, answered := errors.AsType[*api.Failure](err)
			require.True(t, answered, "a plan is answered, if only with why there is none: %v", err)
		}
	}
	stopped := make(chan struct{})
	go func() { g.fleet.Hub.Stop(); close(stopped) }()
	bustest.Within(t, stopped, "the hub stops while it decides")
}
