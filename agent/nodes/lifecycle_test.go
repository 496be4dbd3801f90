package nodes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/core/capacity"
)

func TestAnEmptyNodeGoes(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1", "n2")
	s.start()
	s.command(draining("d1", "n1"))
	r := s.phase("d1", api.PhaseDone)
	require.Equal(t, []string{"n1"}, r.Gone)
	e, err := s.agent.nodes.o.Hub.NodeEvent(t.Context(), "n1")
	require.NoError(t, err)
	require.True(t, e.Gone, "the end of a node is told before the result that lists it")
	require.Empty(t, r.Message)
	require.Equal(t, api.Order{Epoch: 1, Term: 1, Generation: 1}, r.Order)
	s.left("n1")
	n2 := s.expectNode("n2", ours)
	require.False(t, tainted(n2))
}

// A node goes only once what takes its place is ready; it is made as its pool's template says, and it takes
// over the pods.
func TestAReplacementComesFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.plant(deployment("web", 3, ""))
	s.expectPods("n1", "web", "web", "web")
	s.start()
	s.command(launching("d1", "n1"))
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
	require.Equal(t, api.PhaseLaunching, r.Phase)
	require.Equal(t, []api.NodeReplacement{{Name: "d1-0", Pool: "general", Node: "d1-0", Initialized: true}}, r.Replacements)
	require.Equal(t, "d1", taintedBy(s.node("n1")))
	require.Nil(t, s.node("n1").DeletionTimestamp)

	n := s.node("d1-0")
	want := map[string]string{
		api.LabelNodePool: "general", api.LabelRegistered: "true", api.LabelInitialized: "true", "team": "web", "tier": "blue",
		corev1.LabelInstanceTypeStable: "d8", corev1.LabelTopologyZone: "z-b", api.LabelCapacityType: api.CapacitySpot, corev1.LabelArchStable: "arm64",
	}
	for key, value := range want {
		require.Equal(t, value, n.Labels[key], key)
	}
	for key, value := range map[string]string{
		api.AnnotationLaunch: "d1-0", api.AnnotationPoolHash: "h1", api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationClassHash: "c1",
		api.AnnotationExpireAfter: "720h", api.AnnotationTerminationGracePeriod: "1h", "note": "mine", api.AnnotationDoNotDisrupt: "",
	} {
		require.Equal(t, value, n.Annotations[key], key)
	}
	require.Contains(t, n.Finalizers, api.FinalizerTermination)
	require.Empty(t, n.Spec.Taints)
	require.Equal(t, int64(8), n.Status.Capacity.Cpu().Value())

	s.command(in(launching("d1", "n1"), api.PhaseDraining))
	r = s.phase("d1", api.PhaseDone)
	require.Equal(t, []string{"n1"}, r.Gone)
	s.left("n1")
	s.expectPods("d1-0", "web", "web", "web")
	s.command()
	s.eventually(func() error {
		if all := s.ledger().all(); len(all) > 0 {
			return fmt.Errorf("launches are remembered: %+v", all)
		}
		return nil
	})
	require.Equal(t, []string{"d1-0"}, s.provider.asked)
}

// A PodDisruptionBudget holds its node, and the result says which; another drain goes on beside it.
func TestABudgetHoldsItsNodeAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.plant(budget("web", "0"), deployment("web", 1, ""))
	s.expectPods("n1", "web")
	s.member.AddNode(generalNode(t, "n2"))
	s.member.AddNode(generalNode(t, "n3"))
	s.start()
	s.command(draining("stuck", "n1"), draining("free", "n2"))
	s.phase("free", api.PhaseDone)
	r := s.expect("stuck", func(r *api.DisruptionResult) bool { return strings.Contains(r.Message, "refused") })
	require.Equal(t, api.PhaseDraining, r.Phase)
	require.Contains(t, r.Message, "node n1 waits for pod default/web-")
	require.Contains(t, r.Message, "the disruption budget web needs 1 healthy pods and has 1 currently")
	require.Equal(t, []string{"web"}, s.podsOn("n1"))
	n := s.node("n1")
	require.Equal(t, excluded, n.Labels[corev1.LabelNodeExcludeBalancers])

	s.plant(budget("web", "1"))
	require.Equal(t, []string{"n1"}, s.phase("stuck", api.PhaseDone).Gone)
	s.left("n1")
	s.expectPods("n3", "web")
}

