package nodes

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/core/api"
)

// Abstain leaves the member's nodes alone, until ctx ends: it takes off them what an agent that looked
// after them put there, so that they can go without one, and tells the hub that it is told of no nodes,
// and why, in place of what it was told before. A node that is being deleted already keeps our finalizer:
// without it its pods would be lost, and its machine left to be paid for. Launches that are not over are
// named in the log alone. What a Provider keeps others from is given back. Of the options it reads Member, Hub, Target,
// Provider, if any, Data and Log.
func Abstain(ctx context.Context, o Options, why string) error {
	connected := make(chan struct{}, 1)
	defer o.Hub.OnConnect(func() { wake(connected) })()
	warnOfLaunches(&o)
	released := false
	retry := loop.Backoff{First: firstRetry, Most: mostRetry}
	for {
		var faults []error
		if !released {
			err := errors.Join(releaseAll(ctx, &o), releaseHolder(ctx, &o))
			released = err == nil
			faults = append(faults, err)
		}
		if o.Hub.Connected() {
			faults = append(faults, decline(ctx, o.Hub, why))
		}
		again := time.NewTimer(retry.Next())
		if err := errors.Join(faults...); err == nil {
			again.Stop()
		} else if ctx.Err() == nil {
			o.Log.Debug().Err(err).Msg("leaving the nodes of the member alone")
		}
		select {
		case <-ctx.Done():
			again.Stop()
			return nil
		case <-again.C:
		case <-connected:
			again.Stop()
			retry.Reset()
		}
	}
}

func releaseHolder(ctx context.Context, o *Options) error {
	if by, able := o.Provider.(Holder); able {
		return release(ctx, by)
	}
	return nil
}

// warnOfLaunches names the machines that an agent which looked after the nodes has begun to launch: nobody
// takes them back.
func warnOfLaunches(o *Options) {
	l, err := openLedger(filepath.Join(o.Data, "nodes"), o.Member)
	if err != nil {
		o.Log.Warn().Err(err).Msg("which nodes are being launched is not known")
		return
	}
	for _, one := range l.all() {
		o.Log.Warn().Str("launch", one.Launch.Name).Str("node", one.machine().Node).Msg("the launch is not over and nobody takes its machine back: turn nodes.enabled on, or take it away by hand")
	}
}

// releaseAll takes the finalizer and the taint off all nodes that have them from us and are not being
// deleted.
func releaseAll(ctx context.Context, o *Options) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	all, err := o.Target.NodeObjects(ctx)
	if err != nil {
		return err
	}
	var faults []error
	leaving := care{leaving: true}
	for _, n := range all {
		if _, tagged := n.Annotations[api.AnnotationDisruption]; !tagged && !ours(n) {
			continue
		}
		if n.DeletionTimestamp != nil && ours(n) {
			o.Log.Warn().Str("node", n.Name).Msg("the node is being deleted and nobody empties it: turn nodes.enabled on until it is gone, or take the finalizer " + api.FinalizerTermination + " off it when its pods and its machine are taken care of")
			continue
		}
		if err := o.Target.UpdateNode(ctx, n.Name, leaving.mark); err != nil && !apierrors.IsNotFound(err) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// decline tells the hub that it is told of no nodes, unless that is the last it heard.
func decline(ctx context.Context, hub *member.Conn, why string) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	last, err := hub.NodeInventory(ctx)
	if err == nil && last.Withheld == why && len(last.Nodes) == 0 {
		return nil
	}
	at := hub.Now().UTC().Truncate(time.Second)
	if err == nil && !at.After(last.At.Time) {
		at = last.At.Add(time.Second)
	}
	return hub.PutNodeInventory(ctx, api.NodeInventory{
		Boot: rand.Text(), Sequence: 1, At: metav1.NewTime(at), Nodes: map[string]uint64{}, Withheld: why,
	})
}
