package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/bus/loop"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An eviction that was refused is tried again after the first of these, doubling to the second.
const (
	firstEviction   = 100 * time.Millisecond
	longestEviction = 10 * time.Second
)

// drains is what is known of the nodes that are being emptied, by uid. Nothing of it must outlive the
// process: it is how often something was tried.
type drains struct {
	mu    sync.Mutex
	byUID map[types.UID]*drain
}

// drain is one node that is being emptied.
type drain struct {
	mu sync.Mutex
	// refused are the pods whose eviction was refused last, by uid.
	refused map[types.UID]refusal
	// forced are the pods that were deleted, by uid, and what came of it.
	forced  map[types.UID]refusal
	waiting []string // what the node waits for
	fault   string   // why the provider could not be asked
	// removing says that the machine is to go, gone that it is.
	removing, gone bool
	asked          ask
	doubted        time.Time
}

// refusal is when an eviction is tried again.
type refusal struct {
	pod   string
	why   string
	wait  time.Duration
	again time.Time
}

func newDrains() *drains { return &drains{byUID: map[types.UID]*drain{}} }

// of is the drain of a node, begun now when it was not before.
func (d *drains) of(n *corev1.Node) *drain {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.byUID[n.UID]
	if one == nil {
		one = &drain{refused: map[types.UID]refusal{}, forced: map[types.UID]refusal{}}
		d.byUID[n.UID] = one
	}
	return one
}

// seen is the drain of a node, nil when there is none.
func (d *drains) seen(n *corev1.Node) *drain {
	if n == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byUID[n.UID]
}

// busy reports whether any node is being emptied.
func (d *drains) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.byUID) > 0
}

// keep forgets the drains of nodes that are gone. One that the look shows before it was being deleted is not: the
// look is older than the drain.
func (d *drains) keep(l *look) {
	left := map[types.UID]bool{}
	for _, n := range l.nodes {
		left[n.UID] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.byUID, func(uid types.UID, _ *drain) bool { return !left[uid] })
}

// refusals are the reasons of the evictions that were refused last, by pod.
func (d *drain) refusals() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]string{}
	for _, r := range d.refused {
		out[r.pod] = r.why
	}
	return out
}

// due reports whether a pod may be evicted now.
func (d *drain) due(pod types.UID, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !now.Before(d.refused[pod].again)
}

// forget drops the refusals of pods that are not to be evicted any more.
func (d *drain) forget(but []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.refused, func(_ types.UID, r refusal) bool { return !slices.Contains(but, r.pod) })
}

func (d *drain) evicted(pod types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refused, pod)
}

func (d *drain) refuse(pod types.UID, key, why string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := min(longestEviction, cmp.Or(2*d.refused[pod].wait, firstEviction))
	d.refused[pod] = refusal{pod: key, why: why, wait: wait, again: now.Add(wait)}
}

// nextEviction is when the first refused one is tried again, zero when none was refused.
func (d *drain) nextEviction() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out time.Time
	for _, r := range d.refused {
		out = loop.Sooner(out, r.again)
	}
	return out
}

// force deletes a pod, unless that was tried just now, and returns what went wrong the last time.
func (d *drain) force(pod types.UID, now time.Time, do func() string) (why string) {
	d.mu.Lock()
	last, tried := d.forced[pod]
	d.mu.Unlock()
	if tried && now.Before(last.again) {
		return last.why
	}
	last = refusal{why: do(), again: now.Add(lookAgain)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forced[pod] = last
	return last.why
}

// wait notes what the node waits for.
func (d *drain) wait(reasons []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = reasons
}

// String is what the node waits for, in short.
func (d *drain) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := slices.Clone(d.waiting)
	if d.removing {
		waiting = append(waiting, "its machine, which is being taken away")
	}
	if d.fault != "" {
		waiting = append(waiting, "the provider, which cannot be asked: "+d.fault)
	}
	if more := len(waiting) - mostWaiting; more > 0 {
		waiting = append(waiting[:mostWaiting], fmt.Sprintf("%d more", more))
	}
	return strings.Join(waiting, "; ")
}

// mostWaiting is how many reasons are told of one node.
const mostWaiting = 3

func (d *drain) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// doubt reports whether it is time to ask whether the machine is still there.
func (d *drain) doubt(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Before(d.doubted.Add(longestAsk)) {
		return false
	}
	d.doubted = now
	return true
}

// remove notes that the machine is to go.
func (d *drain) remove() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.removing {
		d.removing, d.asked = true, ask{}
	}
}

// next is whether the machine is to be taken away, and when the provider may be asked, which was asked
// before about the launch that the node came of.
func (d *drain) next(before ask) (removing bool, again time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before.again.After(d.asked.again) {
		d.asked = before
	}
	return d.removing, d.asked.again
}

// pace is how often the provider was asked in vain.
func (d *drain) pace() ask {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// answer notes what the provider said. It reports whether that is news, and when to ask again, zero when
// there is no need to.
func (d *drain) answer(gone bool, err error, now time.Time) (news bool, again time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	news = gone && !d.gone || fault != d.fault
	d.gone, d.fault = d.gone || gone, fault
	if err == nil && (gone || !d.removing) {
		return news, time.Time{}
	}
	return news, d.asked.failed(err, now)
}
