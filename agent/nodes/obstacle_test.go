package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// stubborn is a member on which a node cannot be changed for a while.
type stubborn struct {
	target.Nodes
	node atomic.Value
}

func (s *stubborn) UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	if name == s.node.Load() {
		return apierrors.NewServiceUnavailable("not now")
	}
	return s.Nodes.UpdateNode(ctx, name, change)
}

// Nothing is launched before nodes are tainted, and nothing counts as given up before they are free again.
func TestTaintsComeFirstAndLast(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	m := &stubborn{Nodes: s.member}
	m.node.Store("n1")
	s.start(func(o *Options) { o.Target = m })
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool { return r.Message == "node n1 is being tainted" })
	require.False(t, s.member.HasMachine("d1-0"))
	m.node.Store("")
	s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
	m.node.Store("n1")
	s.command(in(launching("d1", "n1"), api.PhaseAborted))
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return r.Message == "the taint of node n1 is being taken off" })
	require.Equal(t, api.PhaseLaunching, r.Phase)
	m.node.Store("")
	require.Empty(t, s.phase("d1", api.PhaseAborted).Message)
	require.False(t, tainted(s.node("n1")))
}

// meddling is a member on which something happens while a node is being tainted.
type meddling struct {
	target.Nodes
	once      sync.Once
	here, off chan struct{}
}

func (m *meddling) UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	held := false
	err := m.Nodes.UpdateNode(ctx, name, func(n *corev1.Node) {
		change(n)
		held = n.Name == "n1" && n.Annotations[api.AnnotationDisruption] != ""
	})
	if held {
		m.once.Do(func() {
			close(m.here)
			<-m.off
		})
	}
	return err
}

// What was decided before a node was tainted is decided again after: the hub may have taken it back, or the
// node may be another one.
func TestANodeIsLookedAtBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	for name, meddle := range map[string]func(s *scene, d api.Disruption){
		"taken back": func(s *scene, d api.Disruption) {
			s.command(in(d, api.PhaseAborted))
			s.eventually(func() error {
				if d := s.ledger().disruption("d1"); d.Phase != api.PhaseAborted {
					return fmt.Errorf("%s is %s", d.ID, d.Phase)
				}
				return nil
			})
		},
		"another node": func(s *scene, _ api.Disruption) {
			require.True(s.t, s.member.RemoveNode("n1"))
			s.member.AddNode(generalNode(s.t, "n1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "n1", "n2")
			m := &meddling{Nodes: s.member, here: make(chan struct{}), off: make(chan struct{})}
			s.start(func(o *Options) { o.Target = m })
			d := draining("d1", "n1", "n2")
			d.UIDs = map[string]string{"n1": string(s.node("n1").UID)}
			s.command(d)
			<-m.here
			meddle(s, d)
			close(m.off)
			s.expect("d1", func(r *api.DisruptionResult) bool { return r.Phase == api.PhaseAborted || r.Phase == api.PhaseDone })
			n := s.expectNode("n1", func(n *corev1.Node) bool { return ours(n) && !tainted(n) })
			require.Nil(t, n.DeletionTimestamp)
		})
	}
}

// overtaken is a member on which a command comes while a node is being changed for the first time.
type overtaken struct {
	target.Nodes
	once    sync.Once
	comes   func()
	deleted []corev1.Node // as they were
}

func (o *overtaken) UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	err := o.Nodes.UpdateNode(ctx, name, change)
	o.once.Do(o.comes)
	return err
}

func (o *overtaken) DeleteNode(ctx context.Context, name, uid string) error {
	all, err := o.NodeObjects(ctx)
	if err != nil {
		return err
	}
	for _, n := range all {
		if n.Name == name {
			o.deleted = append(o.deleted, *n)
		}
	}
	return o.Nodes.DeleteNode(ctx, name, uid)
}

// A command that comes while a node is being marked for something else, such as our finalizer, has the node tainted before it is deleted.
func TestANodeIsTaintedBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	m := &overtaken{Nodes: s.member}
	n, err := New(Options{Member: "berlin", Hub: s.server.Agent(t, "berlin"), Target: m, Provider: s.provider, Data: s.data, Log: s.server.Log()})
	require.NoError(t, err)
	c := n.lifecycle
	m.comes = func() {
		body, err := json.Marshal(api.DisruptionCommand{
			Header: api.NewHeader(api.KindDisruptionCommand), Member: "berlin", Order: api.Order{Epoch: 1, Term: 1, Generation: 1},
			Pools: []api.PoolTemplate{general()}, Disruptions: []api.Disruption{draining("d1", "n1")},
		})
		require.NoError(t, err)
		c.take(t.Context(), body, 1)
	}
	for range 3 {
		_, err := c.node(t.Context(), "n1")
		require.NoError(t, err)
	}
	require.Len(t, m.deleted, 1)
	require.Equal(t, "d1", taintedBy(&m.deleted[0]))
}

