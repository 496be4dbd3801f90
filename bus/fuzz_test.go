package bus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/verdict"
	"flotilla/subjects"
	"flotilla/tests/limits"
)

func FuzzHeartbeat(f *testing.F) { fuzzStored[api.Heartbeat](f, HeartbeatBounds, "Heartbeat") }

func FuzzPlacementResult(f *testing.F) {
	fuzzStored[api.PlacementResult](f, ResultBounds, "PlacementResult")
}

func FuzzUpgradeResult(f *testing.F) { fuzzStored[api.UpgradeResult](f, ResultBounds, "UpgradeResult") }

func FuzzDisruptionResult(f *testing.F) {
	fuzzStored[api.DisruptionResult](f, ResultBounds, "DisruptionResult")
}

func FuzzMemberInventory(f *testing.F) {
	fuzzStored[api.MemberInventory](f, MemberBounds, "MemberInventory")
}

func FuzzNodeEvent(f *testing.F) {
	fuzzStored[api.NodeEvent](f, NodeBounds, "NodeEvent", func(e *api.NodeEvent) { _ = e.Node.CheckAmounts() })
}

func FuzzNodeInventory(f *testing.F) {
	fuzzStored[api.NodeInventory](f, InventoryBounds, "NodeInventory", func(i *api.NodeInventory) { _ = i.CheckAmounts() })
}

func FuzzPlacementCommand(f *testing.F) {
	fuzzStored[api.PlacementCommand](f, CommandBounds, "PlacementCommand")
}

func FuzzUpgradeCommand(f *testing.F) {
	fuzzStored[api.UpgradeCommand](f, CommandBounds, "UpgradeCommand")
}

func FuzzDisruptionCommand(f *testing.F) {
	fuzzStored[api.DisruptionCommand](f, CommandBounds, "DisruptionCommand")
}

func FuzzVerdicts(f *testing.F) { fuzzStored[verdict.Verdicts](f, RecordBounds, "Verdicts") }
func FuzzSchedule(f *testing.F) { fuzzStored[api.Schedule](f, RecordBounds, "Schedule") }
func FuzzAudit(f *testing.F)    { fuzzStored[api.Audit](f, RecordBounds, "Audit") }

// FuzzRequest reads what a client sends: as it is, or behind the byte that stands for a packed value here.
func FuzzRequest(f *testing.F) {
	plain := []byte(`{"request":"r1","documents":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}`)
	f.Add(plain)
	f.Add(gzipped(f, plain))
	f.Fuzz(func(t *testing.T, stored []byte) {
		value, err := requestBounds.Unpack(stored)
		limits.Hold(t, len(stored)+len(value), func() {
			var request api.ApplyRequest
			value, err = requestBounds.Unpack(stored)
			if err == nil {
				_ = json.Unmarshal(value, &request)
			}
		})
	})
}

// fuzzStored reads values as readers of a kind do, and holds that what was read can be written and is then
// read as the same.
func fuzzStored[T any](f *testing.F, within Bounds, kind string, look ...func(*T)) {
	found, err := filepath.Glob(filepath.Join("..", "core", "*", "testdata", "golden", kind+".1.json"))
	require.NoError(f, err)
	require.Len(f, found, 1)
	golden, err := os.ReadFile(found[0])
	require.NoError(f, err)
	f.Add(golden)
	f.Add(gzipped(f, golden))
	f.Add([]byte(`{"properties":{"a":{"value":"1e-999999999","observationTime":"2026-11-20T00:00:00Z"}},"capacity":{"cpu":"1e999999999"}}`))
	// A million pods are read, and not varied: that leaves time for a few inputs alone.
	readStored(f, gzipped(f, append(append([]byte(`{"node":{"pods":[`), bytes.Repeat([]byte("{},"), 1<<20)...), []byte("{}]}}")...)), within, look)
	f.Fuzz(func(t *testing.T, stored []byte) { readStored(t, stored, within, look) })
}

func readStored[T any](t testing.TB, stored []byte, within Bounds, look []func(*T)) {
	t.Helper()
	// What is too large or broken is unpacked too, up to there.
	size := len(stored) + len(Start(stored, within.bytes+1))
	var read T
	var err error
	limits.Hold(t, size, func() {
		var value T
		if err = Decode(stored, within, &value); err == nil {
			for _, l := range look {
				l(&value)
			}
		}
		read = value
	})
	if err != nil {
		return
	}
	text, err := json.Marshal(read)
	require.NoError(t, err, "what was read cannot be written")
	var again T
	require.NoError(t, json.Unmarshal(text, &again), "what was written cannot be read: %s", text)
	second, err := json.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(text), string(second))
}

func gzipped(f *testing.F, value []byte) []byte {
	var out bytes.Buffer
	out.WriteByte(packed)
	require.NoError(f, thorough.gzip(&out, value))
	return out.Bytes()
}

// FuzzKeys holds that keys and subjects which agents may have written are read as one name or refused, and
// that no two of them are read as the same.
func FuzzKeys(f *testing.F) {
	fleet := subjects.Fleet{Name: "default"}
	f.Add("oslo.placement.web")
	f.Add("flotilla.default.event.oslo.node.n1")
	f.Add("flotilla.default.event.oslo.inventory")
	f.Fuzz(func(t *testing.T, text string) {
		limits.Hold(t, len(text), func() {
			if member, kind, name, ok := subjects.ParseResultKey(text); ok {
				require.Equal(t, text, subjects.ResultKey(member, kind, name))
			}
			if member, node, ok := fleet.ParseNodeEvent(text); ok {
				require.Equal(t, text, fleet.NodeEvent(member, node))
			}
			if member, ok := fleet.ParseNodeInventory(text); ok {
				require.Equal(t, text, fleet.NodeInventory(member))
			}
			if member, ok := fleet.ParseInventory(text); ok {
				require.Equal(t, text, fleet.Inventory(member))
			}
		})
	})
}
