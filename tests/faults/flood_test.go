package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const (
	flooder      = "paris" // whose agent does not run, and whose credentials somebody else has
	floodVictim  = "oslo"
	floodResults = 131_000
	floodEvents  = 200_000
)

// BenchmarkFlood writes with the credentials of one member as much as the server takes, and measures what another
// one notices of it: how long a change takes from the request to the member's result in the status, the median and
// the worst; and by how much the hub's memory grows.
func BenchmarkFlood(b *testing.B) {
	for name, write := range map[string]func(*flood, *testing.B){"results": (*flood).results, "events": (*flood).events} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				newFlood(b).measure(b, write)
			}
		})
	}
}

// flood is a fleet of which one member is an enemy.
type flood struct {
	*fleet
	writer  *writer
	reader  *reader
	enemies [4]*nats.Conn
	names   subjects.Fleet
	turn    int
}

func newFlood(b *testing.B) *flood {
	b.Helper()
	f := &flood{fleet: startFleet(b, modeSingle, nil, nil), names: subjects.Fleet{Name: subjects.DefaultFleet}}
	f.processes["agent-"+flooder].Kill()
	f.writer = f.outageWriter(b)
	f.reader = &reader{conn: f.writer.conn, take: f.writer.take, since: f.writer.since}
	var stolen struct{ Credentials, Seed string }
	text, err := os.ReadFile(filepath.Join(f.folder(flooder), "identity.json"))
	require.NoError(b, err)
	require.NoError(b, json.Unmarshal(text, &stolen))
	for i := range f.enemies {
		enemy, err := nats.Connect(f.address, nats.UserJWTAndSeed(stolen.Credentials, stolen.Seed),
			nats.CustomInboxPrefix(subjects.Inbox(flooder)))
		require.NoError(b, err)
		b.Cleanup(enemy.Close)
		f.enemies[i] = enemy
	}
	return f
}

// measure lets the enemy write, and changes what the victim has meanwhile, one change after the other.
func (f *flood) measure(b *testing.B, write func(*flood, *testing.B)) {
	b.Helper()
	var quiet []time.Duration
	for range 20 {
		quiet = append(quiet, f.change(b))
	}
	slices.Sort(quiet)
	b.ReportMetric(quiet[len(quiet)/2].Seconds(), "quiet-median-s")
	b.ReportMetric(quiet[len(quiet)-1].Seconds(), "quiet-worst-s")
	before := f.memory(b)
	ended := make(chan struct{})
	began := elsewhen.Now()
	go func() {
		defer close(ended)
		write(f, b)
	}()
	var took []time.Duration
	for running := true; running; {
		took = append(took, f.change(b))
		select {
		case <-ended:
			running = false
		default:
		}
	}
	wrote := elsewhen.Since(began)
	took = append(took, f.change(b), f.change(b))
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "median-s")
	b.ReportMetric(took[len(took)-1].Seconds(), "worst-s")
	b.ReportMetric(float64(len(took)), "changes")
	b.ReportMetric(wrote.Seconds(), "flood-s")
	b.ReportMetric(float64(f.memory(b)-before)/(1<<20), "grown-MiB")
}

// change is how long it takes from the request for a change to the victim's result in the status of its placement.
func (f *flood) change(b *testing.B) time.Duration {
	b.Helper()
	f.turn++
	began := elsewhen.Now()
	documents := []json.RawMessage{
		namespace("flood"), json.RawMessage(fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"flood","namespace":"flood"},"data":{"turn":"%d"}}`, f.turn)),
		json.RawMessage(fmt.Sprintf(`{"apiVersion":%q,"kind":"ClusterResourcePlacement","metadata":{"name":"flood"},"spec":{
		"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"flood"}],"policy":{"placementType":"PickFixed","clusterNames":[%q]}}}`,
			placement, floodVictim)),
	}
	request := api.ApplyRequest{Request: fmt.Sprintf("flood-%d", f.turn), Documents: documents}
	require.NoError(b, bus.Request(b.Context(), f.writer.conn, api.VerbApply, request, nil, bus.RequestOptions{}))
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		var shown struct {
			Status *api.PlacementStatus `json:"status"`
		}
		ask := api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "flood"}
		err := bus.Request(ctx, f.writer.conn, api.VerbGet, ask, &shown, bus.RequestOptions{})
		if s := shown.Status; err == nil && s != nil && s.ObservedSnapshot == fmt.Sprint(f.turn) && s.Counts.Available == 1 && s.Counts.Current == 1 {
			return elsewhen.Since(began)
		}
		require.NoError(b, ctx.Err(), "change %d has not come to %s: %v, %+v", f.turn, floodVictim, err, shown.Status)
	}
}

// memory is the most that the hub has had in memory.
func (f *flood) memory(b *testing.B) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.processes["hub-0"].PID()))
	require.NoError(b, err)
	for line := range strings.Lines(string(text)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	b.Fatal("no VmHWM in /proc")
	return 0
}

// results are as many as of issue B3, of 16 KiB each, as many in a batch as go into one.
func (f *flood) results(b *testing.B) {
	var bodies [subjects.ResultSlots][]byte
	for slot := range bodies {
		bodies[slot] = resultBatch(b, slot)
	}
	f.write(floodResults/resultsOfABatch, func(n int) (string, []byte) {
		slot := n % subjects.ResultSlots
		text := bytes.ReplaceAll(bodies[slot], []byte(unturned), fmt.Appendf(nil, "%08d", n))
		return f.names.BucketSubject(subjects.Result, subjects.ResultSlotKey(flooder, slot)), text
	})
}

// write has so many messages written over all connections, without waiting for an answer to any.
func (f *flood) write(messages int, message func(n int) (string, []byte)) {
	var writing sync.WaitGroup
	for i, enemy := range f.enemies {
		writing.Go(func() {
			for n := i; n < messages; n += len(f.enemies) {
				subject, text := message(n)
				_ = enemy.Publish(subject, text)
			}
			_ = enemy.FlushTimeout(patience)
		})
	}
	writing.Wait()
}

const (
	resultsOfABatch = 4
	unturned        = "@@@@@@@@"
)

// resultBatch is a batch that is full; unturned is to differ each time.
func resultBatch(b *testing.B, slot int) []byte {
	b.Helper()
	batch := api.ResultBatch{Header: api.NewHeader(api.KindResultBatch), Member: flooder}
	for n := 0; len(batch.Results) < resultsOfABatch; n++ {
		name := fmt.Sprintf("flood-%d", n)
		if subjects.ResultSlot(subjects.CommandPlacement, name) == slot {
			result := fmt.Sprintf(`{"turn":%q,"filler":%q}`, unturned, strings.Repeat("x", 15<<10))
			batch.Results = append(batch.Results, api.BatchedResult{Kind: subjects.CommandPlacement, Name: name, Result: json.RawMessage(result)})
		}
	}
	text, err := json.Marshal(batch)
	require.NoError(b, err)
	return text
}

// events are states of ten nodes more than a member may have, each changed again and again.
func (f *flood) events(*testing.B) {
	f.write(floodEvents, func(n int) (string, []byte) {
		node := fmt.Sprintf("node-%d", n%10_010)
		event := fmt.Sprintf(`{"kind":"NodeEvent","level":1,"member":%q,"sequence":%d,"node":{"name":%q,"labels":{"turn":"%d"}}}`, flooder, n, node, n)
		return f.names.NodeEvent(flooder, node), []byte(event)
	})
}
