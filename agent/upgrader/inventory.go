package upgrader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/target"
	"flotilla/bus/loop"
	"flotilla/core/api"
)

const (
	// surveyEvery is how often the member is looked at without a cause; what changed is told.
	surveyEvery = 5 * time.Minute
	// tellEvery is how often the inventory is told although it is the same.
	tellEvery = time.Hour
	// gatherTime gathers changes of the member before it is looked at.
	gatherTime = 500 * time.Millisecond
)

// inventory tells the hub what upgrades depend on.
type inventory struct {
	o      *Options
	ledger *ledger
	wake   chan struct{}

	mu     sync.Mutex
	known  api.MemberInventory // the last that was seen, for what cannot be read now
	told   api.MemberInventory
	toldAt time.Time
	force  bool

	telling sync.Mutex // one at a time, so that an older one never follows a newer
}

func newInventory(o *Options, l *ledger) *inventory {
	return &inventory{o: o, ledger: l, wake: make(chan struct{}, 1)}
}

// refresh makes run look at the member soon; force tells the hub even if nothing changed.
func (i *inventory) refresh(force bool) {
	i.mu.Lock()
	i.force = i.force || force
	i.mu.Unlock()
	wake(i.wake)
}

// run tells the inventory on connect, when it changed and every hour, until ctx ends.
func (i *inventory) run(ctx context.Context) {
	changes := i.o.Target.Watch(ctx)
	retry := loop.Backoff{First: firstRetry, Most: mostRetry}
	for {
		wait := surveyEvery - time.Duration(rand.Float64()*float64(surveyEvery)/5)
		if !i.o.Hub.Connected() {
			retry.Reset()
		} else if err := i.publish(ctx, i.due()); err != nil {
			if ctx.Err() == nil {
				i.o.Log.Debug().Err(err).Msg("the inventory could not be told; trying again")
			}
			wait = retry.Next()
			i.refreshLater()
		} else {
			retry.Reset()
		}
		if !i.rest(ctx, changes, wait) {
			return
		}
	}
}

// due reports, once, whether the hub is to be told whatever there is.
func (i *inventory) due() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	force := i.force || i.o.Hub.Now().Sub(i.toldAt) >= tellEvery
	i.force = false
	return force
}

// refreshLater makes the next look tell the hub, without bringing it forward.
func (i *inventory) refreshLater() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.force = true
}

// rest waits until there is a cause to look again; false when ctx ended.
func (i *inventory) rest(ctx context.Context, changes <-chan target.Change, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-i.wake:
			return true
		case c, ok := <-changes:
			if !ok {
				return ctx.Err() == nil
			}
			if !c.Nodes && !c.Health {
				continue
			}
			loop.Pause(ctx, gatherTime)
			for len(changes) > 0 {
				<-changes
			}
			return ctx.Err() == nil
		}
	}
}

// publish looks at the member and tells the hub what changed, or all when forced. While the hub is away
// nothing is told, which is no error: it is told all when the connection comes up.
func (i *inventory) publish(ctx context.Context, force bool) error {
	i.telling.Lock()
	defer i.telling.Unlock()
	now, err := i.look(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && (now.ClusterResourceID == "" || now.ControlPlaneVersion == ""):
		return fmt.Errorf("reading the member: %w", err) // half an inventory would be taken for another cluster
	case err != nil:
		i.o.Log.Debug().Err(err).Msg("not all of the member can be read for its inventory")
	}
	if !force && reflect.DeepEqual(now, i.last()) || !i.o.Hub.Connected() {
		return nil
	}
	sent := now
	sent.Observed = metav1.NewTime(i.o.Hub.Now().UTC().Truncate(time.Second))
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if err := i.o.Hub.PutInventory(ctx, sent); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told, i.toldAt = now, i.o.Hub.Now()
	return nil
}

func (i *inventory) last() api.MemberInventory {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.told
}

