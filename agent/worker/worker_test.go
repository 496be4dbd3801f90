package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const (
	shop   = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
	config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: shop}, data: {a: '1'}}"
	other  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: shop}, data: {a: '2'}}"
	web    = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 2, template: {spec: {containers: [{name: a, image: i}]}}}}"
)

func TestCommandsAreFollowedAndAnswered(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 50*time.Millisecond)
	start(t, h, m, t.TempDir())
	h.command(h.entry("web", 1, shop, config, web))
	r := h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
	require.Equal(t, api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: "berlin", Placement: "web", UID: "uid-web", Order: r.Order,
		Generation: 1, Snapshot: 1, Work: r.Work, Applied: yes, AppliedReason: reasonApplied, AppliedMessage: "all 3 objects are applied",
		Available: yes, AvailableReason: reasonAvailable, AvailableMessage: "all 3 objects are available", Changed: r.Changed, Total: 3,
		Times: r.Times,
	}, r)
	require.Positive(t, r.Times.Received)
	require.Equal(t, r.Order.Generation, r.Times.Command)
	require.GreaterOrEqual(t, *r.Times.Available, *r.Times.Applied)
	require.Equal(t, []string{
		"1 create Namespace/shop by web/uid-web generation 1",
		"2 create ConfigMap/shop/config by web/uid-web generation 1",
		"3 create Deployment/shop/web by web/uid-web generation 1",
	}, history(m))

	h.command(h.entry("web", 2, shop, other, web))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Available == yes })
	require.Equal(t, []string{"4 replace ConfigMap/shop/config by web/uid-web generation 2"}, history(m)[3:], "what is equal is not written")

	h.command(h.entry("web", 3, shop, other))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 3 && r.Available == yes })
	require.Equal(t, []string{"5 delete Deployment/shop/web by web/uid-web generation 3"}, history(m)[4:])
}

func TestNothingIsWrittenWhereNothingChanged(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := start(t, h, m, t.TempDir())
	entry := h.entry("web", 1, shop, config)
	h.command(entry)
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
	writes, results := len(m.History(0)), h.resultSequence("web")
	for range 3 {
		h.command(entry)
		bustest.Eventually(t, func() error { return same(w.Holds().Generation, h.generation) })
		w.queue.Add("web")
	}
	h.command(entry, h.entry("shop", 1, config))
	h.expect("shop", func(r api.PlacementResult) bool { return r.Applied == no })
	require.Len(t, m.History(0), writes)
	require.Equal(t, results, h.resultSequence("web"))
}

func TestWithdrawnIsDeletedAndAbsentIsKept(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := start(t, h, m, t.TempDir())
	secret := "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}"
	account := "{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: default}}"
	web, keep, let := h.entry("web", 1, shop, config), h.entry("keep", 1, secret), h.entry("let", 1, account)
	h.command(web, keep, let)
	for _, placement := range []string{"web", "keep", "let"} {
		h.expect(placement, func(r api.PlacementResult) bool { return r.Available == yes })
	}

	gone := web
	gone.Withdrawn, gone.Generation = true, 2
	stranger := gone
	stranger.UID = "another"
	abandoned := let
	abandoned.Withdrawn, abandoned.Abandon, abandoned.Generation = true, true, 2
	h.command(abandoned, stranger)
	r := h.expect("web", func(r api.PlacementResult) bool { return r.UID == "another" && r.Withdrawn })
	require.Equal(t, yes, r.Applied)
	require.NotNil(t, live(m, config), "another uid is another placement")
	h.expect("let", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Withdrawn })
	require.NotNil(t, live(m, account))
	require.Empty(t, live(m, account).GetAnnotations())
	bustest.Eventually(t, func() error { return same(fmt.Sprint(w.Unlisted()), "[keep web]") })

	h.command(gone)
	h.expect("web", func(r api.PlacementResult) bool { return r.UID == "uid-web" && r.Withdrawn })
	require.Nil(t, live(m, config))
	require.Nil(t, live(m, shop))
	require.NotNil(t, live(m, secret), "what is merely absent is kept")
	bustest.Eventually(t, func() error { return same(fmt.Sprint(w.Unlisted()), "[keep]") })

	h.command(keep)
	bustest.Eventually(t, func() error { return same(fmt.Sprint(w.Unlisted()), "[]") })
	bustest.Eventually(t, func() error {
		if _, kept := w.store.loadResults()["web"]; kept {
			return fmt.Errorf("the result of a placement that is over is still on disk")
		}
		return nil
	})
}

