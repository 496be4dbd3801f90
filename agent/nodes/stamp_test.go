package nodes

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/nodes/command"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/tests/elsewhen"
)

// fresh is a node that a kubelet has just registered, ready for all it knows.
func fresh() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "pool-7", UID: "u7", Labels: map[string]string{corev1.LabelTopologyZone: "z-c", "kubelet": "says"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: api.TaintUnregistered, Effect: corev1.TaintEffectNoExecute}}},
		Status: corev1.NodeStatus{
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		},
	}
}

// made is a launch of one GPU, with startup taints.
func made() launch {
	r, p := replacement("d1-0"), general()
	r.Requests = api.Amounts{"cpu": 1000, "nvidia.com/gpu": 1, "example.com/none": 0}
	p.Template.Spec.Taints = []api.NodeTaint{{Key: "dedicated", Value: "web", Effect: "NoSchedule"}}
	p.Template.Spec.StartupTaints = []api.NodeTaint{{Key: "cni", Value: "wait", Effect: "NoExecute"}, {Key: "disk", Effect: "NoSchedule"}}
	l := newLaunch("berlin", "d1", &r, &p, elsewhen.Now())
	l.Launched = &api.LaunchedNode{Node: "pool-7", Labels: map[string]string{corev1.LabelInstanceTypeStable: "d8", corev1.LabelTopologyZone: "z-wrong", "team": "other"}}
	return l
}

// A node gets the labels of its template, of what the provider said where it does not say so itself, and
// of its requirements, in this order.
func TestRegistering(t *testing.T) {
	n, l := fresh(), made()
	c := care{launch: &l, commanded: true}
	require.False(t, c.marked(n))
	early, unanswered := fresh(), made()
	unanswered.Launched = nil
	require.True(t, (&care{launch: &unanswered}).marked(early), "the provider may know more")
	c.mark(n)
	require.True(t, c.marked(n))
	require.Equal(t, map[string]string{
		corev1.LabelTopologyZone: "z-c", "kubelet": "says", corev1.LabelInstanceTypeStable: "d8", "team": "web", "tier": "blue",
		api.LabelNodePool: "general", api.LabelRegistered: "true",
	}, n.Labels)
	require.Equal(t, []corev1.Taint{
		{Key: "dedicated", Value: "web", Effect: "NoSchedule"}, {Key: "cni", Value: "wait", Effect: "NoExecute"}, {Key: "disk", Effect: "NoSchedule"},
	}, n.Spec.Taints)
	require.Equal(t, "nvidia.com/gpu", n.Annotations[api.AnnotationAwaitedResources])
	require.Equal(t, []string{api.FinalizerTermination}, n.Finalizers)
	require.Equal(t, []string{"it has taint cni=wait:NoExecute", "it has taint disk:NoSchedule", "it has no nvidia.com/gpu to give"}, uninitialized(n))

	// What the node was stamped with is enough: the launch may be forgotten by now.
	n.Spec.Taints = n.Spec.Taints[:1]
	n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
	c.launch = nil
	c.mark(n)
	require.Equal(t, "true", n.Labels[api.LabelInitialized])
	n.Status.Conditions[0].Status = corev1.ConditionFalse
	require.Empty(t, uninitialized(n), "it stays so")
}

// A node that came up with all that is not tainted anew.
func TestRegisteringWhatCameUpComplete(t *testing.T) {
	n, l := fresh(), made()
	n.Annotations = map[string]string{api.AnnotationLaunch: "d1-0"}
	(&care{launch: &l}).mark(n)
	require.Equal(t, []corev1.Taint{{Key: "dedicated", Value: "web", Effect: "NoSchedule"}}, n.Spec.Taints)
}

func TestInitialized(t *testing.T) {
	registered := func(change func(n *corev1.Node)) *corev1.Node {
		n := fresh()
		n.Labels[api.LabelRegistered], n.Labels[api.LabelNodePool], n.Spec.Taints = "true", "general", nil
		change(n)
		return n
	}
	taint := func(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
		}
	}
	for name, row := range map[string]struct {
		node *corev1.Node
		want string
	}{
		"yes":                     {registered(func(*corev1.Node) {}), ""},
		"not registered":          {registered(func(n *corev1.Node) { delete(n.Labels, api.LabelRegistered) }), "it is not registered"},
		"not ready":               {registered(func(n *corev1.Node) { n.Status.Conditions = nil }), "it is not Ready"},
		"not-ready, NoSchedule":   {registered(taint(corev1.TaintNodeNotReady, "", corev1.TaintEffectNoSchedule)), "it has taint node.kubernetes.io/not-ready:NoSchedule"},
		"not-ready, NoExecute":    {registered(taint(corev1.TaintNodeNotReady, "", corev1.TaintEffectNoExecute)), "it has taint node.kubernetes.io/not-ready:NoExecute"},
		"unreachable, NoSchedule": {registered(taint(corev1.TaintNodeUnreachable, "", corev1.TaintEffectNoSchedule)), "it has taint node.kubernetes.io/unreachable:NoSchedule"},
		"unreachable, NoExecute":  {registered(taint(corev1.TaintNodeUnreachable, "", corev1.TaintEffectNoExecute)), ""},
		"the cloud":               {registered(taint(uninitializedByCloud, "true", corev1.TaintEffectNoSchedule)), "it has taint node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"},
		"readiness":               {registered(taint("readiness.k8s.io/net", "", corev1.TaintEffectNoSchedule)), "it has taint readiness.k8s.io/net:NoSchedule"},
		"another taint":           {registered(taint("dedicated", "web", corev1.TaintEffectNoSchedule)), ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, row.want, strings.Join(uninitialized(row.node), "; ")) })
	}
}