// look reads the member. What cannot be read stays as it was last seen; the error says why. What the
// driver says is not replaced by what the API server says while the driver cannot be asked: the two may
// name node pools in different ways.
func (i *inventory) look(ctx context.Context) (api.MemberInventory, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now, err := i.o.Driver.Inventory(ctx)
	i.mu.Lock()
	known := i.known
	i.mu.Unlock()
	if err == nil {
		err = i.fill(ctx, &now, &known)
	} else {
		now = known
		now.CurrentOperation = ""
	}
	i.configured(&now)
	if running, ok := i.ledger.started(); ok {
		now.CurrentOperation = running.Operation.ID
	} else if now.CurrentOperation == "" {
		now.CurrentOperation = i.ledger.accepted()
	}
	now.Header, now.Member, now.Observed = api.NewHeader(api.KindInventory), i.o.Member, metav1.Time{}
	normalise(&now)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known = now
	return now, err
}

// fill reads from the API server what the driver did not say, or takes what was last known.
func (i *inventory) fill(ctx context.Context, now, known *api.MemberInventory) error {
	var faults []error
	if now.ControlPlaneVersion == "" {
		version, err := i.o.Target.Version(ctx)
		faults = append(faults, err)
		now.ControlPlaneVersion = version
	}
	if now.NodePools == nil {
		nodes, err := i.o.Target.Nodes(ctx)
		faults = append(faults, err)
		now.NodePools = poolsOf(nodes)
		if err != nil {
			now.NodePools = known.NodePools
		}
	}
	if now.ClusterResourceID == "" && i.o.Facts.ClusterResourceID == "" {
		if now.ClusterResourceID = known.ClusterResourceID; now.ClusterResourceID == "" {
			space, err := i.o.Target.Get(ctx, api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem})
			faults = append(faults, err)
			if err == nil {
				now.ClusterResourceID = string(space.GetUID())
			}
		}
	}
	now.ControlPlaneVersion = cmp.Or(now.ControlPlaneVersion, known.ControlPlaneVersion)
	return errors.Join(faults...)
}

// configured puts in what the configuration says.
func (i *inventory) configured(now *api.MemberInventory) {
	f := &i.o.Facts
	now.ClusterResourceID = cmp.Or(f.ClusterResourceID, now.ClusterResourceID)
	now.Region = cmp.Or(f.Region, now.Region)
	now.LongTermSupport = now.LongTermSupport || f.LongTermSupport
	if f.Maintenance != nil {
		now.Maintenance = f.Maintenance
	}
}

// normalise writes versions without what distributions add, and names the family of each image.
func normalise(now *api.MemberInventory) {
	now.ControlPlaneVersion = plain(now.ControlPlaneVersion)
	now.NodePools = slices.Clone(now.NodePools)
	for i := range now.NodePools {
		p := &now.NodePools[i]
		p.KubernetesVersion = plain(p.KubernetesVersion)
		if p.ImageFamily == "" {
			p.ImageFamily, _, _ = api.NodeImageFamily(p.NodeImageVersion)
		}
	}
}

// poolsOf groups nodes into pools, sorted by name: the oldest kubelet and, when all have the same, the
// image. Nodes that name no pool are one, "default".
func poolsOf(nodes []target.Node) []api.NodePoolFacts {
	var out []api.NodePoolFacts
	for i := range nodes {
		n := &nodes[i]
		name := cmp.Or(n.Pool, "default")
		at, there := slices.BinarySearchFunc(out, name, func(p api.NodePoolFacts, name string) int { return strings.Compare(p.Name, name) })
		if !there {
			out = slices.Insert(out, at, api.NodePoolFacts{Name: name, KubernetesVersion: plain(n.Kubelet), NodeImageVersion: n.Image})
			continue
		}
		p := &out[at]
		if !reaches(n.Kubelet, p.KubernetesVersion) {
			p.KubernetesVersion = plain(n.Kubelet)
		}
		if p.NodeImageVersion != n.Image {
			p.NodeImageVersion = ""
		}
	}
	return out
}
