package disruptor

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
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
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := y.eventually("berlin", "empty n1 Draining")
	y.locked("berlin", "node disruption")
	y.told("node/berlin/n1", "ConsolidationCandidate", "by disruptor")
	y.told("node/berlin/n1", "DisruptionTerminating", "delete n1: Empty (empty)")
	y.result("berlin", r.Disruptions[0].ID, api.PhaseDraining, func(r *api.DisruptionResult) { r.Message = "waiting for pod x" })
	bustest.Eventually(t, func() error {
		if d := y.record("berlin").Disruptions[0]; d.Message != "waiting for pod x" {
			return fmt.Errorf("the message is %q", d.Message)
		}
		return nil
	})
	y.finish("berlin", &r.Disruptions[0])
	y.eventually("berlin", "empty n1 Done")
	y.locked("berlin", "")
	y.told("node/berlin/n1", "DisruptionDone")
	y.decided("berlin", "n2", "NotCheaper")
}

// What the room does to nodes is told before what others do because of it.
func TestDisruptionsAreToldBeforeWhatFollowsFromThem(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	store.TableOf[api.DisruptionRecord](y.store.State, subjects.Disruptions).OnChange(func(member string) {
		r := y.record(member)
		y.store.Audit.Record(api.Audit{Object: "node/berlin/n1", Member: member, Reason: "Seen", Message: text(&r)})
	})
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := y.eventually("berlin", "empty n1 Draining")
	y.toldBefore("node/berlin/n1", "empty n1 Draining", "DisruptionTerminating")
	y.finish("berlin", &r.Disruptions[0])
	y.toldBefore("node/berlin/n1", "empty n1 Done", "DisruptionDone")
}

// A replacement comes first; nothing is decided until it is in the view, and it is left alone then.
func TestReplacementComesFirst(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 16, 500))
	r := y.eventually("berlin", "single n1 Launching")
	d := r.Disruptions[0]
	require.Equal(t, "a", r.Pools[0].Name)
	require.Equal(t, "d2", d.Replacements[0].Types[0].Name)
	require.Contains(t, r.Stale, "is on its way")
	y.nodes("berlin", aNode("empty", "a", 2))
	y.event("berlin", aNode("fresh", "a", 2))
	y.inventory("berlin")
	y.result("berlin", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Node: "fresh", Initialized: true}))
	y.eventually("berlin", "single n1 Draining; empty empty Draining")
	y.decided("berlin", "fresh", "Nominated")
}

// A replacement that fails is given up, its node is backed off until the time for that is over, and tried
// again then; the lock is kept until the agent has taken the taint off.
func TestFailedReplacementIsBackedOff(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 16, 500))
	for failures := 1; failures <= 2; failures++ {
		r := y.eventually("berlin", map[int]string{1: "single n1 Launching", 2: "single n1 Aborted; single n1 Launching"}[failures])
		d := r.Disruptions[failures-1]
		y.result("berlin", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Failed: "no capacity"}))
		bustest.Eventually(t, func() error {
			b := y.record("berlin").Backoffs
			if len(b) != 1 || b[0].Failures != failures {
				return fmt.Errorf("back-offs: %+v", b)
			}
			return nil
		})
		y.locked("berlin", "node disruption")
		y.result("berlin", d.ID, api.PhaseAborted)
		y.locked("berlin", "")
		y.decided("berlin", "n1", "BackedOff")
		y.clock.forward(orchestration.Backoff(failures))
		y.inventory("berlin")
	}
	y.told("node/berlin/n1", "DisruptionFailed", "no capacity")
}

// A launch that no agent answers for is given up at its deadline.
func TestLaunchTimesOut(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 16, 500))
	y.eventually("berlin", "single n1 Launching")
	y.clock.forward(orchestration.Timeout(1))
	y.inventory("berlin")
	y.eventually("berlin", "single n1 Aborted")
}

