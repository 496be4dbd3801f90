package orchestration_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// recordLimit is what one record may take when it is packed (bus.MaxValue).
const recordLimit = 900 << 10

func packed(t *testing.T, v any) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	require.NoError(t, json.NewEncoder(w).Encode(v))
	require.NoError(t, w.Close())
	return b.Len()
}

// word is n letters that do not compress well.
func word(r *rand.Rand, n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[r.IntN(len(letters))]
	}
	return string(out)
}

// largeNode has names as they are met, and pods that fit anywhere.
func largeNode(r *rand.Rand, pods int) *api.NodeState {
	n := simulatetest.Node(fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", r.IntN(256), r.IntN(256), r.IntN(256)), "d2", "z-a", "a")
	n.UID = fmt.Sprintf("%08x-%04x-%04x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<16), r.Int64N(1<<48))
	for range pods {
		p := simulatetest.Pod(fmt.Sprintf("service-%d-%s-%s", r.IntN(200), word(r, 10), word(r, 5)), 10, simulatetest.Labelled("web"))
		p.Namespace, p.Requests = fmt.Sprint("team-", r.IntN(20)), api.Amounts{"cpu": 10}
		n.Pods = append(n.Pods, p)
	}
	return n
}

// On a member where ten commands of 101 nodes with 60 pods each could run at once, they run as far as the
// record holds them; the others wait, and go on as pods arrive. However much has ended, the record fits.
func TestRecordStaysSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	s := newStepper(nil, simulatetest.Pool("a"), simulatetest.Pool("b", func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }))
	for range 10 * 101 {
		s.f.Nodes = append(s.f.Nodes, largeNode(r, 60))
	}
	sink := simulatetest.Node("sink", "d16", "z-a", "b", simulatetest.Pod("own", 10))
	sink.Allocatable = api.Amounts{"cpu": 1 << 40, "pods": 1 << 20}
	s.f.Nodes = append(s.f.Nodes, sink)
	s.in.Wait = 10 * time.Second
	most, done := 0, 0
	for at := time.Duration(0); done < 8; at += 5 * time.Second {
		require.Less(t, at, 10*time.Minute, "it does not go on: %s", s.in.Record.Stale)
		out := s.step(at)
		require.Zero(t, out.Failed, "what waits is not given up: %v", out.Events)
		require.Less(t, packed(t, s.in.Record), recordLimit)
		running := 0
		for i := range s.in.Record.Disruptions {
			d := &s.in.Record.Disruptions[i]
			if d.Running() && d.Decided.Time.Before(s.now) {
				s.results[d.ID] = &api.DisruptionResult{ID: d.ID, Phase: api.PhaseDone, Gone: d.Nodes}
				for _, n := range d.Nodes {
					s.remove(n)
				}
			}
			if d.Running() {
				running++
			}
		}
		most = max(most, running)
		done += len(out.Ended)
	}
	require.Equal(t, 2, most)
	s.step(time.Hour)
	require.Less(t, packed(t, s.in.Record), recordLimit/10)
}

// Of what has ended the record keeps where pods went as long as they may be on their way, and for people
// as far as that is little; what replacements are made from goes at once.
func TestEndedDisruptionsLoseTheirMoves(t *testing.T) {
	s := newStepper(nil, simulatetest.Pool("b", func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }))
	moves := func(n int) []api.PodMove { return make([]api.PodMove, n) }
	ended := func(id string, n int, at time.Time) api.Disruption {
		return api.Disruption{
			ID: id, Phase: api.PhaseDone, Nodes: []string{id}, Moves: moves(n), Ended: metav1.NewTime(at),
			Replacements: []api.NodeReplacement{{Name: id, InstanceTypes: []string{"d2"}, Types: []api.LaunchType{{Name: "d2"}}, Requests: api.Amounts{"cpu": 1}}},
		}
	}
	aborted := ended("aborted", orchestration.KeptMoves+1, simulatetest.Now)
	aborted.Phase = api.PhaseAborted
	s.in.Record = api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Disruptions: []api.Disruption{
		ended("old", 1, simulatetest.Now.Add(-time.Hour)), aborted, ended("large", orchestration.KeptMoves, simulatetest.Now.Add(-time.Second)), ended("newest", 2, simulatetest.Now.Add(-time.Second)),
	}}
	before := orchestration.CloneRecord(&s.in.Record, "")
	lengths := func() (out []int) {
		for i := range s.in.Record.Disruptions {
			out = append(out, len(s.in.Record.Disruptions[i].Moves))
		}
		return out
	}
	s.step(0)
	require.Equal(t, []int{0, 0, orchestration.KeptMoves, 2}, lengths())
	require.Equal(t, []api.NodeReplacement{{Name: "large", InstanceTypes: []string{"d2"}}}, s.in.Record.Disruptions[2].Replacements)
	require.NotEmpty(t, before.Disruptions[2].Replacements[0].Types, "the input is not changed")
	s.step(simulate.NominationHold)
	require.Equal(t, []int{0, 0, 0, 2}, lengths())
	require.False(t, s.step(simulate.NominationHold+time.Second).Changed)

	for i := range s.in.Record.Disruptions {
		s.in.Record.Disruptions[i].Nodes = make([]string, orchestration.KeptNodes/2)
	}
	require.Equal(t, []string{"aborted", "old"}, s.step(time.Minute).Dropped)
}

