package disruptor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// The largest record that Step makes can be written: pods on their way up to where nothing more begins,
// with one command of 101 nodes with 250 pods each on top, and beside them ten of 200 nodes that have ended;
// and so can, without that command, one that tells of 2,000 pods which are killed.
func TestLargestRecordIsWritten(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.stop()
	r := rand.New(rand.NewPCG(1, 4))
	node := func() string {
		return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", r.IntN(256), r.IntN(256), r.IntN(256))
	}
	with := func(id string, nodes, pods int) api.Disruption {
		d := api.Disruption{ID: id, Phase: api.PhaseDraining, Method: "multi", Reason: api.ReasonUnderutilized, UIDs: map[string]string{}}
		for range nodes {
			name := node()
			d.Nodes = append(d.Nodes, name)
			d.UIDs[name] = fmt.Sprintf("%08x-%08x-%012x", r.Uint32(), r.Uint32(), r.Int64N(1<<48))
			for range pods {
				pod := fmt.Sprintf("team-%d/service-%d-%010x-%05x", r.IntN(20), r.IntN(200), r.Int64N(1<<40), r.IntN(1<<20))
				d.Moves = append(d.Moves, api.PodMove{Pod: pod, From: name, To: node()})
			}
		}
		return d
	}
	record := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: "berlin", Disruptions: []api.Disruption{
		with("running", 100, 100), with("largest", 101, 250),
	}}
	for i := range 10 {
		d := with(fmt.Sprint("ended-", i), 200, 1)
		d.Phase, d.Ended = api.PhaseDone, metav1.NewTime(elsewhen.Now())
		record.Disruptions = append(record.Disruptions, d)
	}
	h.put(subjects.Disruptions.Key("berlin"), record)
	drifted := with("drifted", 1, 0)
	for range 2000 {
		pod := fmt.Sprintf("team-%d/service-%d-%010x-%05x", r.IntN(20), r.IntN(200), r.Int64N(1<<40), r.IntN(1<<20))
		drifted.Killed = append(drifted.Killed, api.KilledPod{
			PodMove: api.PodMove{Pod: pod, From: drifted.Nodes[0], To: node()}, At: metav1.NewTime(elsewhen.Now()), Code: "PDBBlocks", About: pod,
			Message: "PodDisruptionBudget " + pod + " allows no eviction (minAvailable 1); once it does, the pod is evicted",
		})
	}
	record.Disruptions[1] = drifted
	h.put(subjects.Disruptions.Key("berlin"), record)
}