// What was chosen is checked again before it begins, and given up when it no longer holds.
func TestValidationRefuses(t *testing.T) {
	o := quick()
	o.ValidationWait = time.Minute
	y := newYard(t, o, "berlin")
	y.pool("a", "1")
	y.nodes("berlin", aNode("n1", "a", 4))
	bustest.Eventually(t, func() error {
		if w := y.room.waitingOn("berlin"); len(w) != 1 {
			return fmt.Errorf("%d commands wait", len(w))
		}
		return nil
	})
	y.nodes("berlin", aNode("n1", "a", 4, 3500))
	y.decided("berlin", "n1", "Queued")
	y.clock.forward(time.Minute)
	y.inventory("berlin")
	y.told("node/berlin/n1", "ConsolidationRejected", "no node of the command is empty")
	y.decided("berlin", "n1", "NotCheaper")
	require.Empty(t, y.record("berlin").Disruptions)
}

// Nothing is decided on a view that is too old, that misses an event, or of a member that is not Ready;
// the record says why, and things go on when that is over.
func TestStaleViewsDecideNothing(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.event("berlin", aNode("n1", "a", 4))
	y.stale("berlin", "sent no inventory")
	y.boot("berlin").nodes["n1"]++
	y.inventory("berlin")
	y.stale("berlin", "the newest event of node n1 has not come")
	y.state("berlin", api.MemberUnknown)
	y.boot("berlin").nodes["n1"]--
	y.event("berlin", aNode("n1", "a", 4))
	y.stale("berlin", "the member is Unknown")
	y.put(subjects.Members.Key("berlin"), api.MemberRecord{
		Name: "berlin", UID: "uid-berlin", State: api.MemberUnknown, Since: metav1.NewTime(y.clock.Now()), Message: "no heartbeat for more than 5m0s",
	})
	y.stale("berlin", "the member is Unknown since "+y.clock.Now().UTC().Format(time.RFC3339)+": no heartbeat for more than 5m0s")
	y.clock.forward(3 * time.Hour)
	y.state("berlin", api.MemberReady)
	y.stale("berlin", "more than 2h10m0s ago")
	y.inventory("berlin")
	y.eventually("berlin", "empty n1 Draining")
	y.stale("berlin", "")
}

// Nothing begins on a member whose agent goes by another time than the hub: how long pods are quiet cannot
// be told.
func TestClocksApart(t *testing.T) {
	for ahead, want := range map[time.Duration]string{time.Hour: "ahead of the hub's", -time.Hour: "behind the hub's"} {
		y := newYard(t, quick(), "berlin")
		y.pool("a", "100%")
		y.clock.forward(time.Minute)
		y.event("berlin", aNode("n1", "a", 4))
		y.boot("berlin").inventory++
		require.NoError(t, y.agent("berlin").PutNodeInventory(bustest.Context(t), api.NodeInventory{
			Boot: "b0", Sequence: 1, At: metav1.NewTime(y.clock.Now().Add(ahead)), Nodes: map[string]uint64{"n1": 1},
		}))
		y.stale("berlin", want)
		y.inventory("berlin")
		y.eventually("berlin", "empty n1 Draining")
	}
}

// Events that come twice, late, or after the ones of a later boot change nothing.
func TestEventsTwiceAndLate(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	full, empty := aNode("n1", "a", 4, 3800), aNode("n1", "a", 4)
	y.nodes("berlin", full, full)
	y.decided("berlin", "n1", "NotCheaper")
	b := y.boot("berlin")
	old := api.NodeEvent{Boot: b.name, Sequence: b.nodes["n1"] - 1, Node: empty}
	y.tell("berlin", old)
	y.nodes("berlin", aNode("n2", "a", 4, 3800))
	y.decided("berlin", "n2", "NotCheaper")
	require.Empty(t, y.record("berlin").Disruptions)
	b.name, b.nodes = "b1", map[string]uint64{}
	y.nodes("berlin", empty, aNode("n2", "a", 4, 3800))
	y.eventually("berlin", "empty n1 Draining")
}

