package disruptor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/holds"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

type refusal = disruption.Refusal

// An empty node goes, under the lock, and is done when its agent says so; the events tell.
func TestEmptyNodeGoes(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := h.eventually("berlin", "empty n1 Draining")
	h.locked("berlin", "node disruption")
	h.told("node/berlin/n1", "ConsolidationCandidate", "by disruptor")
	h.told("node/berlin/n1", "DisruptionTerminating", "delete n1: Empty (empty)")
	h.result("berlin", r.Disruptions[0].ID, api.PhaseDraining, func(r *api.DisruptionResult) { r.Message = "waiting for pod x" })
	bustest.Eventually(t, func() error {
		if d := h.record("berlin").Disruptions[0]; d.Message != "waiting for pod x" {
			return fmt.Errorf("the message is %q", d.Message)
		}
		return nil
	})
	h.finish("berlin", &r.Disruptions[0])
	h.eventually("berlin", "empty n1 Done")
	h.locked("berlin", "")
	h.told("node/berlin/n1", "DisruptionDone")
	h.decided("berlin", "n2", "NotCheaper")
}

// What the room does to nodes is told before what others do because of it.
func TestDisruptionsAreToldBeforeWhatFollowsFromThem(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	store.TableOf[api.DisruptionRecord](h.store.State, subjects.Disruptions).OnChange(func(member string) {
		r := h.record(member)
		h.store.Audit.Record(api.Audit{Object: "node/berlin/n1", Member: member, Reason: "Seen", Message: text(&r)})
	})
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := h.eventually("berlin", "empty n1 Draining")
	h.toldBefore("node/berlin/n1", "empty n1 Draining", "DisruptionTerminating")
	h.finish("berlin", &r.Disruptions[0])
	h.toldBefore("node/berlin/n1", "empty n1 Done", "DisruptionDone")
}

// A replacement comes first; nothing is decided until it is in the view, and it is left alone then.
func TestReplacementComesFirst(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 16, 500))
	r := h.eventually("berlin", "single n1 Launching")
	d := r.Disruptions[0]
	require.Equal(t, "a", r.Pools[0].Name)
	require.Equal(t, "d2", d.Replacements[0].Types[0].Name)
	require.Contains(t, r.Stale, "is on its way")
	h.nodes("berlin", aNode("empty", "a", 2))
	h.event("berlin", aNode("fresh", "a", 2))
	h.inventory("berlin")
	h.result("berlin", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Node: "fresh", Initialized: true}))
	h.eventually("berlin", "single n1 Draining; empty empty Draining")
	h.decided("berlin", "fresh", "Nominated")
}

// A replacement that fails is given up, its node is backed off until the time for that is over, and tried
// again then; the lock is kept until the agent has taken the taint off.
func TestFailedReplacementIsBackedOff(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 16, 500))
	for failures := 1; failures <= 2; failures++ {
		r := h.eventually("berlin", map[int]string{1: "single n1 Launching", 2: "single n1 Aborted; single n1 Launching"}[failures])
		d := r.Disruptions[failures-1]
		h.result("berlin", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Failed: "no capacity"}))
		bustest.Eventually(t, func() error {
			b := h.record("berlin").Backoffs
			if len(b) != 1 || b[0].Failures != failures {
				return fmt.Errorf("back-offs: %+v", b)
			}
			return nil
		})
		h.locked("berlin", "node disruption")
		h.result("berlin", d.ID, api.PhaseAborted)
		h.locked("berlin", "")
		h.decided("berlin", "n1", "BackedOff")
		h.clock.forward(orchestration.Backoff(failures))
		h.inventory("berlin")
	}
	h.told("node/berlin/n1", "DisruptionFailed", "no capacity")
}

// A launch that no agent answers for is given up at its deadline.
func TestLaunchTimesOut(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 16, 500))
	h.eventually("berlin", "single n1 Launching")
	h.clock.forward(orchestration.Timeout(1))
	h.inventory("berlin")
	h.eventually("berlin", "single n1 Aborted")
}