// The deadline of a node that was made with one goes before budgets.
func TestADeadlineEndsADrain(t *testing.T) {
	t.Parallel()
	node := generalNode(t, "n1")
	node.Annotations = map[string]string{api.AnnotationTerminationGracePeriod: "10s"}
	s := newScene(t)
	s.member.AddNode(node)
	s.plant(budget("web", "0"), deployment("web", 1, ""))
	s.expectPods("n1", "web")
	s.start()
	s.command(draining("d1", "n1"))
	s.phase("d1", api.PhaseDone)
}

// What is given up leaves no taint, and takes away what was launched and is not ready.
func TestAnAbortLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(s *scene){
		"aborted": func(s *scene) {
			s.command(in(launching("d1", "n1"), api.PhaseAborted))
			s.phase("d1", api.PhaseAborted)
		},
		"absent": func(s *scene) { s.command() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "n1")
			s.fault("never-ready=any")
			s.start()
			s.command(launching("d1", "n1"))
			r := s.expect("d1", func(r *api.DisruptionResult) bool {
				return strings.Contains(r.Message, "replacement d1-0 waits for node d1-0: it is not Ready")
			})
			require.False(t, r.Replacements[0].Initialized)
			again(s)
			s.left("d1-0")
			s.expectNode("n1", func(n *corev1.Node) bool { return !tainted(n) && taintedBy(n) == "" && n.DeletionTimestamp == nil })
			require.NotContains(t, s.node("n1").Annotations, api.AnnotationDisruption)
		})
	}
}

// A replacement that is ready stays when its disruption is given up.
func TestAnAbortKeepsWhatIsReady(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.start()
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
	s.command(in(launching("d1", "n1"), api.PhaseAborted))
	s.phase("d1", api.PhaseAborted)
	s.expectNode("n1", func(n *corev1.Node) bool { return !tainted(n) })
	require.Nil(t, s.node("d1-0").DeletionTimestamp)
}

func TestALaunchFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.fault("fail-launch=general")
	s.start()
	d := launching("d1", "n1")
	other := replacement("d1-1")
	other.Pool = "unknown"
	d.Replacements = append(d.Replacements, other)
	s.command(d)
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 2 && r.Replacements[0].Failed != "" })
	require.Contains(t, r.Replacements[0].Failed, "no capacity")
	require.Equal(t, "the command holds no template of NodePool unknown", r.Replacements[1].Failed)
}

// A replacement whose node vanishes failed.
func TestAReplacementVanishes(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.fault("never-ready=any")
	s.start()
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool {
		return strings.Contains(r.Message, "node d1-0: it is not Ready")
	})
	s.eventually(func() error {
		if one, _ := s.ledger().launch("d1-0"); !one.Seen {
			return fmt.Errorf("not seen")
		}
		return nil
	})
	s.member.RemoveNode("d1-0")
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return r.Replacements[0].Failed != "" })
	require.Equal(t, "node d1-0, which was launched, is gone", r.Replacements[0].Failed)
}

// Somebody deletes a node on the member: it is emptied all the same, whatever the hub says or does not.
func TestANodeIsDeletedByHand(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.plant(deployment("web", 2, ""))
	s.expectPods("n1", "web", "web")
	s.start()
	s.expectNode("n1", ours)
	s.member.AddNode(generalNode(t, "n2"))
	require.NoError(t, s.member.DeleteNode(t.Context(), "n1", ""))
	s.left("n1")
	s.expectPods("n2", "web", "web")
}

// A node that has the name of one that is gone is another one.
func TestANodeOfTheSameName(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1", "n2")
	s.start()
	d := draining("d1", "n1", "n2")
	d.UIDs = map[string]string{"n1": "another", "n2": string(s.node("n2").UID)}
	s.command(d)
	require.Equal(t, []string{"n1", "n2"}, s.phase("d1", api.PhaseDone).Gone)
	require.Nil(t, s.node("n1").DeletionTimestamp)
	require.False(t, tainted(s.node("n1")))
}