// A disruptor that starts on what others left goes on: with what runs, with the views that are stored,
// and not with what only waited.
func TestRestart(t *testing.T) {
	y := newYard(t, quick(), "berlin", "oslo")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 16, 500))
	r := y.eventually("berlin", "single n1 Launching")
	y.stop()
	d := r.Disruptions[0]
	y.nodes("oslo", aNode("m1", "a", 4))
	y.result("berlin", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Node: "fresh", Initialized: true}))
	y.run()
	y.eventually("berlin", "single n1 Draining")
	y.eventually("oslo", "empty m1 Draining")
	y.stop()
	y.finish("berlin", &d)
	y.run()
	y.eventually("berlin", "single n1 Done")
	y.locked("berlin", "")
}

// A hub that was deposed writes nothing: what it decides is refused, and the new one decides.
func TestDeposedHubWritesNothing(t *testing.T) {
	o := quick()
	o.ValidationWait = 400 * time.Millisecond
	y := newYard(t, o, "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4))
	bustest.Eventually(t, func() error {
		if len(y.room.waitingOn("berlin")) == 0 {
			return fmt.Errorf("nothing waits")
		}
		return nil
	})
	deposed := y.store
	y.put(subjects.TermKey, api.Term{Header: api.NewHeader(api.KindTerm), Epoch: deposed.Term.Epoch, Term: deposed.Term.Term + 1})
	_, err := y.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.Error(t, err)
	require.Empty(t, y.record("berlin").Disruptions)
}

// While an update run holds a member nothing begins there, and while one waits for it nothing new does.
func TestUpdateRunsAndDisruptionsExclude(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	locks := store.LocksOf(y.store.State.As(subjects.Disruptor))
	_, err := y.store.Writer.Write(bustest.Context(t), locks.Take("berlin", "u/berlin/1", "run web-1", elsewhen.Now()))
	require.NoError(t, err)
	y.pool("a", "1")
	y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
	y.stale("berlin", "update run web-1 holds the member")
	_, err = y.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.ErrorContains(t, err, "update run web-1 holds member berlin")
	op, held := locks.Release("berlin", "u/berlin/1")
	require.True(t, held)
	_, err = y.store.Writer.Write(bustest.Context(t), op)
	require.NoError(t, err)
	r := y.eventually("berlin", "empty n1 Draining")
	waits := func(reason string) {
		y.put(subjects.Runs.Key("web-2"), api.UpdateRunStatus{
			Run: "web-2", Status: api.UpdateStatus{State: api.StateRunning},
			Stages: []api.StageStatus{{Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{{
				Name: "berlin", Status: api.UpdateStatus{State: api.StatePending}, Reason: reason,
			}}}}}},
		})
	}
	waits(api.ReasonLockedByRun)
	y.stale("berlin", "update run web-2 waits for the member")
	y.finish("berlin", &r.Disruptions[0])
	y.eventually("berlin", "empty n1 Done")
	y.locked("berlin", "")
	waits("")
	y.eventually("berlin", "empty n1 Done; empty n2 Draining")
}

// A run that does not take a member which nobody holds waits for other members: nodes are not left alone as
// long as that takes.
func TestARunThatDoesNotTakeAMemberIsNotWaitedFor(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.put(subjects.Runs.Key("web-2"), api.UpdateRunStatus{
		Run: "web-2", Status: api.UpdateStatus{State: api.StateRunning},
		Stages: []api.StageStatus{{Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{{
			Name: "berlin", Status: api.UpdateStatus{State: api.StatePending}, Reason: api.ReasonLockedByRun,
		}}}}}},
	})
	y.pool("a", "1")
	y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
	y.stale("berlin", "update run web-2 waits for the member")
	y.clock.forward(freeFor)
	y.inventory("berlin")
	r := y.eventually("berlin", "empty n1 Draining")
	y.stale("berlin", "update run web-2 waits for the member")
	y.finish("berlin", &r.Disruptions[0])
	y.eventually("berlin", "empty n1 Done")
	y.stale("berlin", "update run web-2 waits for the member")
}