func TestMemberIsRepaired(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.placed()
	require.True(t, m.Remove(ref(config)))
	bustest.Eventually(t, func() error { return present(m, config) })
	require.True(t, m.Edit(ref(config), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"a": "tampered"} }))
	bustest.Eventually(t, func() error { return same(fmt.Sprint(live(m, config).Object["data"]), "map[a:1]") })
}

// What another hand changes again and again is told of once, in one result.
func TestCorrectionsAreToldOfOnce(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	dir := t.TempDir()
	w := newWorker(t, h, m, dir)
	stop := run(t, w)
	h.placed()
	tamper := func() {
		t.Helper()
		require.True(t, m.Edit(ref(config), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"a": "tampered"} }))
		bustest.Eventually(t, func() error { return same(fmt.Sprint(live(m, config).Object["data"]), "map[a:1]") })
	}
	tamper()
	r := h.expect("web", func(r api.PlacementResult) bool { return r.CorrectedTotal == 1 && r.Available == yes })
	require.Equal(t, ref(config), r.Corrected[0].ObjectRef)
	require.Equal(t, "/data/a (kubectl-edit)", r.Corrected[0].Fields)
	require.WithinDuration(t, elsewhen.Now(), r.Corrected[0].Since.Time, time.Minute)
	told := h.resultSequence("web")
	for range foughtAfter - 2 {
		tamper()
	}
	require.Equal(t, told, h.resultSequence("web"))
	tamper()
	r = h.expect("web", func(r api.PlacementResult) bool { return r.CorrectedTotal == 1 && r.Corrected[0].Fought })
	require.True(t, m.Edit(ref(config), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"a": "tampered"} }))
	bustest.Eventually(t, func() error {
		w.corrections.mu.Lock()
		defer w.corrections.mu.Unlock()
		if !w.corrections.byPlacement["web"].objects[apply.IdentityOf(ref(config))].held {
			return errors.New("the object was not looked at")
		}
		return nil
	})
	stop()
	require.Equal(t, "map[a:tampered]", fmt.Sprint(live(m, config).Object["data"]), "it is left for a minute")
	told++
	require.Equal(t, told, h.resultSequence("web"))

	w = newWorker(t, h, m, dir)
	require.Equal(t, r.Corrected, w.ledger.last["web"].Corrected)
	after := r
	over := w.corrections.tell(&after, elsewhen.Now())
	require.Equal(t, r.Corrected, after.Corrected, "a new process goes on with it")
	require.WithinDuration(t, elsewhen.Now().Add(correctedFor), over, time.Minute)
	require.Zero(t, w.corrections.tell(&after, over))
	require.Empty(t, after.Corrected)
	require.Zero(t, after.CorrectedTotal)
	run(t, w)
}

func TestOldAndForeignCommandsAreIgnored(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := start(t, h, m, t.TempDir())
	h.command(h.entry("web", 2, shop, config))
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
	held := w.Holds()

	gone := h.entry("web", 3)
	gone.Withdrawn = true
	h.generation -= 2
	h.command(gone)
	h.generation += 2
	h.command(h.entry("web", 2, shop, config), h.entry("next", 1, "{apiVersion: v1, kind: Secret, metadata: {name: next, namespace: default}}"))
	h.expect("next", func(r api.PlacementResult) bool { return r.Available == yes })
	require.NotNil(t, live(m, config), "an older command was followed")
	require.Positive(t, w.Holds().Compare(held))
}