// Marks on nodes that were there before, whose owner may be another.
func TestMarks(t *testing.T) {
	node := func(change ...func(n *corev1.Node)) *corev1.Node {
		n := fresh()
		n.Spec.Taints = nil
		for _, f := range change {
			f(n)
		}
		return n
	}
	pool := func(n *corev1.Node) { n.Labels[api.LabelNodePool] = "general" }
	finalizer := func(name string) func(n *corev1.Node) {
		return func(n *corev1.Node) { n.Finalizers = append(n.Finalizers, name) }
	}
	taint := func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, disrupted) }
	unready := func(n *corev1.Node) { n.Status.Conditions = nil }
	deleted := func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(elsewhen.Now())) }
	for name, row := range map[string]struct {
		node       *corev1.Node
		care       care
		finalizers []string
		tainted    bool
		labels     []string // that it has beside its own
	}{
		"nobody's":               {node(), care{commanded: true}, nil, false, nil},
		"nobody's, tainted":      {node(taint), care{commanded: true}, nil, true, nil},
		"nobody's, left alone":   {node(taint), care{leaving: true}, nil, true, nil},
		"of a pool, tainted":     {node(pool, taint), care{commanded: true}, []string{api.FinalizerTermination}, false, []string{api.LabelInitialized, api.LabelRegistered}},
		"of a pool":              {node(pool), care{}, []string{api.FinalizerTermination}, false, []string{api.LabelInitialized, api.LabelRegistered}},
		"of a pool, not ready":   {node(pool, unready), care{}, []string{api.FinalizerTermination}, false, []string{api.LabelRegistered}},
		"Karpenter's":            {node(pool, finalizer(api.FinalizerKarpenter)), care{commanded: true}, []string{api.FinalizerKarpenter}, false, nil},
		"Karpenter's after ours": {node(pool, finalizer(api.FinalizerTermination), finalizer(api.FinalizerKarpenter)), care{}, []string{api.FinalizerKarpenter}, false, nil},
		"just made by Karpenter": {node(pool, func(n *corev1.Node) { n.Spec.Taints = fresh().Spec.Taints }), care{}, nil, false, nil},
		"claimed by Karpenter": {node(pool, func(n *corev1.Node) {
			n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim"}}
		}), care{}, nil, false, nil},
		"nobody's, going":             {node(), care{id: "d1", going: true}, []string{api.FinalizerTermination}, true, nil},
		"nobody's, held":              {node(), care{id: "d1"}, nil, true, nil},
		"deleted":                     {node(finalizer(api.FinalizerTermination), deleted), care{commanded: true}, []string{api.FinalizerTermination}, true, []string{corev1.LabelNodeExcludeBalancers}},
		"deleted without a finalizer": {node(deleted, finalizer("other")), care{going: true}, []string{"other"}, false, nil},
		"leaving":                     {node(pool, finalizer(api.FinalizerTermination)), care{leaving: true}, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := row.node.DeepCopy()
			row.care.mark(row.node)
			require.ElementsMatch(t, row.finalizers, row.node.Finalizers)
			require.Equal(t, row.tainted, tainted(row.node))
			var more []string
			for _, key := range sortedKeys(row.node.Labels) {
				if before.Labels[key] == "" {
					more = append(more, key)
				}
			}
			require.ElementsMatch(t, row.labels, more)
			require.True(t, row.care.marked(row.node), "marking again changes nothing")
		})
	}
}