// Members that share a fleet-wide budget never spend more than it together.
func TestFleetBudget(t *testing.T) {
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	o := quick()
	o.ValidationWait = 50 * time.Millisecond
	y := newYard(t, o, names...)
	y.stop()
	shared := func(amount, members string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			p.Annotations = map[string]string{api.AnnotationFleetBudget: "web=" + amount, api.AnnotationMembers: members}
		}
	}
	y.pool("a", "100%", shared("2", "env=prod"))
	y.pool("b", "100%", shared("5", "env!=prod"))
	for i, name := range names {
		pool := "b"
		if i%2 == 0 {
			pool = "a"
			y.member(name, map[string]string{"env": "prod"})
		}
		y.nodes(name, aNode("n1", pool, 4), aNode("n2", pool, 4))
	}
	count := func(counts func(*api.Disruption) bool) (nodes int) {
		for _, name := range names {
			for _, d := range y.record(name).Disruptions {
				if counts(&d) {
					nodes += len(d.Nodes)
				}
			}
		}
		return nodes
	}
	open := func(d *api.Disruption) bool { return d.Ended.IsZero() }
	var most atomic.Int64
	store.TableOf[api.DisruptionRecord](y.store.State, subjects.Disruptions).OnChange(func(string) { most.Store(max(most.Load(), int64(count(open)))) })
	y.run() // all members are decided on at once
	finished := map[string]bool{}
	for done := 0; done < 12; {
		bustest.Eventually(t, func() error {
			if down, ended := count(open), count(func(d *api.Disruption) bool { return !open(d) }); down != 2 || ended != done {
				return fmt.Errorf("%d nodes are down, wanted 2; %d are done, wanted %d", down, ended, done)
			}
			return nil
		})
		budgets, err := y.room.fleetBudgets()
		require.NoError(t, err)
		require.Equal(t, fleetBudget{Name: "web", Nodes: "2", Pools: []string{"a", "b"}, Total: 12 - done, Disrupting: 2}, budgets[0])
		for _, name := range names {
			for _, d := range y.record(name).Disruptions {
				if open(&d) && !finished[d.ID] {
					finished[d.ID] = true
					y.finish(name, &d)
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
			y := newYard(t, quick(), "berlin", "oslo")
			y.pool("a", "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "shared=1"} })
			y.nodes("berlin", aNode("n1", "a", 4))
			y.eventually("berlin", "empty n1 Draining")
			y.stop()
			y.put(broken, json.RawMessage(`{"uid":{},"member":7}`))
			y.run()
			y.nodes("oslo", aNode("n1", "a", 4))
			y.decided("oslo", "n1", "BudgetSpent")
		})
	}
}

// A node that a person deletes goes past budgets; asking again asks once.
func TestDeleteNode(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "0")
	y.nodes("berlin", aNode("n1", "a", 4, 500))
	y.decided("berlin", "n1", "NotEmpty")
	first, err := y.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.NoError(t, err)
	require.Equal(t, []any{api.MethodManual, api.ReasonDeleted, true}, []any{first.Method, first.Reason, first.Forceful})
	again, err := y.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	y.eventually("berlin", "manual n1 Draining")
	_, err = y.room.deleteNode(bustest.Context(t), "berlin", "n9", "r2")
	require.ErrorContains(t, err, "member berlin has no node n9")
	_, err = y.room.deleteNode(bustest.Context(t), "paris", "n1", "r3")
	require.ErrorContains(t, err, `there is no member "paris"`)
	y.spec(subjects.MemberSpecs.Key("berlin"), "", api.KindMemberCluster, "berlin", map[string]any{}, deleted)
	_, err = y.room.deleteNode(bustest.Context(t), "berlin", "n1", "r4")
	require.ErrorContains(t, err, "member berlin leaves the fleet")
}

