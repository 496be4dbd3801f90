package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// hub speaks for the hub on a real server.
type hub struct {
	t          *testing.T
	server     *bustest.Server
	store      *store.Store
	generation uint64
	last       uint64
	// position is that of the last message about the index, after its order.
	position api.IndexPosition
	after    api.Order
}

// session is the key of changes, as a hub makes them.
func (h *hub) session() []byte { return h.store.Keys.Session("berlin", "", h.position.Base) }

func newHub(t *testing.T) *hub {
	t.Helper()
	server := bustest.Start(t)
	return &hub{t: t, server: server, store: server.Lead(t)}
}

func (h *hub) put(body []byte) string {
	h.t.Helper()
	return bustest.Put(h.t, h.store, body)
}

type lateBody struct {
	api.Manifest
}

// late names an object whose body is not on the hub.
func (h *hub) late(text string) lateBody {
	h.t.Helper()
	return lateBody{api.Manifest{ObjectRef: ref(text), Digest: h.store.Keys.Digest(strip(h.t, text))}}
}

// work stores a work of YAML texts and of objects whose bodies come later.
func (h *hub) work(objects ...any) string {
	h.t.Helper()
	var manifests []api.Manifest
	for _, o := range objects {
		switch o := o.(type) {
		case string:
			manifests = append(manifests, api.Manifest{ObjectRef: ref(o), Digest: h.put(strip(h.t, o))})
		case lateBody:
			manifests = append(manifests, o.Manifest)
		}
	}
	return bustest.PutWork(h.t, h.store, manifests)
}

func (h *hub) entry(placement string, generation int64, texts ...string) api.IndexEntry {
	h.t.Helper()
	objects := make([]any, len(texts))
	for i := range texts {
		objects[i] = texts[i]
	}
	return h.entryOf(placement, generation, h.work(objects...))
}

func (h *hub) entryOf(placement string, generation int64, work string) api.IndexEntry {
	return api.IndexEntry{
		Placement: placement, UID: "uid-" + placement, Generation: generation, Snapshot: generation, Work: work, Piece: h.store.Keys.Piece(work),
	}
}

func (h *hub) command(entries ...api.IndexEntry) {
	h.t.Helper()
	h.generation++
	slices.SortFunc(entries, func(a, b api.IndexEntry) int { return strings.Compare(a.Placement, b.Placement) })
	c := api.PlacementCommand{
		Header: api.NewHeader(api.KindPlacementCommand), Member: "berlin",
		Order: api.Order{Epoch: 1, Term: 1, Generation: h.generation}, Entries: entries,
	}
	h.position, h.after = api.IndexPosition{Base: c.Order}, c.Order
	c.Session = h.session()
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, Digest: fmt.Sprint(h.generation), Order: c.Order, To: h.server.SealingKey(h.t, "berlin")}
	sequence, err := h.store.Commands.Publish(h.t.Context(), head, c, h.last)
	require.NoError(h.t, err)
	h.last = sequence
}

// change stores a change of the index, sealed with a key.
func (h *hub) change(session []byte, gone []string, entries ...api.IndexEntry) {
	h.t.Helper()
	h.generation++
	h.position.Number++
	order := api.Order{Epoch: 1, Term: 1, Generation: h.generation}
	_, err := h.store.Commands.PublishChange(h.t.Context(), streams.CommandHead{
		Member: "berlin", Kind: subjects.CommandPlacement, Digest: fmt.Sprint(h.generation), Order: order, Position: h.position, Sequence: h.last,
	}, session, api.PlacementDelta{
		Header: api.NewHeader(api.KindPlacementDelta), Member: "berlin", Order: order, Position: h.position, After: h.after, Entries: entries, Gone: gone,
	})
	require.NoError(h.t, err)
	h.after = order
}

func (h *hub) result(placement string) (api.PlacementResult, error) {
	entry, ok := h.store.Results.Get(subjects.ResultKey("berlin", subjects.CommandPlacement, placement))
	if !ok {
		return api.PlacementResult{}, fmt.Errorf("no result of %s", placement)
	}
	var r api.PlacementResult
	return r, json.Unmarshal(entry.Value, &r)
}

func (h *hub) resultSequence(placement string) uint64 {
	entry, _ := h.store.Results.Get(subjects.ResultKey("berlin", subjects.CommandPlacement, placement))
	return entry.Sequence
}

// expect waits for a result that holds.
func (h *hub) expect(placement string, holds func(api.PlacementResult) bool) api.PlacementResult {
	h.t.Helper()
	var last api.PlacementResult
	bustest.Eventually(h.t, func() error {
		r, err := h.result(placement)
		if err == nil && !holds(r) {
			err = fmt.Errorf("result of %s is %+v", placement, r)
		}
		last = r
		return err
	})
	return last
}

// placed has web place its first objects, and waits until they are available.
func (h *hub) placed() {
	h.t.Helper()
	h.command(h.entry("web", 1, shop, config))
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
}

func newMember(t *testing.T, readyAfter time.Duration) *memory.Member {
	t.Helper()
	node, err := target.NewNode("a", "8", "32Gi")
	require.NoError(t, err)
	m := memory.New(memory.Options{Name: "berlin", Nodes: []target.Node{node}, ReadyAfter: readyAfter, Clock: memory.Running(elsewhen.Now)})
	t.Cleanup(m.Close)
	return m
}

func newWorker(t *testing.T, h *hub, m *memory.Member, dir string) *Worker {
	t.Helper()
	w, err := New(Options{
		Member: "berlin", Hub: h.server.Agent(t, "berlin"), Target: m, Data: dir,
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel),
	})
	require.NoError(t, err)
	return w
}

// run runs a worker until the returned function, or the end of the test, stops it.
func run(t *testing.T, w *Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

func start(t *testing.T, h *hub, m *memory.Member, dir string) *Worker {
	t.Helper()
	w := newWorker(t, h, m, dir)
	run(t, w)
	return w
}

func strip(t *testing.T, text string) []byte {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return body
}

func ref(text string) api.ObjectRef {
	var o unstructured.Unstructured
	body, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil {
		panic(err)
	}
	return apply.RefOf(&o)
}

func live(m *memory.Member, text string) *unstructured.Unstructured {
	for _, o := range m.Objects() {
		if apply.RefOf(o) == ref(text) {
			return o
		}
	}
	return nil
}

func present(m *memory.Member, text string) error {
	if live(m, text) == nil {
		return fmt.Errorf("%s is not there", ref(text))
	}
	return nil
}

func history(m *memory.Member) []string {
	var lines []string
	for _, o := range m.History(0) {
		lines = append(lines, o.String())
	}
	return lines
}

func same[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