// Whoever can publish on a hint subject, or on the command subject outside of the stream, must not
// make an agent do anything but look.
func TestForgedMessagesAreNotActedOn(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := start(t, h, m, t.TempDir())
	h.placed()
	held := w.Holds()

	gone := h.entry("web", 9)
	gone.Withdrawn = true
	forged, err := json.Marshal(api.PlacementCommand{
		Header: api.NewHeader(api.KindPlacementCommand), Member: "berlin",
		Order: api.Order{Epoch: 1, Term: 99, Generation: 99}, Entries: []api.IndexEntry{gone},
	})
	require.NoError(t, err)
	fleet := h.store.Conn.Fleet
	for _, subject := range []string{fleet.Hint("berlin", subjects.CommandPlacement), fleet.Hint("berlin", "upgrade")} {
		message := nats.NewMsg(subject)
		message.Data = forged
		message.Header.Set("Nats-Sequence", "18446744073709551615")
		require.NoError(t, h.store.Conn.NC.PublishMsg(message))
	}
	require.NoError(t, h.store.Conn.NC.Flush())
	// What the server has is delivered before the hint of a command that is published later.
	h.command(h.entry("web", 2, shop, other))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Available == yes })
	require.NotNil(t, live(m, config))
	require.Equal(t, held.Term, w.Holds().Term)
	require.Equal(t, []string{"3 replace ConfigMap/shop/config by web/uid-web generation 2"}, history(m)[2:])
}

func TestAgentThatStartsWithTheHubAwayKeepsAndRepairs(t *testing.T) {
	h := newHub(t)
	dir := t.TempDir()
	stop := run(t, newWorker(t, h, newMember(t, 0), dir))
	h.placed()
	stop()

	away := bustest.Alone(t, "berlin")
	m := newMember(t, 0)
	w, err := New(Options{Member: "berlin", Hub: away, Target: m, Data: dir, Log: zerolog.Nop()})
	require.NoError(t, err)
	stop = run(t, w)
	bustest.Eventually(t, func() error { return present(m, config) })
	require.True(t, m.Remove(ref(config)))
	bustest.Eventually(t, func() error { return present(m, config) })
	require.Equal(t, uint64(1), w.Holds().Generation)
	m.SetFaults(faults.Faults{Fail: []string{"ConfigMap"}})
	require.True(t, m.Remove(ref(config)))
	bustest.Eventually(t, func() error {
		r, _ := w.ledger.of("web")
		return same(r.Applied, no)
	})
	require.Equal(t, 1, w.Unreported())
	stop()

	start(t, h, m, dir)
	h.expect("web", func(r api.PlacementResult) bool { return r.Applied == no })
	m.SetFaults(faults.Faults{})
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
}

// A broker that comes back without the last result gets it again: nothing else would ever tell the hub.
func TestResultThatTheBrokerLostIsToldAgain(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.command(h.entry("web", 1, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
	told := h.expect("web", func(r api.PlacementResult) bool { return r.Applied == "True" })
	toldAgain := bustest.LoseResult(t, h.store, "berlin", subjects.CommandPlacement, "web")
	require.Error(t, toldAgain())
	h.server.Restart(t)
	bustest.EventuallyIn(t, 30*time.Second, toldAgain)
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		again, err := h.result("web")
		if err != nil {
			return err
		}
		if again.Generation != told.Generation || again.Applied != told.Applied {
			return fmt.Errorf("told %+v, expected %+v", again, told)
		}
		return nil
	})
}