// What left is purged: states of nodes that the inventory no longer lists, results of disruptions that the
// record no longer holds, and everything of a member that left.
func TestWhatLeftIsPurged(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := y.eventually("berlin", "empty n1 Draining")
	y.finish("berlin", &r.Disruptions[0])
	y.eventually("berlin", "empty n1 Done")
	stored := func(want ...string) {
		t.Helper()
		bustest.Eventually(t, func() error {
			if got := fmt.Sprint(y.room.feed.Nodes("berlin")); got != fmt.Sprint(want) {
				return fmt.Errorf("nodes %s are stored, wanted %v", got, want)
			}
			return nil
		})
	}
	stored("n2")
	y.put(subjects.Members.Key("berlin"), nil)
	y.put(subjects.MemberSpecs.Key("berlin"), nil)
	y.eventually("berlin", "")
	stored()
	require.Empty(t, y.room.feed.Members())
}

// A change of a node class is drift, with the class found among the objects of users.
func TestNodeClassDrift(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	class := func(image string) {
		body := fmt.Sprintf(`{"apiVersion":"karpenter.azure.com/v1beta1","kind":"AKSNodeClass","metadata":{"name":"std"},"spec":{"imageFamily":%q}}`, image)
		digest := bustest.Put(t, y.store, []byte(body))
		y.put(subjects.ObjectSpecs.Key("karpenter.azure.com|AKSNodeClass||std"), api.Spec{
			Object: api.ObjectRef{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass", Name: "std"}, Digest: digest,
		})
	}
	class("Ubuntu")
	y.pool("a", "100%", func(p *api.NodePool) {
		p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Kind: "AKSNodeClass", Name: "std"}
	})
	n := aNode("n1", "a", 2, 1800)
	hash, err := capacity.ClassHash([]byte(`{"spec":{"imageFamily":"Ubuntu"}}`))
	require.NoError(t, err)
	n.Annotations = map[string]string{api.AnnotationClassHash: hash}
	y.nodes("berlin", n)
	y.decided("berlin", "n1", "NotDrifted")
	class("AzureLinux")
	r := y.eventually("berlin", "drift n1 Launching")
	require.Equal(t, disruption.DriftClass, r.Disruptions[0].Drift)
	require.NotEqual(t, hash, r.Pools[0].ClassHash)
	require.Contains(t, r.DriftedSince, "n1")
}

// A change of a pool or a catalog that a member does not have is no reason to decide about it anew.
func TestOffersOfOthersChangeNothing(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4, 3500))
	y.decided("berlin", "n1", "NotCheaper")
	m := y.room.roster.get("berlin")
	before := m.decision.Load()
	pass := func() {
		t.Helper()
		y.clock.forward(y.options.Interval)
		_, err := y.room.pass(bustest.Context(t), "berlin")
		require.NoError(t, err)
	}
	y.pool("b", "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationMembers: "region=mars"} })
	y.spec(subjects.InstanceCatalogSpecs.Key("b"), api.VersionFlotilla, api.KindInstanceCatalog, "b", &api.InstanceCatalog{})
	pass()
	require.Same(t, before, m.decision.Load())
	y.pool("b", "100%")
	pass()
	require.NotSame(t, before, m.decision.Load())
}

// A member that nothing changes on is decided on once.
func TestIdleMembersRest(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4, 3500))
	y.decided("berlin", "n1", "NotCheaper")
	before := y.room.roster.get("berlin").decision.Load()
	for range 5 {
		y.clock.forward(y.options.Interval)
		_, err := y.room.pass(bustest.Context(t), "berlin")
		require.NoError(t, err)
	}
	require.Same(t, before, y.room.roster.get("berlin").decision.Load())
	y.clock.forward(memoFor)
	_, err := y.room.pass(bustest.Context(t), "berlin")
	require.NoError(t, err)
	require.NotSame(t, before, y.room.roster.get("berlin").decision.Load(), "at least every five minutes")
}