// Nodes that Karpenter looks after are left to it.
func TestKarpentersNodes(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1", "n2")
	karpenters := func(name string, taints ...corev1.Taint) {
		require.NoError(t, s.member.UpdateNode(t.Context(), name, func(n *corev1.Node) {
			n.Finalizers, n.Spec.Taints = []string{api.FinalizerKarpenter}, taints
		}))
	}
	karpenters("n1")
	karpenters("n2", disrupted)
	s.start()
	s.command(draining("d1", "n1"))
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return strings.Contains(r.Message, api.FinalizerKarpenter) })
	require.Equal(t, "node n1 waits for those who put finalizers karpenter.sh/termination on it", r.Message)
	n := s.node("n1")
	require.Equal(t, "d1", taintedBy(n))
	require.NotNil(t, n.DeletionTimestamp)
	require.Equal(t, []string{api.FinalizerKarpenter}, n.Finalizers)
	require.True(t, tainted(s.node("n2")), "a taint of Karpenter's own is not ours to take off")
	require.NoError(t, s.member.UpdateNode(t.Context(), "n1", func(n *corev1.Node) { n.Finalizers = nil }))
	s.phase("d1", api.PhaseDone)
}

// A member that leaves is left as if we had not been there, and what comes later does not change that until
// it is back.
func TestAMemberLeaves(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	a := s.start()
	s.command(launching("d1", "n1"))
	s.expectNode("n1", func(n *corev1.Node) bool { return ours(n) && tainted(n) })
	s.generation++
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: s.generation}, func(c *api.DisruptionCommand) { c.Leaving = true })
	clean := func(n *corev1.Node) bool { return len(n.Finalizers) == 0 && !tainted(n) }
	s.expectNode("n1", clean)
	a.stop()
	s.start()
	s.command()
	s.expectNode("n1", func(n *corev1.Node) bool { return ours(n) && !tainted(n) })
}

// What was launched and is not ready when the member leaves is not left to be paid for.
func TestAMemberLeavesWhileANodeIsLaunched(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.fault("never-ready=any")
	s.start()
	s.command(launching("d1", "n1"))
	s.expectNode("d1-0", ours)
	s.generation++
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: s.generation}, func(c *api.DisruptionCommand) { c.Leaving = true })
	s.left("d1-0")
	s.expectNode("n1", func(n *corev1.Node) bool { return len(n.Finalizers) == 0 && !tainted(n) })
}

// What is being emptied when the member leaves is emptied to its end: its pods keep their budget, and its
// machine is not left to be paid for.
func TestAMemberLeavesWhileANodeIsEmptied(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1", "n2")
	s.plant(deployment("web", 1, ""), budget("web", "0"))
	s.expectPods("n1", "web")
	s.start()
	s.command(draining("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool { return strings.Contains(r.Message, "whose eviction was refused") })
	s.generation++
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: s.generation}, func(c *api.DisruptionCommand) { c.Leaving = true })
	s.expectNode("n2", func(n *corev1.Node) bool { return len(n.Finalizers) == 0 })
	require.Equal(t, []string{"web"}, s.podsOn("n1"))
	require.True(t, ours(s.node("n1")))
	s.plant(budget("web", "1"))
	s.left("n1")
	s.expectPods("n2", "web")
}

func TestCommandsAreOrdered(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1", "n2")
	a := s.start()
	s.generation = 5
	s.command(draining("d1", "n2"))
	s.phase("d1", api.PhaseDone)
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: 2}, func(c *api.DisruptionCommand) { c.Disruptions = []api.Disruption{draining("old", "n1")} })
	s.publish(api.Order{Epoch: 1, Term: 1, Generation: 9}, "garbage")
	s.eventually(func() error {
		if text := a.nodes.Trouble(); !strings.Contains(text, "reading the DisruptionCommand") {
			return fmt.Errorf("trouble is %q", text)
		}
		return nil
	})
	require.NotNil(t, s.node("n1"))
	require.Nil(t, s.node("n1").DeletionTimestamp)
	s.generation = 9
	s.command(draining("new", "n1"))
	s.phase("new", api.PhaseDone)
	s.eventually(func() error {
		if text := a.nodes.Trouble(); text != "" {
			return fmt.Errorf("trouble is %q", text)
		}
		return nil
	})
}