// What was chosen is checked again before it begins, and given up when it no longer holds.
func TestValidationRefuses(t *testing.T) {
	o := quick()
	o.ValidationWait = time.Minute
	h := newHarness(t, o, "berlin")
	h.pool("a", "1")
	h.nodes("berlin", aNode("n1", "a", 4))
	bustest.Eventually(t, func() error {
		if w := h.room.waitingOn("berlin"); len(w) != 1 {
			return fmt.Errorf("%d commands wait", len(w))
		}
		return nil
	})
	h.nodes("berlin", aNode("n1", "a", 4, 3500))
	h.decided("berlin", "n1", "Queued")
	h.clock.forward(time.Minute)
	h.inventory("berlin")
	h.told("node/berlin/n1", "ConsolidationRejected", "no node of the command is empty")
	h.decided("berlin", "n1", "NotCheaper")
	require.Empty(t, h.record("berlin").Disruptions)
}

// Nothing is decided on a view that is too old, that misses an event, or of a member that is not Ready;
// the record says why, and things go on when that is over.
func TestStaleViewsDecideNothing(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.event("berlin", aNode("n1", "a", 4))
	h.stale("berlin", "sent no inventory")
	h.boot("berlin").nodes["n1"]++
	h.inventory("berlin")
	h.stale("berlin", "the newest event of node n1 has not come")
	h.state("berlin", api.MemberUnknown)
	h.boot("berlin").nodes["n1"]--
	h.event("berlin", aNode("n1", "a", 4))
	h.stale("berlin", "the member is Unknown")
	h.put(subjects.Members.Key("berlin"), api.MemberRecord{
		Name: "berlin", UID: "uid-berlin", State: api.MemberUnknown, Since: metav1.NewTime(h.clock.Now()), Message: "no heartbeat for more than 5m0s",
	})
	h.stale("berlin", "the member is Unknown since "+h.clock.Now().UTC().Format(time.RFC3339)+": no heartbeat for more than 5m0s")
	h.clock.forward(3 * time.Hour)
	h.state("berlin", api.MemberReady)
	h.stale("berlin", "more than 2h10m0s ago")
	h.inventory("berlin")
	h.eventually("berlin", "empty n1 Draining")
	h.stale("berlin", "")
}

// Nothing begins on a member whose agent goes by another time than the hub: how long pods are quiet cannot
// be told.
func TestClocksApart(t *testing.T) {
	for ahead, want := range map[time.Duration]string{time.Hour: "ahead of the hub's", -time.Hour: "behind the hub's"} {
		h := newHarness(t, quick(), "berlin")
		h.pool("a", "100%")
		h.clock.forward(time.Minute)
		h.event("berlin", aNode("n1", "a", 4))
		h.boot("berlin").inventory++
		require.NoError(t, h.agent("berlin").PutNodeInventory(bustest.Context(t), api.NodeInventory{
			Boot: "b0", Sequence: 1, At: metav1.NewTime(h.clock.Now().Add(ahead)), Nodes: map[string]uint64{"n1": 1},
		}))
		h.stale("berlin", want)
		h.inventory("berlin")
		h.eventually("berlin", "empty n1 Draining")
	}
}

// Events that come twice, late, or after the ones of a later boot change nothing.
func TestEventsTwiceAndLate(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	full, empty := aNode("n1", "a", 4, 3800), aNode("n1", "a", 4)
	h.nodes("berlin", full, full)
	h.decided("berlin", "n1", "NotCheaper")
	b := h.boot("berlin")
	old := api.NodeEvent{Boot: b.name, Sequence: b.nodes["n1"] - 1, Node: empty}
	h.tell("berlin", old)
	h.nodes("berlin", aNode("n2", "a", 4, 3800))
	h.decided("berlin", "n2", "NotCheaper")
	require.Empty(t, h.record("berlin").Disruptions)
	b.name, b.nodes = "b1", map[string]uint64{}
	h.nodes("berlin", empty, aNode("n2", "a", 4, 3800))
	h.eventually("berlin", "empty n1 Draining")
}