// Nothing is launched in place of nodes that are gone: a hub that came from a backup may not know.
func TestNothingTakesThePlaceOfWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.start()
	d := launching("d1", "n1", "n2")
	d.UIDs = map[string]string{"n1": "another"}
	s.command(d)
	r := s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Gone) == 2 && len(r.Replacements) == 1 })
	require.Equal(t, api.NodeReplacement{Name: "d1-0", Pool: "general"}, r.Replacements[0])
	require.Empty(t, s.ledger().all())
	require.False(t, s.member.HasMachine("d1-0"))
}

// A disk that cannot be written holds up what must be remembered, and the hub is told why.
func TestALaunchThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.start()
	folder := filepath.Join(s.data, "nodes", launchesFolder)
	require.NoError(t, os.Remove(folder))
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool { return strings.HasPrefix(r.Message, "keeping launch d1-0: ") })
	require.False(t, s.member.HasMachine("d1-0"))
	require.NoError(t, os.Mkdir(folder, 0o700))
	s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
}

// A machine that was launched and has not shown its node is taken back too.
func TestALaunchIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.fault("hang-launch=any")
	s.start()
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool {
		return strings.Contains(r.Message, "replacement d1-0 waits for its Node to show up")
	})
	require.True(t, s.member.HasMachine("d1-0"))
	s.command(in(launching("d1", "n1"), api.PhaseAborted))
	s.phase("d1", api.PhaseAborted)
	s.left("d1-0")
	s.fault()
	s.eventually(func() error {
		if all := s.ledger().all(); len(all) > 0 {
			return fmt.Errorf("launches are remembered: %+v", all)
		}
		return nil
	})
	require.Nil(t, s.node("d1-0"))
}

// An agent that lost its data directory takes back what it may have launched, unless it is ready.
func TestAForgottenLaunchIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"without a node": "hang-launch=any", "not ready": "never-ready=any", "ready": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "n1")
			if fault != "" {
				s.fault(fault)
			}
			a := s.start()
			s.command(launching("d1", "n1"))
			s.expect("d1", func(r *api.DisruptionResult) bool {
				return len(r.Replacements) == 1 && r.Replacements[0].Node != "" && r.Replacements[0].Initialized == (fault == "")
			})
			a.stop()
			s.data = t.TempDir()
			s.start()
			s.command(in(launching("d1", "n1"), api.PhaseAborted))
			s.phase("d1", api.PhaseAborted)
			if fault == "" {
				require.True(t, s.member.HasMachine("d1-0"))
				require.Empty(t, s.ledger().all())
				return
			}
			s.left("d1-0")
			s.eventually(func() error {
				if all := s.ledger().all(); len(all) > 0 {
					return fmt.Errorf("launches are remembered: %+v", all)
				}
				return nil
			})
		})
	}
}

// While nobody says what is wanted, what was begun goes on.
func TestALaunchGoesOnWithoutACommand(t *testing.T) {
	l, err := openLedger(t.TempDir(), "berlin")
	require.NoError(t, err)
	one := launch{Disruption: "d1", Launch: api.NodeLaunch{Name: "d1-0"}}
	require.True(t, l.wants(&one))
	_, err = l.accept([]byte(`{"kind":"DisruptionCommand","member":"berlin","disruptions":[]}`), elsewhen.Now())
	require.NoError(t, err)
	require.False(t, l.wants(&one))
}

// A node that another launch brought about is not that of a launch, though it has its name.
func TestANodeOfAnotherLaunch(t *testing.T) {
	n := fresh()
	l := newLook(&target.Survey{Nodes: []*corev1.Node{n}})
	one := launch{Launch: api.NodeLaunch{Name: "d1-0"}, Launched: &api.LaunchedNode{Node: n.Name}}
	require.NotNil(t, l.made(&one))
	annotate(n, api.AnnotationLaunch, "d0-0")
	require.Nil(t, l.made(&one))
	annotate(n, api.AnnotationLaunch, "d1-0")
	require.NotNil(t, l.made(&one))
}

// lagging is a member that is seen late, as through a cache: what it looks like, and that it changed.
type lagging struct {
	target.Nodes
	lag   time.Duration
	calls atomic.Int64

	mu   sync.Mutex
	last *target.Survey
	at   time.Time
}

func (l *lagging) Survey(ctx context.Context) (*target.Survey, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && elsewhen.Since(l.at) < l.lag {
		return l.last, nil
	}
	s, err := l.Nodes.Survey(ctx)
	if err == nil {
		l.last, l.at = s, elsewhen.Now()
	}
	return s, err
}

func (l *lagging) Watch(ctx context.Context) <-chan target.Change {
	in, out := l.Nodes.Watch(ctx), make(chan target.Change)
	go func() {
		for c := range in {
			time.AfterFunc(l.lag, func() {
				select {
				case <-ctx.Done():
				case out <- c:
				}
			})
		}
	}()
	return out
}

func (l *lagging) UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	l.calls.Add(1)
	return l.Nodes.UpdateNode(ctx, name, change)
}