// A result that the hub lost is told again.
func TestALostResultIsToldAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.start(func(o *Options) { o.PollEvery = 50 * time.Millisecond })
	s.command(draining("d1", "n1"))
	s.phase("d1", api.PhaseDone)
	s.purge("d1")
	s.phase("d1", api.PhaseDone)
}

// A taint that a crash left behind goes with the first command.
func TestATaintThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	require.NoError(t, s.member.UpdateNode(t.Context(), "n1", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, disrupted)
		annotate(n, api.AnnotationDisruption, "d0")
	}))
	s.start()
	s.expectNode("n1", ours)
	require.True(t, tainted(s.node("n1")), "without a command what is stays")
	s.command()
	n := s.expectNode("n1", func(n *corev1.Node) bool { return !tainted(n) })
	require.NotContains(t, n.Annotations, api.AnnotationDisruption)
}

// A machine that vanished takes its node along, whatever its pods wait for.
func TestAMachineIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.plant(deployment("web", 1, fmt.Sprintf(`, annotations: {%s: "true"}`, api.AnnotationDoNotDisrupt)))
	s.expectPods("n1", "web")
	s.start()
	s.command(draining("d1", "n1"))
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return strings.Contains(r.Message, api.AnnotationDoNotDisrupt) })
	require.Contains(t, r.Message, "node n1 waits for pod default/web-")
	require.True(t, s.member.LoseMachine("n1"))
	s.phase("d1", api.PhaseDone)
	require.False(t, slices.Contains(s.member.Machines(), "n1"))
}

// What the disk says is wanted may be of a copy from before: nothing that cannot be taken back is begun before a command was read.
func TestNothingIsBegunBeforeTheHubWasAsked(t *testing.T) {
	s := newScene(t, "a", "b")
	away := bustest.Alone(t, "berlin")
	command := api.DisruptionCommand{
		Header: api.NewHeader(api.KindDisruptionCommand), Member: "berlin", Order: api.Order{Epoch: 1, Term: 1, Generation: 1},
		Pools: []api.PoolTemplate{general()}, Disruptions: []api.Disruption{draining("one", "a"), launching("two", "b")},
	}
	body, err := json.Marshal(command)
	require.NoError(t, err)
	open := func() *lifecycle {
		n, err := New(Options{Member: "berlin", Hub: away, Target: s.member, Provider: s.provider, Data: s.data, Log: s.server.Log()})
		require.NoError(t, err)
		return n.lifecycle
	}
	before := open()
	before.take(t.Context(), body, 1)

	c := open()
	for _, heard := range [][]byte{nil, []byte("{")} {
		if heard != nil {
			c.take(t.Context(), heard, 1)
		}
		for _, node := range []string{"a", "b"} {
			_, err = c.node(t.Context(), node)
			require.NoError(t, err)
			require.Nil(t, s.node(node).DeletionTimestamp)
			require.False(t, outgoing(s.node(node).Spec.Taints))
		}
		require.NoError(t, c.begin(&command.Disruptions[1]))
		require.Empty(t, c.ledger.all())
	}
	c.none()
	require.Contains(t, c.trouble(), "the agent's disk has 1.1.1")

	c.take(t.Context(), body, 1)
	require.Empty(t, c.trouble())
	for range 2 {
		_, err = c.node(t.Context(), "a")
		require.NoError(t, err)
	}
	require.NotNil(t, s.node("a").DeletionTimestamp)
	require.NoError(t, c.begin(&command.Disruptions[1]))
	require.Len(t, c.ledger.all(), 1)

	begun := open() // as after a restart: the launch is on the disk, and the provider was never asked
	_, err = begun.machine(t.Context(), launchKey+command.Disruptions[1].Replacements[0].Name)
	require.NoError(t, err)
	require.Nil(t, begun.ledger.all()[0].Launched)
	begun.take(t.Context(), body, 1)
	_, err = begun.machine(t.Context(), launchKey+command.Disruptions[1].Replacements[0].Name)
	require.NoError(t, err)
	require.NotNil(t, begun.ledger.all()[0].Launched)
}