// A disruptor that starts on what others left goes on: with what runs, with the views that are stored,
// and not with what only waited.
func TestRestart(t *testing.T) {
	h := newHarness(t, quick(), "berlin", "oslo")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 16, 500))
	r := h.eventually("berlin", "single n1 Launching")
	h.stop()
	d := r.Disruptions[0]
	h.nodes("oslo", aNode("m1", "a", 4))
	h.result("berlin", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Node: "fresh", Initialized: true}))
	h.run()
	h.eventually("berlin", "single n1 Draining")
	h.eventually("oslo", "empty m1 Draining")
	h.stop()
	h.finish("berlin", &d)
	h.run()
	h.eventually("berlin", "single n1 Done")
	h.locked("berlin", "")
}

// A hub that was deposed writes nothing: what it decides is refused, and the new one decides.
func TestDeposedHubWritesNothing(t *testing.T) {
	o := quick()
	o.ValidationWait = 400 * time.Millisecond
	h := newHarness(t, o, "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4))
	bustest.Eventually(t, func() error {
		if len(h.room.waitingOn("berlin")) == 0 {
			return fmt.Errorf("nothing waits")
		}
		return nil
	})
	deposed := h.store
	h.put(subjects.TermKey, api.Term{Header: api.NewHeader(api.KindTerm), Epoch: deposed.Term.Epoch, Term: deposed.Term.Term + 1})
	_, err := h.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.Error(t, err)
	require.Empty(t, h.record("berlin").Disruptions)
}

// While an update run holds a member nothing begins there, and while one waits for it nothing new does.
func TestUpdateRunsAndDisruptionsExclude(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	locks := holds.LocksOf(h.store.State.As(subjects.Disruptor))
	_, err := h.store.Writer.Write(bustest.Context(t), locks.Take("berlin", "u/berlin/1", "run web-1", elsewhen.Now()))
	require.NoError(t, err)
	h.pool("a", "1")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
	h.stale("berlin", "update run web-1 holds the member")
	_, err = h.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.ErrorContains(t, err, "update run web-1 holds member berlin")
	op, held := locks.Release("berlin", "u/berlin/1")
	require.True(t, held)
	_, err = h.store.Writer.Write(bustest.Context(t), op)
	require.NoError(t, err)
	r := h.eventually("berlin", "empty n1 Draining")
	waits := func(reason string) {
		h.put(subjects.Runs.Key("web-2"), api.UpdateRunStatus{
			Run: "web-2", Status: api.UpdateStatus{State: api.StateRunning},
			Stages: []api.StageStatus{{Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{{
				Name: "berlin", Status: api.UpdateStatus{State: api.StatePending}, Reason: reason,
			}}}}}},
		})
	}
	waits(api.ReasonLockedByRun)
	h.stale("berlin", "update run web-2 waits for the member")
	h.finish("berlin", &r.Disruptions[0])
	h.eventually("berlin", "empty n1 Done")
	h.locked("berlin", "")
	waits("")
	h.eventually("berlin", "empty n1 Done; empty n2 Draining")
}

// A run that does not take a member which nobody holds waits for other members: nodes are not left alone as
// long as that takes.
func TestARunThatDoesNotTakeAMemberIsNotWaitedFor(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.put(subjects.Runs.Key("web-2"), api.UpdateRunStatus{
		Run: "web-2", Status: api.UpdateStatus{State: api.StateRunning},
		Stages: []api.StageStatus{{Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{{
			Name: "berlin", Status: api.UpdateStatus{State: api.StatePending}, Reason: api.ReasonLockedByRun,
		}}}}}},
	})
	h.pool("a", "1")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
	h.stale("berlin", "update run web-2 waits for the member")
	h.clock.forward(freeFor)
	h.inventory("berlin")
	r := h.eventually("berlin", "empty n1 Draining")
	h.stale("berlin", "update run web-2 waits for the member")
	h.finish("berlin", &r.Disruptions[0])
	h.eventually("berlin", "empty n1 Done")
	h.stale("berlin", "update run web-2 waits for the member")
}