// One node that does not drain does not hold up all others for the pods of nodes that are gone.
func TestManyPodsOfOneStuckDrain(t *testing.T) {
	s := newStepper([]*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n3", "d4", "z-a", "a")}, simulatetest.Pool("a"))
	d := api.Disruption{ID: "multi", Method: disruption.MethodMulti, Phase: api.PhaseDraining, Nodes: []string{"n1", "n2"}, Decided: metav1.NewTime(simulatetest.Now)}
	for range orchestration.MostMoves {
		d.Moves = append(d.Moves, api.PodMove{Pod: "default/x", From: "n1", To: "n9"})
	}
	d.Moves = append(d.Moves, api.PodMove{Pod: "default/p", From: "n2", To: "n9"})
	s.in.Record.Disruptions = []api.Disruption{d}
	s.step(0)
	require.Equal(t, "10001 pods are on their way to other nodes: what runs is finished first", s.in.Record.Stale)
	s.remove("n1")
	require.Len(t, s.step(time.Second).Waiting, 1)
	require.Equal(t, d.Moves[orchestration.MostMoves:], s.one().Moves)
	require.Equal(t, "default/x", d.Moves[0].Pod, "the input is not changed")
	require.Empty(t, s.in.Record.Stale)
}

// A member whose agent was told to leave its nodes alone is given back, whatever ran there or waited.
func TestStepDeclined(t *testing.T) {
	s := replaceable()
	s.launching(t)
	s.f.Nodes, s.in.Declined = nil, true
	s.f.Change = func(st *simulate.State) { st.Stale = "nodes.enabled is false" }
	s.in.Waiting = []orchestration.Waiting{{disruption.Command{Method: disruption.MethodEmpty, Nodes: []string{"n2"}}, s.now}}
	out := s.step(20 * time.Second)
	require.Equal(t, api.PhaseAborted, s.one().Phase)
	require.Equal(t, "its agent was told to leave the nodes of the member alone", s.one().Message)
	require.Equal(t, []string{s.one().ID}, out.Ended)
	require.True(t, out.ReleaseLock)
	require.Empty(t, out.Waiting)
	require.Equal(t, []string{"DisruptionFailed", "ConsolidationRejected"}, reasonsOf(out.Events))
	require.False(t, s.step(21*time.Second).Changed)

	s = replaceable()
	s.launching(t)
	s.step(s.one().Deadline.Sub(simulatetest.Now))
	require.True(t, s.one().Ended.IsZero())
	s.in.Declined = true
	require.True(t, s.step(time.Hour).ReleaseLock, "nobody is left who would confirm")
}

// What waits for new nodes of a pool that is being deleted is given up; then its nodes go.
func TestStepPoolDeletedWhileReplacing(t *testing.T) {
	s := replaceable()
	s.launching(t)
	s.f.Options = map[string]capacity.PoolOptions{"a": {Deleting: true}}
	s.step(16 * time.Second)
	require.Equal(t, "single n1 Aborted", s.text())
	require.Equal(t, "NodePool a, which its replacements are of, is being deleted", s.one().Message)
	s.say(api.PhaseAborted, nil)
	s.step(17 * time.Second)
	require.Equal(t, "single n1 Aborted; manual n1 Draining", s.text())
}

// text is what the record holds, in short.
func (s *stepper) text() string {
	var parts []string
	for i := range s.in.Record.Disruptions {
		d := &s.in.Record.Disruptions[i]
		parts = append(parts, fmt.Sprintf("%s %s %s", d.Method, strings.Join(d.Nodes, ","), d.Phase))
	}
	return strings.Join(parts, "; ")
}

// Where pods of a disruption went says nothing of pods of the same names once they had the time to arrive.
func TestStepKeepsPromisesForAWhile(t *testing.T) {
	s := newStepper(nil)
	s.in.Record.Disruptions = []api.Disruption{{
		ID: "d", Phase: api.PhaseDone, Nodes: []string{"n1"}, Ended: metav1.NewTime(simulatetest.Now), Moves: []api.PodMove{{Pod: "default/db-0", From: "n1", To: "n2"}},
	}}
	promised := func(after time.Duration) map[string]string {
		in := s.in
		in.State = *s.f.State()
		in.State.Now = simulatetest.Now.Add(after)
		return orchestration.StateOf(in).Promised
	}
	require.Equal(t, map[string]string{"default/db-0": "n2"}, promised(simulate.NominationHold-time.Second))
	require.Empty(t, promised(simulate.NominationHold))
}
