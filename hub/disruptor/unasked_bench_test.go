package disruptor

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// BenchmarkUnasked is what a hub without NodePools spends on one state of a node that its agent tells anew, as
// stored: ten pods, which are stored compressed, and one pod, which is not.
func BenchmarkUnasked(b *testing.B) {
	for _, pods := range []int{1, 10, 60} {
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			h := newHarness(b, Options{}, "berlin")
			h.stop()
			n := aNode("n1", "", 8)
			for i := range pods {
				n.Pods = append(n.Pods, aPod(i))
			}
			bodies := make([][]byte, 1000)
			for i := range bodies {
				var err error
				bodies[i], err = bus.NodeBounds.Pack(toldAnew(b, n, fmt.Sprint("b", i)))
				require.NoError(b, err)
			}
			h.inventory("berlin")
			b.SetBytes(int64(len(bodies[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.stored("n1", bodies[i%1000])
				_, err := h.room.pass(b.Context(), "berlin")
				require.NoError(b, err)
			}
		})
	}
}

func aPod(i int) api.PodState {
	at := metav1.NewTime(elsewhen.Now())
	return api.PodState{
		Namespace: fmt.Sprintf("team-%d", i), Name: fmt.Sprintf("web-7d9c5b8f%02d-%05x", i, i), UID: fmt.Sprintf("7b1c1f0e-2f6c-4c9e-9a53-%012x", i),
		Owner: "ReplicaSet", OwnerName: fmt.Sprintf("web-7d9c5b8f%02d", i), Phase: "Running", Created: at, Started: at,
		Labels: map[string]string{"app": "web"}, Requests: api.Amounts{"cpu": 100, "memory": 1 << 28},
	}
}