// Members that share a fleet-wide budget never spend more than it together.
func TestFleetBudget(t *testing.T) {
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	o := quick()
	o.ValidationWait = 50 * time.Millisecond
	h := newHarness(t, o, names...)
	h.stop()
	shared := func(amount, members string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			p.Annotations = map[string]string{api.AnnotationFleetBudget: "web=" + amount, api.AnnotationMembers: members}
		}
	}
	h.pool("a", "100%", shared("2", "env=prod"))
	h.pool("b", "100%", shared("5", "env!=prod"))
	for i, name := range names {
		pool := "b"
		if i%2 == 0 {
			pool = "a"
			h.member(name, map[string]string{"env": "prod"})
		}
		h.nodes(name, aNode("n1", pool, 4), aNode("n2", pool, 4))
	}
	count := func(counts func(*api.Disruption) bool) (nodes int) {
		for _, name := range names {
			for _, d := range h.record(name).Disruptions {
				if counts(&d) {
					nodes += len(d.Nodes)
				}
			}
		}
		return nodes
	}
	open := func(d *api.Disruption) bool { return d.Ended.IsZero() }
	var most atomic.Int64
	store.TableOf[api.DisruptionRecord](h.store.State, subjects.Disruptions).OnChange(func(string) { most.Store(max(most.Load(), int64(count(open)))) })
	h.run() // all members are decided on at once
	finished := map[string]bool{}
	for done := 0; done < 12; {
		bustest.Eventually(t, func() error {
			if down, ended := count(open), count(func(d *api.Disruption) bool { return !open(d) }); down != 2 || ended != done {
				return fmt.Errorf("%d nodes are down, wanted 2; %d are done, wanted %d", down, ended, done)
			}
			return nil
		})
		want := fleetBudget{Name: "web", Nodes: "2", Pools: []string{"a", "b"}, Total: 12 - done, Disrupting: 2}
		bustest.Eventually(t, func() error { // counted once it is written
			budgets, err := h.room.fleetBudgets()
			if err == nil && !reflect.DeepEqual(want, budgets[0]) {
				err = fmt.Errorf("found %+v, wanted %+v", budgets, want)
			}
			return err
		})
		for _, name := range names {
			for _, d := range h.record(name).Disruptions {
				if open(&d) && !finished[d.ID] {
					finished[d.ID] = true
					h.finish(name, &d)
					done += len(d.Nodes)
				}
			}
		}
	}
	require.Equal(t, int64(2), most.Load(), "never more, at any instant")
}

// What a member takes of a budget over all members counts also while its own records cannot be read.
func TestFleetBudgetWithABrokenMember(t *testing.T) {
	for name, broken := range map[string]string{"member": subjects.MemberSpecs.Key("berlin"), "its disruptions": subjects.Disruptions.Key("berlin")} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, quick(), "berlin", "oslo")
			h.pool("a", "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "shared=1"} })
			h.nodes("berlin", aNode("n1", "a", 4))
			h.eventually("berlin", "empty n1 Draining")
			h.stop()
			h.put(broken, json.RawMessage(`{"uid":{},"member":7}`))
			h.run()
			h.nodes("oslo", aNode("n1", "a", 4))
			h.decided("oslo", "n1", "BudgetSpent")
		})
	}
}

// A node that a person deletes goes past budgets; asking again asks once.
func TestDeleteNode(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4, 500))
	h.decided("berlin", "n1", "NotEmpty")
	first, err := h.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.NoError(t, err)
	require.Equal(t, []any{api.MethodManual, api.ReasonDeleted, true}, []any{first.Method, first.Reason, first.Forceful})
	again, err := h.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	h.eventually("berlin", "manual n1 Draining")
	_, err = h.room.deleteNode(bustest.Context(t), "berlin", "n9", "r2")
	require.ErrorContains(t, err, "member berlin has no node n9")
	_, err = h.room.deleteNode(bustest.Context(t), "paris", "n1", "r3")
	require.ErrorContains(t, err, `there is no member "paris"`)
	h.spec(subjects.MemberSpecs.Key("berlin"), "", api.KindMemberCluster, "berlin", map[string]any{}, deleted)
	_, err = h.room.deleteNode(bustest.Context(t), "berlin", "n1", "r4")
	require.ErrorContains(t, err, "member berlin leaves the fleet")
}