func TestMissingIndexTearsNothingDown(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	dir := t.TempDir()
	stop := run(t, newWorker(t, h, m, dir))
	h.placed()
	stop()
	require.NoError(t, h.store.Commands.Purge(t.Context(), "berlin", subjects.CommandPlacement))
	h.last = 0

	w := start(t, h, m, dir)
	require.True(t, m.Remove(ref(config)))
	bustest.Eventually(t, func() error { return present(m, config) })
	require.Empty(t, w.Unlisted())

	blank := newWorker(t, h, m, t.TempDir())
	defer run(t, blank)()
	bustest.Eventually(t, func() error { return same(fmt.Sprint(blank.Unlisted()), "[web]") })
	require.NotNil(t, live(m, config))
}

// A result is dropped once no command asks for its placement: withdrawn, confirmed, taken out of the index.
func TestResultGoesWithItsEntry(t *testing.T) {
	h := newHub(t)
	start(t, h, newMember(t, 0), t.TempDir())
	web, api1 := h.entry("web", 1, shop, config), h.entry("api", 1, "{apiVersion: v1, kind: Namespace, metadata: {name: other}}")
	h.command(web, api1)
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
	h.expect("api", func(r api.PlacementResult) bool { return r.Available == yes })
	web.Withdrawn, web.Generation = true, 2
	h.command(web, api1)
	h.expect("web", func(r api.PlacementResult) bool { return r.Withdrawn })
	h.command(api1)
	bustest.Eventually(t, func() error {
		return same(fmt.Sprint(h.store.Results.Keys("")), "[berlin.placement.api]")
	})
}

func TestFailuresAreReportedAndRetried(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	m.SetFaults(faults.Faults{Fail: []string{"ConfigMap"}})
	h.command(h.entry("fine", 1, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}"), h.entry("web", 1, shop, config))
	r := h.expect("web", func(r api.PlacementResult) bool { return r.Applied == no })
	require.Equal(t, 1, r.Failed)
	require.Equal(t, []api.ManifestFailure{{
		ObjectRef: ref(config), Condition: conditionApplied, Reason: apply.ReasonApplyFailed,
		Message: `configmaps "config" is forbidden: member berlin refuses ConfigMap/shop/config on request`,
	}}, r.Failures)
	h.expect("fine", func(r api.PlacementResult) bool { return r.Available == yes })
	m.SetFaults(faults.Faults{})
	r = h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
	require.Zero(t, r.Failed)
	require.Empty(t, r.Failures)

	m.SetFaults(faults.Faults{Stuck: []string{"Deployment"}})
	h.command(h.entry("web", 2, shop, config, web))
	r = h.expect("web", func(r api.PlacementResult) bool { return r.Available == no })
	require.Equal(t, yes, r.Applied)
	require.Equal(t, conditionAvailable, r.Failures[0].Condition)
}

func TestNothingIsDeletedWhileItsReplacementFails(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.placed()
	m.SetFaults(faults.Faults{Fail: []string{"Deployment"}})
	h.command(h.entry("web", 2, shop, web))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Applied == no })
	require.NotNil(t, live(m, config))
	m.SetFaults(faults.Faults{})
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Available == yes })
	require.Nil(t, live(m, config))
}

func TestMemberThatIsDownIsNotAFailure(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.placed()
	m.SetFaults(faults.Faults{Down: true})
	r := h.expect("web", func(r api.PlacementResult) bool { return r.Available == unknown })
	require.Equal(t, yes, r.Applied, "what was applied stays said")
	h.command(h.entry("web", 2, shop, other))
	r = h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 })
	require.Equal(t, unknown, r.Applied)
	require.Equal(t, reasonInProgress, r.AppliedReason)
	require.Contains(t, r.AppliedMessage, "does not answer")
	m.SetFaults(faults.Faults{})
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 2 && r.Available == yes })
}

