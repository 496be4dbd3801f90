package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/core/api"
)

var errCrashed = errors.New("the agent is no more")

// fuse ends an agent at one of its steps, which are its calls that change something: before the call or
// after it, when its outcome is never heard of. From then on every call of that agent fails.
type fuse struct {
	at     int // which step, from 1
	before bool
	blown  chan struct{}

	mu    sync.Mutex
	steps []string
}

func newFuse(at int, before bool) *fuse {
	return &fuse{at: at, before: before, blown: make(chan struct{})}
}

// step does something that changes the member.
func (f *fuse) step(what string, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.steps) >= f.at {
		return errCrashed
	}
	f.steps = append(f.steps, what)
	if len(f.steps) < f.at {
		return do()
	}
	if !f.before {
		_ = do() // nobody hears what came of it
	}
	close(f.blown)
	return errCrashed
}

func (f *fuse) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.steps)
}

// fusedTarget and fusedProvider are a member and a provider for an agent with a fuse.
type fusedTarget struct {
	target.Nodes
	*fuse
}

func (f fusedTarget) UpdateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	return f.step("update "+name, func() error { return f.Nodes.UpdateNode(ctx, name, change) })
}

func (f fusedTarget) Evict(ctx context.Context, pod target.PodRef) error {
	return f.step("evict", func() error { return f.Nodes.Evict(ctx, pod) })
}

func (f fusedTarget) DeletePod(ctx context.Context, pod target.PodRef, grace time.Duration) error {
	return f.step("delete a pod", func() error { return f.Nodes.DeletePod(ctx, pod, grace) })
}

func (f fusedTarget) DeleteNode(ctx context.Context, name, uid string) error {
	return f.step("delete "+name, func() error { return f.Nodes.DeleteNode(ctx, name, uid) })
}

type fusedProvider struct {
	Provider
	*fuse
}

func (f fusedProvider) Launch(ctx context.Context, l api.NodeLaunch) (answer api.LaunchedNode, err error) {
	err = f.step("launch "+l.Name, func() error { answer, err = f.Provider.Launch(ctx, l); return err })
	return answer, err
}

func (f fusedProvider) Delete(ctx context.Context, m api.NodeMachine) (gone bool, err error) {
	err = f.step("remove "+m.Node, func() error { gone, err = f.Provider.Delete(ctx, m); return err })
	return gone, err
}

// lives are an agent that ends at a step and the one that follows it.
type lives struct {
	*scene
	fuse    *fuse
	now     *actor
	crashed bool
}

func (s *scene) lives(at int, before bool) *lives {
	s.t.Helper()
	l := &lives{scene: s, fuse: newFuse(at, before)}
	l.now = s.start(func(o *Options) {
		o.Target, o.Provider = fusedTarget{s.member, l.fuse}, fusedProvider{s.provider, l.fuse}
	})
	return l
}

// until waits, and has another agent go on when the first ended.
func (l *lives) until(f func() error) {
	l.t.Helper()
	l.eventually(func() error {
		select {
		case <-l.fuse.blown:
			if !l.crashed {
				l.crashed = true
				l.now.stop()
				l.now = l.start()
			}
		default:
		}
		if err := f(); err != nil {
			return fmt.Errorf("%w after %v", err, l.fuse.taken())
		}
		return nil
	})
}

// reach waits for a result of d1 that holds.
func (l *lives) reach(holds func(r *api.DisruptionResult) bool) {
	l.t.Helper()
	l.until(func() error {
		r, err := l.result("d1")
		if err == nil && !holds(&r) {
			err = fmt.Errorf("result is %+v", r)
		}
		return err
	})
}

// every runs a scene with the agent ending at every step there is, before and after it.
func every(t *testing.T, least int, faults []string, run func(l *lives)) {
	t.Helper()
	for _, before := range []bool{true, false} {
		at, crashed := 0, true
		for crashed && !t.Failed() {
			at++
			t.Run(fmt.Sprintf("before %t, step %d", before, at), func(t *testing.T) {
				s := newScene(t, "n1")
				s.plant(deployment("web", 2, ""))
				s.expectPods("n1", "web", "web")
				s.fault(faults...)
				l := s.lives(at, before)
				run(l)
				crashed = l.crashed
			})
		}
		require.Greater(t, at, least, "there are more steps than that")
	}
}

