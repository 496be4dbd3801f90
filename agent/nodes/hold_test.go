package nodes

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// shared is a provider of a cluster in which others decide about nodes, too.
type shared struct {
	Provider
	mu       sync.Mutex
	holds    int
	releases int
	refuses  error
}

func (p *shared) Hold(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds++
	return p.refuses
}

func (p *shared) Release(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releases++
	return p.refuses
}

// count is how often others were held, and given back what they had.
func (p *shared) count() (holds, releases int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds, p.releases
}

func (p *shared) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = err
}

// Others are held before the hub has said anything, again when that failed, and until the member leaves.
func TestOthersAreHeldUntilTheMemberLeaves(t *testing.T) {
	s := newScene(t, "n1")
	p := &shared{Provider: s.provider, refuses: errors.New("nobody may")}
	s.start(func(o *Options) { o.Provider = p })
	s.eventually(func() error {
		if holds, _ := p.count(); holds < 2 {
			return errors.New("it was not tried again")
		}
		return nil
	})
	p.refuse(nil)
	_, releases := p.count()
	require.Zero(t, releases)
	s.generation++
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: s.generation}, func(c *api.DisruptionCommand) { c.Leaving = true })
	s.eventually(func() error {
		if _, releases := p.count(); releases == 0 {
			return errors.New("nothing is given back")
		}
		return nil
	})
	s.agent.stop()
	holds, _ := p.count()
	s.start(func(o *Options) { o.Provider = p })
	s.eventually(func() error {
		if _, releases := p.count(); releases < 2 {
			return errors.New("the agent that was started anew has not looked")
		}
		return nil
	})
	again, _ := p.count()
	require.Equal(t, holds, again, "an agent that was started anew knows that the member leaves")
}

// An agent that is to leave nodes alone gives back what others had.
func TestOthersHaveTheirWayWhereNodesAreLeftAlone(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	o := hub.options(m)
	p := &shared{}
	o.Provider = p
	abstain(t, o, "nodes.enabled is false")
	s := &scene{t: t}
	s.eventually(func() error {
		if _, releases := p.count(); releases != 1 {
			return errors.New("nothing is given back")
		}
		return nil
	})
}

// What somebody else registers and looks after is marked as going, and nothing else: by a taint that he does not take off.
func TestNodesThatOthersKeep(t *testing.T) {
	l := made()
	l.Launched.KeptBy = "Karpenter"
	n := fresh()
	idle := care{launch: &l, commanded: true}
	require.True(t, idle.marked(n), "he registers it")
	busy := care{launch: &l, commanded: true, id: "d1"}
	before := n.Spec.Taints
	busy.mark(n)
	require.Empty(t, n.Finalizers)
	require.Equal(t, append(before, corev1.Taint{Key: "flotilla.io/disrupted", Effect: corev1.TaintEffectNoSchedule}), n.Spec.Taints)
	require.True(t, tainted(n))
	idle.mark(n)
	require.Equal(t, before, n.Spec.Taints)
	require.Equal(t, fresh().Labels, n.Labels)

	his := fresh()
	his.Finalizers, his.Labels[api.LabelNodePool] = []string{api.FinalizerKarpenter}, "general"
	his.Spec.Taints = []corev1.Taint{disrupted}
	require.True(t, (&care{commanded: true}).marked(his), "a taint of his own is his")
}
