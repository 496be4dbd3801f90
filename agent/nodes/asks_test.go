package nodes

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// unhurried is a provider that is asked to take machines away and does so when it is let.
type unhurried struct {
	Provider
	mu    sync.Mutex
	let   bool
	asked []time.Time
}

func (p *unhurried) Delete(ctx context.Context, m api.NodeMachine) (bool, error) {
	p.mu.Lock()
	p.asked = append(p.asked, elsewhen.Now())
	let := p.let
	p.mu.Unlock()
	if !let {
		return false, nil
	}
	return p.Provider.Delete(ctx, m)
}

func (p *unhurried) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.let = true
}

// waits are the times between the first calls.
func (p *unhurried) waits(t *testing.T, calls int, s *scene) []time.Duration {
	t.Helper()
	s.eventually(func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.asked) < calls {
			return fmt.Errorf("asked %d times", len(p.asked))
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []time.Duration
	for i := range calls - 1 {
		out = append(out, p.asked[i+1].Sub(p.asked[i]))
	}
	return out
}

// A provider that takes its time is left alone in between, whatever happens on the member meanwhile.
func TestAProviderIsNotHurried(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault string // why the launch is not ready when it is taken back, empty when a node is drained
		then  string // the fault once the provider was asked
		node  string // whose machine goes
	}{
		"a machine without a node": {"hang-launch=any", "", ""},
		"a node that is not ready": {"never-ready=any", "", "d1-0"},
		"a node that shows up":     {"hang-launch=any", "never-ready=any", "d1-0"},
		"a node that is drained":   {"", "", "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "n1", "n2")
			p := &unhurried{Provider: s.provider}
			s.start(func(o *Options) { o.Provider = p })
			if row.fault == "" {
				s.command(draining("d1", "n1"))
			} else {
				s.fault(row.fault)
				s.command(launching("d1", "n1"))
				s.expect("d1", func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Node != "" })
				s.command(in(launching("d1", "n1"), api.PhaseAborted))
			}
			if row.then != "" {
				p.waits(t, 1, s)
				s.fault(row.then)
			}
			s.eventually(func() error { // the member is busy
				return s.member.UpdateNode(t.Context(), "n2", func(n *corev1.Node) { annotate(n, "busy", elsewhen.Now().String()) })
			})
			for i, wait := range p.waits(t, 5, s) {
				require.GreaterOrEqual(t, wait, firstAsk<<i, "wait %d", i)
			}
			p.release()
			if row.node == "" {
				row.node = "d1-0"
			}
			s.left(row.node)
		})
	}
}

func TestAsksBackOff(t *testing.T) {
	a, at := newAsks(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	require.True(t, a.again("x").IsZero())
	for _, wait := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		require.Equal(t, at.Add(wait*time.Millisecond), a.failed("x", nil, at))
	}
	require.Empty(t, a.why("x"))
	for _, wait := range []time.Duration{10, 20, 30, 30} {
		require.Equal(t, at.Add(wait*time.Second), a.failed("x", errCrashed, at))
	}
	require.Equal(t, at.Add(30*time.Second), a.again("x"))
	require.Equal(t, errCrashed.Error(), a.why("x"))
	a.over("x")
	require.True(t, a.again("x").IsZero())
	require.Empty(t, a.why("x"))
	a.failed("x", errCrashed, at)
	a.keep(&ledger{})
	require.Empty(t, a.why("x"))
}

// A look from before its node was being deleted ends no drain: it would forget how often the provider was asked.
func TestADrainOutlastsALookFromBefore(t *testing.T) {
	deleted := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1", DeletionTimestamp: &metav1.Time{Time: elsewhen.Now()}}}
	before := deleted.DeepCopy()
	before.DeletionTimestamp = nil
	ds := newDrains()
	d := ds.of(deleted)
	for _, l := range []*look{{nodes: map[string]*corev1.Node{"n1": before}}, {nodes: map[string]*corev1.Node{"n1": deleted}}} {
		ds.keep(l)
		require.Same(t, d, ds.seen(deleted))
	}
	ds.keep(&look{})
	require.Nil(t, ds.seen(deleted))
}

// The provider is asked about one machine by one who asks at a time, as package nodes promises: about the
// launch that is taken back, and about the node that came of it meanwhile.
func TestOneAsksAtATime(t *testing.T) {
	a, at := newAsks(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	require.True(t, a.take("x"))
	require.False(t, a.take("x"))
	require.True(t, a.take("y"))
	a.failed("x", nil, at)
	a.leave("x")
	require.True(t, a.take("x"))
	require.Equal(t, at.Add(firstAsk), a.of("x").again)
	require.True(t, a.take(""))
	require.True(t, a.take(""), "machines of no launch are many")
	a.put("", ask{wait: firstAsk})
	require.Zero(t, a.of(""))
}