// What the command of an older disk does not say is taken off no node, and Karpenter is let go of by none.
func TestNothingIsTakenBackBeforeTheHubWasAsked(t *testing.T) {
	s := newScene(t, "a")
	command := api.DisruptionCommand{
		Header: api.NewHeader(api.KindDisruptionCommand), Member: "berlin", Order: api.Order{Epoch: 1, Term: 1, Generation: 1}, Leaving: true,
	}
	body, err := json.Marshal(command)
	require.NoError(t, err)
	holder := &shared{Provider: s.provider}
	open := func() *lifecycle {
		n, err := New(Options{Member: "berlin", Hub: s.server.Agent(t, "berlin"), Target: s.member, Provider: holder, Data: s.data, Log: s.server.Log()})
		require.NoError(t, err)
		return n.lifecycle
	}
	before := open()
	before.take(t.Context(), body, 1)
	require.NoError(t, s.member.UpdateNode(t.Context(), "a", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, disrupted)
		annotate(n, api.AnnotationDisruption, "newer")
		n.Finalizers = append(n.Finalizers, api.FinalizerTermination)
	}))
	c := open()
	_, err = c.node(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, outgoing(s.node("a").Spec.Taints))
	require.True(t, ours(s.node("a")))
	_, err = c.machine(t.Context(), holdKey)
	require.NoError(t, err)
	_, releases := holder.count()
	require.Zero(t, releases)
	newer := &launch{Disruption: "newer"}
	require.True(t, c.ledger.wants(newer))
	c.take(t.Context(), body, 1)
	require.False(t, c.ledger.wants(newer))
	_, err = c.machine(t.Context(), holdKey)
	require.NoError(t, err)
	_, releases = holder.count()
	require.Equal(t, 1, releases)
	_, err = c.node(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, outgoing(s.node("a").Spec.Taints))
	require.False(t, ours(s.node("a")))
}

// While another agent speaks for the member this one begins nothing with its nodes.
func TestTwinsBeginNothing(t *testing.T) {
	s := newScene(t, "a", "b")
	agents := []*member.Conn{s.server.Agent(t, "berlin"), s.server.Agent(t, "berlin")}
	for range 6 {
		for _, a := range agents {
			require.NoError(t, a.PutHeartbeat(bustest.Context(t), api.Heartbeat{Healthy: true}))
		}
	}
	n, err := New(Options{Member: "berlin", Hub: agents[0], Target: s.member, Provider: s.provider, Data: s.data, Log: s.server.Log()})
	require.NoError(t, err)
	command := api.DisruptionCommand{
		Header: api.NewHeader(api.KindDisruptionCommand), Member: "berlin", Order: api.Order{Epoch: 1, Term: 1, Generation: 1},
		Pools: []api.PoolTemplate{general()}, Disruptions: []api.Disruption{draining("one", "a"), launching("two", "b")},
	}
	body, err := json.Marshal(command)
	require.NoError(t, err)
	c := n.lifecycle
	c.take(t.Context(), body, 1)
	_, err = c.node(t.Context(), "a")
	require.ErrorIs(t, err, member.ErrTwin)
	require.False(t, outgoing(s.node("a").Spec.Taints))
	require.ErrorIs(t, c.begin(&command.Disruptions[1]), member.ErrTwin)
	require.NoError(t, c.ledger.save(newLaunch("berlin", "two", &command.Disruptions[1].Replacements[0], &command.Pools[0], c.o.Hub.Now())))
	_, err = c.machine(t.Context(), launchKey+command.Disruptions[1].Replacements[0].Name)
	require.ErrorIs(t, err, member.ErrTwin)
	care, err := c.careFor(t.Context(), "a")
	require.NoError(t, err)
	care.node.Finalizers = append(care.node.Finalizers, api.FinalizerTermination)
	_, err = c.dismiss(t.Context(), care)
	require.ErrorIs(t, err, member.ErrTwin)
	require.Nil(t, s.node("a").DeletionTimestamp)
}