// The same through commands: the node is a kubelet's, the machine a script's.
func TestCommandsMakeANode(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	dir := t.TempDir()
	provider, err := command.New(command.Options{
		Member: "berlin", Directory: dir, Timeout: time.Minute,
		Launch: []string{"/bin/sh", "-c", `echo "$FLOTILLA_LAUNCH" >> launched; echo '{"node": "pool-7", "providerID": "azure:///7"}'`},
		Delete: []string{"/bin/sh", "-c", `echo "$FLOTILLA_NODE $FLOTILLA_PROVIDER_ID $FLOTILLA_LAUNCH" >> deleted; test -e gone || echo '{"gone": false}'; touch gone`},
	})
	require.NoError(t, err)
	s.start(func(o *Options) { o.Provider = provider })
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool {
		return strings.Contains(r.Message, "replacement d1-0 waits for its Node to show up")
	})
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi")}
	_, err = s.member.LaunchNode(targetmemory.Launch{Name: "pool-7", InstanceType: "d8", Zone: "z-a", Capacity: amounts})
	require.NoError(t, err)
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
	require.Equal(t, "pool-7", r.Replacements[0].Node)
	require.Equal(t, "general", s.node("pool-7").Labels[api.LabelNodePool])

	s.command(draining("d2", "pool-7"))
	s.phase("d2", api.PhaseDone)
	require.Equal(t, "d1-0\n", text(t, filepath.Join(dir, "launched")))
	require.Equal(t, strings.Repeat("pool-7 memory://berlin/pool-7 d1-0\n", 2), text(t, filepath.Join(dir, "deleted")))
}

// An eviction that is refused again and again is tried less and less often.
func TestEvictionsBackOff(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	d := newDrains().of(fresh())
	var waits []time.Duration
	for range 9 {
		d.refuse("p", "default/p", "budget", at)
		require.False(t, d.due("p", at))
		require.True(t, d.due("other", at))
		waits = append(waits, d.nextEviction().Sub(at))
		require.True(t, d.due("p", d.nextEviction()))
	}
	ms := time.Millisecond
	require.Equal(t, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 10 * time.Second, 10 * time.Second}, waits)
	require.Equal(t, map[string]string{"default/p": "budget"}, d.refusals())
	d.forget([]string{"default/p"})
	require.NotEmpty(t, d.refusals())
	d.forget(nil)
	require.Empty(t, d.refusals())
	require.True(t, d.nextEviction().IsZero())
	d.refuse("p", "default/p", "budget", at)
	d.evicted("p")
	require.True(t, d.due("p", at))
}

// A machine is asked for less and less often, and what is said of a node stays short.
func TestWhatADrainSays(t *testing.T) {
	d := newDrains().of(fresh())
	d.wait([]string{"pod a", "pod b", "pod c", "pod d", "pod e"})
	require.Equal(t, "pod a; pod b; pod c; 2 more", d.String())
	d.wait(nil)
	at := elsewhen.Now()
	_, again := d.answer(false, errCrashed, at)
	require.Equal(t, at.Add(firstAsk), again, "whether it is there")
	d.remove()
	removing, again := d.next(ask{})
	require.True(t, removing)
	require.True(t, again.IsZero(), "what was asked before does not count")
	for _, wait := range []time.Duration{firstAsk, 2 * firstAsk, 4 * firstAsk} {
		_, again := d.answer(false, nil, at)
		require.Equal(t, at.Add(wait), again)
	}
	d.remove()
	_, again = d.next(ask{})
	require.Equal(t, at.Add(4*firstAsk), again)
	before := ask{wait: 8 * firstAsk, again: at.Add(8 * firstAsk)}
	_, again = d.next(before)
	require.Equal(t, before.again, again, "asked about its launch")
	require.Equal(t, before, d.pace())
	news, _ := d.answer(false, errCrashed, at)
	require.True(t, news)
	news, _ = d.answer(false, errCrashed, at)
	require.False(t, news, "the same is no news")
	require.Equal(t, "its machine, which is being taken away; the provider, which cannot be asked: the agent is no more", d.String())
	news, again = d.answer(true, nil, at)
	require.True(t, news && again.IsZero())
	require.True(t, d.over())
	require.True(t, d.doubt(at))
	require.False(t, d.doubt(at.Add(longestAsk-1)))
	require.True(t, d.doubt(at.Add(longestAsk)))
}

// A pod that must go is deleted again, but not each time that somebody looks.
func TestPodsAreDeletedNowAndThen(t *testing.T) {
	d, at, tries := newDrains().of(fresh()), elsewhen.Now(), 0
	try := func(at time.Time, why string) string {
		return d.force("p", at, func() string { tries++; return why })
	}
	require.Equal(t, "not now", try(at, "not now"))
	require.Equal(t, "not now", try(at.Add(lookAgain-1), ""), "what went wrong is said until it is tried again")
	require.Equal(t, 1, tries)
	require.Empty(t, try(at.Add(lookAgain), ""))
	require.Equal(t, 2, tries)
}

func TestPoolHashLevelIsStamped(t *testing.T) {
	l := made()
	require.Equal(t, capacity.PoolHashLevel, l.Launch.Annotations[api.AnnotationPoolHashLevel])
	require.NotContains(t, l.Launch.Annotations, api.AnnotationDoNotDisrupt)
	require.Equal(t, "cni=wait:NoExecute,disk:NoSchedule", l.Launch.Annotations[api.AnnotationStartupTaints])
}