func TestMemberThatGoesDownHalfwayIsNotAFailure(t *testing.T) {
	h := newHub(t)
	clock := heldClock{Running: elsewhen.Now, waiting: make(chan func(), 1)}
	m := memory.New(memory.Options{Name: "berlin", Clock: clock})
	start(t, h, m, t.TempDir())
	m.SetFaults(faults.Faults{Slow: time.Second})
	h.command(h.entry("web", 1, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}"))
	write := <-clock.waiting
	m.SetFaults(faults.Faults{Down: true})
	write()
	r := h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 1 })
	require.Equal(t, unknown, r.Applied)
	require.Contains(t, r.AppliedMessage, "writing: the API server of member berlin does not answer")
	m.SetFaults(faults.Faults{})
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
}

// heldClock lets a test decide when what waits for the clock goes on.
type heldClock struct {
	memory.Running
	waiting chan func()
}

func (c heldClock) AfterFunc(_ time.Duration, f func()) func() bool {
	c.waiting <- f
	return func() bool { return true }
}

func TestContentThatIsNotThereYetIsWaitedFor(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	late := h.late(other)
	entry := h.entryOf("web", 1, h.work(shop, late))
	h.command(entry)
	r := h.expect("web", func(r api.PlacementResult) bool { return r.Applied == unknown })
	require.Contains(t, r.AppliedMessage, "is not on the hub")
	require.Empty(t, m.History(0), "half of a work is not applied")
	h.put(strip(t, other))
	h.expect("web", func(r api.PlacementResult) bool { return r.Available == yes })
	require.NotNil(t, live(m, other))
}

func TestPlacementsWithTheSameObjectDoNotFight(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.placed()
	h.command(h.entry("second", 1, other), h.entry("web", 1, shop, config))
	r := h.expect("second", func(r api.PlacementResult) bool { return r.Applied == no })
	require.Equal(t, apply.ReasonFailedToTakeOver, r.Failures[0].Reason)
	require.Equal(t, "web/uid-web", live(m, config).GetAnnotations()[api.AnnotationOwner])

	h.command(h.entry("second", 1, other), h.entry("web", 2, shop))
	h.expect("second", func(r api.PlacementResult) bool { return r.Available == yes })
	require.Equal(t, "second/uid-second", live(m, config).GetAnnotations()[api.AnnotationOwner])
}

func TestRunLeavesNothingBehind(t *testing.T) {
	h := newHub(t)
	m := newMember(t, time.Hour)
	before := goleak.IgnoreCurrent()
	w := newWorker(t, h, m, t.TempDir())
	stop := run(t, w)
	h.command(h.entry("web", 1, shop, config, web))
	h.expect("web", func(r api.PlacementResult) bool { return r.Applied == yes })
	stop()
	m.Close()
	w.o.Hub.Close()
	bustest.LeftNothing(t, before)
}

// What an API server keeps otherwise than it was given, such as stringData of a Secret, is no drift: it is written once.
func TestStringDataOfASecretIsWrittenOnce(t *testing.T) {
	h, m := newHub(t), newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.command(h.entry("web", 1, shop, "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\nstringData: {password: hunter2}"))
	applied := func(r api.PlacementResult) bool { return r.Applied == "True" }
	h.expect("web", applied)
	written := len(m.History(0))
	h.command(h.entry("web", 2, shop, "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\nstringData: {password: hunter2}"))
	h.expect("web", func(r api.PlacementResult) bool { return applied(r) && r.Generation == 2 })
	require.Len(t, m.History(0), written)
}

// Of a placement that is well nothing is held in memory that is on the disk; it is read again to be repaired, also while
// the hub is away.
func TestContentOfWhatIsWellIsReadFromTheDisk(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := start(t, h, m, t.TempDir())
	h.placed()
	bustest.Eventually(t, func() error {
		w.shelf.mu.Lock()
		defer w.shelf.mu.Unlock()
		if w.shelf.read["web"].manifests != nil {
			return errors.New("they are still in memory")
		}
		return nil
	})
	h.server.Stop(t)
	require.True(t, m.Remove(ref(config)))
	bustest.Eventually(t, func() error { return present(m, config) })
}