// A replacement and the end of its node: nothing is launched twice, no drain is lost, nothing is left
// behind.
func TestAnAgentEndsAtEveryStepOfAReplacement(t *testing.T) {
	t.Parallel()
	every(t, 8, nil, func(l *lives) {
		l.command(launching("d1", "n1"))
		l.reach(func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Initialized })
		l.command(in(launching("d1", "n1"), api.PhaseDraining))
		l.reach(func(r *api.DisruptionResult) bool {
			return r.Phase == api.PhaseDone && slices.Equal(r.Gone, []string{"n1"})
		})
		l.command()
		l.until(func() error {
			if n := l.node("n1"); n != nil || len(l.ledger().all()) > 0 {
				return fmt.Errorf("left: %v, %v", n, l.ledger().all())
			}
			return nil
		})
		l.expectPods("d1-0", "web", "web")
		require.Equal(l.t, []string{"d1-0"}, l.member.Machines())
		n := l.node("d1-0")
		require.Equal(l.t, "true", n.Labels[api.LabelInitialized])
		require.False(l.t, tainted(n))
		for _, name := range l.provider.asked {
			require.Equal(l.t, "d1-0", name)
		}
	})
}

// An abort while a replacement is on its way: it goes, and the node stays as it was.
func TestAnAgentEndsAtEveryStepOfAnAbort(t *testing.T) {
	t.Parallel()
	every(t, 8, []string{"never-ready=any"}, func(l *lives) {
		l.command(launching("d1", "n1"))
		l.reach(func(r *api.DisruptionResult) bool { return len(r.Replacements) == 1 && r.Replacements[0].Node != "" })
		l.command(in(launching("d1", "n1"), api.PhaseAborted))
		l.reach(func(r *api.DisruptionResult) bool { return r.Phase == api.PhaseAborted })
		l.until(func() error {
			if n := l.node("d1-0"); n != nil || len(l.ledger().all()) > 0 || l.member.HasMachine("d1-0") {
				return fmt.Errorf("left: %v, %v", n, l.ledger().all())
			}
			return nil
		})
		n := l.node("n1")
		require.False(l.t, tainted(n))
		require.NotContains(l.t, n.Annotations, api.AnnotationDisruption)
		require.Nil(l.t, n.DeletionTimestamp)
		require.Equal(l.t, []string{"web", "web"}, l.podsOn("n1"))
	})
}

// An abort that overtakes the launch: nothing is left, whoever knew of what.
func TestAnAgentEndsAtEveryStepOfAnEarlyAbort(t *testing.T) {
	t.Parallel()
	every(t, 1, nil, func(l *lives) {
		l.command(launching("d1", "n1"))
		l.until(func() error {
			if _, err := l.result("d1"); err != nil && !l.crashed {
				return err
			}
			return nil
		})
		l.command(in(launching("d1", "n1"), api.PhaseAborted))
		l.reach(func(r *api.DisruptionResult) bool { return r.Phase == api.PhaseAborted })
		l.until(func() error {
			n := l.node("d1-0")
			up := n != nil && n.Labels[api.LabelInitialized] == "true" && n.DeletionTimestamp == nil
			if left := len(l.ledger().all()); left > 0 || l.member.HasMachine("d1-0") != up || n != nil && !up {
				return fmt.Errorf("left: %v, %d launches", n, left)
			}
			return nil
		})
		require.False(l.t, tainted(l.node("n1")))
	})
}

// A node that is deleted by hand while nobody knows what the hub wants.
func TestAnAgentEndsAtEveryStepOfADrain(t *testing.T) {
	t.Parallel()
	every(t, 5, nil, func(l *lives) {
		l.until(func() error {
			if n := l.node("n1"); !ours(n) {
				return fmt.Errorf("node is %v", n)
			}
			return nil
		})
		l.member.AddNode(generalNode(l.t, "n2"))
		require.NoError(l.t, l.member.DeleteNode(l.t.Context(), "n1", ""))
		l.until(func() error {
			if n := l.node("n1"); n != nil {
				return fmt.Errorf("node is %v", n)
			}
			return nil
		})
		l.expectPods("n2", "web", "web")
	})
}