func (l *lagging) DeleteNode(ctx context.Context, name, uid string) error {
	l.calls.Add(1)
	return l.Nodes.DeleteNode(ctx, name, uid)
}

// What was done is not done over and over while the look at the member is behind.
func TestALookThatIsBehind(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1", "n2")
	m := &lagging{Nodes: s.member, lag: 300 * time.Millisecond}
	s.start(func(o *Options) { o.Target = m })
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
	s.command(in(launching("d1", "n1"), api.PhaseDraining))
	s.phase("d1", api.PhaseDone)
	require.Less(t, m.calls.Load(), int64(100))
}

// A provider that cannot be asked is asked again, and the reason is told.
func TestAProviderThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	p := &moody{Provider: s.provider}
	p.fault.Store(true)
	a := s.start(func(o *Options) { o.Provider = p })
	s.command(launching("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool {
		return r.Message == "replacement d1-0 waits for the provider: quota service is away"
	})
	s.command()
	s.eventually(func() error {
		if text := a.nodes.Trouble(); text != "launch d1-0 is not wanted any more and cannot be taken back: quota service is away" {
			return fmt.Errorf("trouble is %q", text)
		}
		return nil
	})
	p.fault.Store(false)
	s.eventually(func() error {
		if text := a.nodes.Trouble(); text != "" {
			return fmt.Errorf("trouble is %q", text)
		}
		return nil
	})
	p.fault.Store(true)
	s.command(draining("d2", "n1"))
	s.expect("d2", func(r *api.DisruptionResult) bool {
		return r.Message == "node n1 waits for its machine, which is being taken away; the provider, which cannot be asked: quota service is away"
	})
	p.fault.Store(false)
	s.phase("d2", api.PhaseDone)
}

// moody is a provider that cannot be asked for a while.
type moody struct {
	Provider
	fault atomic.Bool
}

var errAway = errors.New("quota service is away")

func (p *moody) Launch(ctx context.Context, l api.NodeLaunch) (api.LaunchedNode, error) {
	if p.fault.Load() {
		return api.LaunchedNode{}, errAway
	}
	return p.Provider.Launch(ctx, l)
}

func (p *moody) Delete(ctx context.Context, m api.NodeMachine) (bool, error) {
	if p.fault.Load() {
		return false, errAway
	}
	return p.Provider.Delete(ctx, m)
}

// The names of many nodes do not fit into a result.
func TestAResultThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.start()
	d := draining("d1")
	for i := range 100 {
		d.Nodes = append(d.Nodes, fmt.Sprintf("n%s-%03d", strings.Repeat("x", 200), i))
	}
	s.command(d)
	r := s.phase("d1", api.PhaseDone)
	require.Equal(t, "100 nodes are gone, too many to name", r.Message)
	require.Empty(t, r.Gone)
}

// attached is a member with a volume that hangs on node n1.
type attached struct {
	target.Nodes
	holds atomic.Bool
}

func (a *attached) Survey(ctx context.Context) (*target.Survey, error) {
	s, err := a.Nodes.Survey(ctx)
	if err != nil || !a.holds.Load() {
		return s, err
	}
	s.Attachments = append(s.Attachments, &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "a1"},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "disk", NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv1")}},
	})
	return s, nil
}

func TestAVolumeHoldsTheMachine(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.plant(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv1}, spec: {csi: {driver: disk, volumeHandle: h1}}}`)
	m := &attached{Nodes: s.member}
	m.holds.Store(true)
	s.start(func(o *Options) { o.Target = m })
	s.command(draining("d1", "n1"))
	s.expect("d1", func(r *api.DisruptionResult) bool {
		return r.Message == "node n1 waits for volume h1, which is attached"
	})
	require.True(t, s.member.HasMachine("n1"))
	m.holds.Store(false)
	s.phase("d1", api.PhaseDone)
}

func TestNamesOfAttachedVolumes(t *testing.T) {
	on := func(name string, source storagev1.VolumeAttachmentSource) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n1", Source: source}}
	}
	by := func(pv string) storagev1.VolumeAttachmentSource {
		return storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}
	}
	volume := func(name string, spec corev1.PersistentVolumeSpec) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "handle"}}
	inline := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "inline"}}
	l := newLook(&target.Survey{
		Volumes: []*corev1.PersistentVolume{
			volume("csi", corev1.PersistentVolumeSpec{PersistentVolumeSource: csi}),
			volume("claimed", corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "web", Name: "data"}}),
			volume("plain", corev1.PersistentVolumeSpec{}),
		},
		Attachments: []*storagev1.VolumeAttachment{
			on("1", by("csi")), on("2", by("claimed")), on("3", by("plain")), on("4", by("unknown")),
			on("5", storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{PersistentVolumeSource: inline}}),
			on("6", storagev1.VolumeAttachmentSource{}),
		},
	})
	require.Equal(t, []string{"handle", "web/data", "plain", "unknown", "inline", "6"}, l.attached["n1"])
}
