package tests

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/tests/elsewhen"
)

// everywhere places a namespace with two objects on every member at once.
const everywhere = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {a: "%d"}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {rollingUpdate: {maxUnavailable: 100%%, maxSurge: 100%%}}
`

// scaled starts a fleet whose agents connect over TCP and whose members are ready at once, and waits
// until all of them are.
func scaled(t testing.TB, members int) *slice {
	t.Helper()
	var names []string
	for i := range members {
		names = append(names, fmt.Sprintf("member-%03d", i))
	}
	s := newSlice(t, names...)
	bustest.EventuallyIn(t, 2*time.Minute, func() error {
		ready, err := s.ready()
		if err == nil && ready != members {
			err = fmt.Errorf("%d members are ready", ready)
		}
		return err
	})
	return s
}

// arrives waits until every member is available with a snapshot, and returns how long that took since
// start.
func (s *slice) arrives(members int, snapshot string, start time.Time) time.Duration {
	s.t.Helper()
	var took time.Duration
	bustest.EventuallyIn(s.t, 2*time.Minute, func() error {
		took = elsewhen.Since(start)
		status, err := s.status("web")
		if err != nil {
			return err
		}
		if status.Counts.Available != members || status.Counts.Current != members || status.ObservedSnapshot != snapshot {
			return fmt.Errorf("%+v", status.Counts)
		}
		return nil
	})
	return took
}

// One hub with 200 agents over TCP: an apply, and a change of it, reach every one of them. BenchmarkApply
// measures how soon.
func TestTwoHundredAgents(t *testing.T) {
	const members = 200
	s := scaled(t, members)
	for i := range 2 {
		start := elsewhen.Now()
		s.apply(fmt.Sprintf(everywhere, i))
		took := s.arrives(members, fmt.Sprint(i+1), start)
		t.Logf("apply %d to the last result on %d members: %s", i+1, members, took)
	}
}

// BenchmarkApply is the time from an apply to the last result of 200 agents over TCP, and what it takes of the
// processors, of hub, servers and agents together.
func BenchmarkApply(b *testing.B) {
	const members = 200
	s := scaled(b, members)
	s.rounds(b, members, func(round int) { s.apply(fmt.Sprintf(everywhere, round)) })
}

// BenchmarkApplyLarge is BenchmarkApply of 100 objects of 64 KiB, on 20 agents.
func BenchmarkApplyLarge(b *testing.B) {
	const members = 20
	s := scaled(b, members)
	s.rounds(b, members, func(round int) { s.apply(fmt.Sprintf(everywhere, round) + large(round)) })
}

// settles is for how long agents that have begun read what the servers have of their results, beside what is measured.
const settles = 6 * time.Second

// rounds applies and waits for the last result, again and again.
func (s *slice) rounds(b *testing.B, members int, apply func(round int)) {
	b.Helper()
	round := 0
	one := func() {
		round++
		start := elsewhen.Now()
		apply(round)
		s.arrives(members, fmt.Sprint(round), start)
	}
	for begun := elsewhen.Now(); elsewhen.Since(begun) < settles; {
		one()
	}
	before, first := processor(b), round
	for b.Loop() {
		one()
	}
	b.ReportMetric((processor(b)-before).Seconds()/float64(round-first), "cpu-s/op")
}

// large are 100 objects of 64 KiB of lines, all of which differ from those of another round.
func large(round int) string {
	var documents strings.Builder
	for i := range 100 {
		fmt.Fprintf(&documents, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: large-%d, namespace: shop}\ndata:\n  lines: |\n", i)
		for line := range 1024 {
			fmt.Fprintf(&documents, "    key-%d-%d-%d = value %x of a setting with a long name\n", round, i, line, i*line*7919)
		}
	}
	return documents.String()
}

// processor is what the process took of the processors so far.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