// What left is purged: states of nodes that the inventory no longer lists, results of disruptions that the
// record no longer holds, and everything of a member that left.
func TestWhatLeftIsPurged(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := h.eventually("berlin", "empty n1 Draining")
	h.finish("berlin", &r.Disruptions[0])
	h.eventually("berlin", "empty n1 Done")
	stored := func(want ...string) {
		t.Helper()
		bustest.Eventually(t, func() error {
			if got := fmt.Sprint(h.room.feed.Nodes("berlin")); got != fmt.Sprint(want) {
				return fmt.Errorf("nodes %s are stored, wanted %v", got, want)
			}
			return nil
		})
	}
	stored("n2")
	h.put(subjects.Members.Key("berlin"), nil)
	h.put(subjects.MemberSpecs.Key("berlin"), nil)
	h.eventually("berlin", "")
	stored()
	require.Empty(t, h.room.feed.Members())
}

// A change of a node class is drift, with the class found among the objects of users.
func TestNodeClassDrift(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	class := func(image string) {
		body := fmt.Sprintf(`{"apiVersion":"karpenter.azure.com/v1beta1","kind":"AKSNodeClass","metadata":{"name":"std"},"spec":{"imageFamily":%q}}`, image)
		digest := bustest.Put(t, h.store, []byte(body))
		h.put(subjects.ObjectSpecs.Key("karpenter.azure.com|AKSNodeClass||std"), api.Spec{
			Object: api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "std"}, Digest: digest,
		})
	}
	class("Ubuntu")
	h.pool("a", "100%", func(p *api.NodePool) {
		p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Kind: "AKSNodeClass", Name: "std"}
	})
	n := aNode("n1", "a", 2, 1800)
	hash, err := capacity.ClassHash([]byte(`{"spec":{"imageFamily":"Ubuntu"}}`))
	require.NoError(t, err)
	n.Annotations = map[string]string{api.AnnotationClassHash: hash}
	h.nodes("berlin", n)
	h.decided("berlin", "n1", "NotDrifted")
	class("AzureLinux")
	r := h.eventually("berlin", "drift n1 Launching")
	require.Equal(t, disruption.DriftClass, r.Disruptions[0].Drift)
	require.NotEqual(t, hash, r.Pools[0].ClassHash)
	require.Contains(t, r.DriftedSince, "n1")
}

// A change of a pool or a catalog that a member does not have is no reason to decide about it anew.
func TestOffersOfOthersChangeNothing(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4, 3500))
	h.decided("berlin", "n1", "NotCheaper")
	m := h.room.roster.get("berlin")
	before := m.decision.Load()
	pass := func() {
		t.Helper()
		h.clock.forward(h.options.Interval)
		_, err := h.room.pass(bustest.Context(t), "berlin")
		require.NoError(t, err)
	}
	h.pool("b", "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationMembers: "region=mars"} })
	h.spec(subjects.InstanceCatalogSpecs.Key("b"), api.VersionFlotilla, api.KindInstanceCatalog, "b", &api.InstanceCatalog{})
	pass()
	require.Same(t, before, m.decision.Load())
	h.pool("b", "100%")
	pass()
	require.NotSame(t, before, m.decision.Load())
}

// A member that nothing changes on is decided on once.
func TestIdleMembersRest(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4, 3500))
	h.decided("berlin", "n1", "NotCheaper")
	before := h.room.roster.get("berlin").decision.Load()
	for range 5 {
		h.clock.forward(h.options.Interval)
		_, err := h.room.pass(bustest.Context(t), "berlin")
		require.NoError(t, err)
	}
	require.Same(t, before, h.room.roster.get("berlin").decision.Load())
	h.clock.forward(memoFor)
	_, err := h.room.pass(bustest.Context(t), "berlin")
	require.NoError(t, err)
	require.NotSame(t, before, h.room.roster.get("berlin").decision.Load(), "at least every five minutes")
}
