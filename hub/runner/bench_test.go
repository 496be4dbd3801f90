package runner

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

const (
	benchRuns    = 50
	benchMembers = 20 // of each run
	benchAtOnce  = 5
)

// BenchmarkRuns measures what 50 runs cost that are active at once: an iteration is a minute of them. In
// it each run takes in the progress of five members every five seconds, one of them ends and the next
// one starts. The metric counts everything in the process, the broker and the agents' side included.
func BenchmarkRuns(b *testing.B) {
	y := newBenchHarness(b)
	began := processTime(b)
	minutes := 0
	for b.Loop() {
		for round := range int(time.Minute / progressEvery) {
			y.minute(minutes, round)
		}
		y.end()
		minutes++
	}
	spent := processTime(b) - began
	b.ReportMetric(100*spent.Seconds()/(float64(minutes)*time.Minute.Seconds()), "core-%")
}

func processTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

type benchHarness struct {
	b     *testing.B
	store *store.Store
	room  *Runner
	runs  []string
}

func newBenchHarness(b *testing.B) *benchHarness {
	y := &benchHarness{b: b, store: bustest.Start(b).Lead(b)}
	for i := range benchRuns {
		run := fmt.Sprintf("run-%02d", i)
		y.runs = append(y.runs, run)
		ops := []store.Op{store.Put(subjects.RunSpecs.Key(run), benchSpec(api.KindUpdateRun, run, fmt.Sprintf(
			`{"spec":{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"strategy":{"stages":[{"name":"all","maxConcurrency":"%d",
			"memberSelector":{"byLabel":"run=%s"}}]}}}`, benchAtOnce, run)), 0)}
		for j := range benchMembers {
			member := fmt.Sprintf("%s-m%02d", run, j)
			ops = append(ops,
				store.Put(subjects.MemberSpecs.Key(member), benchSpec(api.KindMemberCluster, member, `{"metadata":{"labels":{"run":"`+run+`"}}}`), 0),
				store.Put(subjects.Members.Key(member), api.MemberRecord{Name: member, UID: "uid-" + member, State: api.MemberReady}, 0))
			y.publish(y.store.Conn.Fleet.Inventory(member), api.MemberInventory{
				Header: api.NewHeader(api.KindInventory), ControlPlaneVersion: "1.29.2",
				NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: "1.29.2"}},
			})
		}
		_, err := y.store.Writer.Write(bustest.Context(b), ops...)
		require.NoError(b, err)
	}
	bustest.Eventually(b, func() error {
		if known := len(y.store.Inventories.Keys("")); known != benchRuns*benchMembers {
			return fmt.Errorf("%d inventories are known", known)
		}
		return nil
	})
	y.room = New(y.store, Options{Log: y.store.Conn.Log})
	for _, run := range y.runs {
		y.ask(api.VerbRunStart, api.RunRequest{Run: run})
	}
	return y
}

func benchSpec(kind, name, body string) api.Spec {
	return api.Spec{Object: api.ObjectRef{Kind: kind, Name: name}, UID: "uid-" + name, Generation: 1, Body: json.RawMessage(body)}
}

func (y *benchHarness) ask(verb string, ask api.RunRequest) {
	body, err := json.Marshal(ask)
	require.NoError(y.b, err)
	_, err = y.room.Verbs()[verb](y.b.Context(), api.Caller{Name: "anna", Role: api.RoleAdmin}, body)
	require.NoError(y.b, err)
}

func (y *benchHarness) publish(subject string, value any) {
	text, err := json.Marshal(value)
	require.NoError(y.b, err)
	_, err = y.store.Conn.JS.Publish(y.b.Context(), subject, text)
	require.NoError(y.b, err)
}

// say publishes a result of every running member of every run and waits until the hub heard the last.
func (y *benchHarness) say(result func(index int) (api.UpgradeResult, bool)) {
	last := ""
	for _, run := range y.runs {
		status, _, _ := y.room.records.runs.Get(run)
		index := 0
		eachMember(&status, func(m *api.MemberUpdateStatus) {
			if m.Status.State != api.StateRunning {
				return
			}
			r, says := result(index)
			index++
			if !says {
				return
			}
			r.Member, r.Run, r.Operation = m.Name, run, m.OperationID
			last = resultKey(m.Name, run)
			text, err := json.Marshal(r)
			require.NoError(y.b, err)
			slot := subjects.ResultSlotKey(m.Name, subjects.ResultSlot(subjects.CommandUpgrade, run))
			y.publish(y.store.Conn.Fleet.BucketSubject(subjects.Result, slot), api.ResultBatch{
				Member: m.Name, Results: []api.BatchedResult{{Kind: subjects.CommandUpgrade, Name: run, Result: text}},
			})
		})
	}
	stream, err := y.store.Conn.JS.Stream(y.b.Context(), y.store.Conn.Fleet.BucketStream(subjects.Result))
	require.NoError(y.b, err)
	bustest.Eventually(y.b, func() error {
		if entry, _ := y.store.Results.Get(last); entry.Sequence < stream.CachedInfo().State.LastSeq {
			return fmt.Errorf("the hub is at %d", entry.Sequence)
		}
		return nil
	})
}

func (y *benchHarness) decide() {
	for _, run := range y.runs {
		_, err := y.room.work(y.b.Context(), runKey+run)
		require.NoError(y.b, err)
	}
}

func (y *benchHarness) minute(minute, round int) {
	y.say(func(int) (api.UpgradeResult, bool) {
		return api.UpgradeResult{Outcome: api.OutcomeRunning, Percent: round * 8, Message: fmt.Sprintf("minute %d", minute)}, true
	})
	y.decide()
}

// end lets one member of every run succeed; runs that are through begin anew.
func (y *benchHarness) end() {
	y.say(func(index int) (api.UpgradeResult, bool) {
		return api.UpgradeResult{Outcome: api.OutcomeSucceeded}, index == 0
	})
	y.decide()
	for _, run := range y.runs {
		status, _, _ := y.room.records.runs.Get(run)
		if status.Status.State == api.StateCompleted {
			y.ask(api.VerbRunRerun, api.RunRequest{Run: run, Members: []string{api.RerunAll}})
		}
	}
}
