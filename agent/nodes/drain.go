package nodes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
)

// empty takes the next steps of emptying a node that is being deleted.
func (c *lifecycle) empty(ctx context.Context, l *look, n *corev1.Node) (time.Time, error) {
	d := c.drains.of(n)
	state := cluster.ObserveNode(n, l.pods[n.Name], l.volumes, nil)
	now, began := c.o.Hub.Now(), n.DeletionTimestamp.Time
	step := disruption.Drain(disruption.DrainInput{
		Node: &state, Began: began, Deadline: disruption.DrainDeadline(&state, began), Least: c.o.LeastDrain,
		Attached: l.attached[n.Name], Refused: d.refusals(), InstanceGone: d.over(), Now: now,
	})
	pods := map[string]*corev1.Pod{}
	for _, p := range l.pods[n.Name] {
		pods[p.Namespace+"/"+p.Name] = p
	}
	d.forget(step.Evict)
	c.evict(ctx, d, step.Evict, pods, now)
	faults := c.force(ctx, d, step.Delete, pods)
	switch {
	case step.Released:
		return now.Add(lookAgain), c.release(ctx, n)
	case step.DeleteInstance:
		if err := c.terminate(ctx, d, n, step.VolumesSkipped); err != nil {
			return time.Time{}, err
		}
	case !state.Ready && d.doubt(now):
		c.machines.Add(machineKey + n.Name) // it may be gone already
	}
	d.wait(append(step.WaitingFor, faults...))
	return loop.Sooner(loop.Sooner(now.Add(lookAgain), step.Recheck), d.nextEviction()), nil
}

// evict asks for pods to be evicted whose turn it is.
func (c *lifecycle) evict(ctx context.Context, d *drain, keys []string, pods map[string]*corev1.Pod, now time.Time) {
	for _, key := range keys {
		p := pods[key]
		if p == nil || !d.due(p.UID, now) {
			continue
		}
		err := c.call(ctx, func(ctx context.Context) error { return c.o.Target.Evict(ctx, refOf(p)) })
		switch {
		case err == nil:
			c.o.Log.Debug().Str("pod", key).Str("node", p.Spec.NodeName).Msg("a pod is being evicted")
			d.evicted(p.UID)
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			d.evicted(p.UID)
		default:
			d.refuse(p.UID, key, err.Error(), c.o.Hub.Now())
		}
	}
}

// force deletes pods whose node must be empty soon. It returns what went wrong.
func (c *lifecycle) force(ctx context.Context, d *drain, list []disruption.DrainDelete, pods map[string]*corev1.Pod) []string {
	var faults []string
	for _, one := range list {
		p := pods[one.Pod]
		if p == nil {
			continue
		}
		why := d.force(p.UID, c.o.Hub.Now(), func() string {
			c.o.Log.Info().Str("pod", one.Pod).Str("node", p.Spec.NodeName).Dur("grace", one.Grace).Msg("a pod is deleted because its node must go")
			err := c.call(ctx, func(ctx context.Context) error { return c.o.Target.DeletePod(ctx, refOf(p), one.Grace) })
			if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return ""
			}
			return err.Error()
		})
		if why != "" {
			faults = append(faults, fmt.Sprintf("pod %s, which could not be deleted: %s", one.Pod, why))
		}
	}
	return faults
}

func refOf(p *corev1.Pod) target.PodRef {
	return target.PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}

// terminate has the machine of an empty node taken away.
func (c *lifecycle) terminate(ctx context.Context, d *drain, n *corev1.Node, skipped bool) error {
	if n.Annotations[api.AnnotationInstanceTerminating] != "true" {
		c.o.Log.Info().Str("node", n.Name).Bool("volumesSkipped", skipped).Msg("the node is empty, its machine goes")
		if err := c.update(ctx, n, func(n *corev1.Node) { annotate(n, api.AnnotationInstanceTerminating, "true") }); err != nil {
			return err
		}
	}
	d.remove()
	c.machines.Add(machineKey + n.Name)
	return nil
}

// release lets a node go whose machine is gone.
func (c *lifecycle) release(ctx context.Context, n *corev1.Node) error {
	if err := c.update(ctx, n, func(n *corev1.Node) { drop(n, api.FinalizerTermination) }); err != nil {
		return err
	}
	c.o.Log.Info().Str("node", n.Name).Msg("the node is gone")
	return nil
}

// remove asks the provider about the machine of a node that is being deleted: to take it away once the
// node is empty, and before that, when the node is not ready, whether it is still there.
func (c *lifecycle) remove(ctx context.Context, name string) (time.Time, error) {
	l, err := c.look(ctx)
	if err != nil {
		return time.Time{}, err
	}
	n := l.nodes[name]
	d := c.drains.seen(n)
	if d == nil || d.over() {
		return time.Time{}, nil
	}
	m := api.NodeMachine{Member: c.o.Member, Node: n.Name, ProviderID: n.Spec.ProviderID, Launch: n.Annotations[api.AnnotationLaunch]}
	if !c.asks.take(m.Launch) {
		return c.o.Hub.Now().Add(firstAsk), nil
	}
	defer c.asks.leave(m.Launch)
	removing, again := d.next(c.asks.of(m.Launch))
	if c.o.Hub.Now().Before(again) {
		return again, nil
	}
	ask := c.o.Provider.Gone
	if removing {
		ask = c.o.Provider.Delete
	}
	gone, err := ask(ctx, m)
	now := c.o.Hub.Now()
	news, again := d.answer(gone, err, now)
	switch {
	case gone:
		c.asks.over(m.Launch)
	case removing:
		c.asks.put(m.Launch, d.pace())
	}
	if news {
		c.nodes.Add(name)
	}
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn().Err(err).Stringer("provider", c.o.Provider).Str("node", name).Dur("again", again.Sub(now)).Msg("the provider cannot be asked")
	}
	return again, nil
}
