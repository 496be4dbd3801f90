package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

// Times of a drain.
const (
	stuckTerminating = time.Minute
	leastDrain       = 5 * time.Second
)

// DrainInput is a node that is to be emptied, as the agent sees it.
type DrainInput struct {
	Node *api.NodeState
	// Began is when the drain began; Deadline when it must end, zero for never.
	Began    time.Time
	Deadline time.Time
	// Least is how long a drain lasts even when there is nothing to wait for, 5 s when 0.
	Least time.Duration
	// Attached are the volumes that are still attached to the node.
	Attached []string
	// Refused are pods whose eviction was refused last, with the reason.
	Refused map[string]string
	// InstanceGone says that the provider no longer knows the machine.
	InstanceGone bool
	Now          time.Time
}

// DrainStep is what the agent does next.
type DrainStep struct {
	// Evict are pods to ask the eviction API for, Delete those to delete at once with a grace.
	Evict  []string
	Delete []DrainDelete
	// WaitingFor says what keeps the node, pod or volume, and why.
	WaitingFor []string
	// Drained says that no pod is left to wait for, Detached that no volume is; DeleteInstance that
	// the machine may go, and Released that the node's finalizer may be taken off.
	Drained, Detached bool
	DeleteInstance    bool
	Released          bool
	// VolumesSkipped says that the deadline passed with volumes attached.
	VolumesSkipped bool
	Recheck        time.Time
}

// DrainDelete is a pod to delete past PodDisruptionBudgets and do-not-disrupt.
type DrainDelete struct {
	Pod   string
	Grace time.Duration
}

// DrainDeadline is when a node that began to be deleted must be empty; zero for never.
func DrainDeadline(s *api.NodeState, began time.Time) time.Time {
	d, err := time.ParseDuration(s.TerminationGracePeriod)
	if err != nil {
		return time.Time{}
	}
	return began.Add(d)
}

// Drain returns the next step of emptying a node: pods in four waves, then volumes, then the machine.
func Drain(in DrainInput) DrainStep {
	var step DrainStep
	if in.InstanceGone && !in.Node.Ready {
		return DrainStep{Drained: true, Detached: true, Released: true}
	}
	step.pods(&in)
	least := cmp.Or(in.Least, leastDrain)
	if ready := in.Began.Add(least); step.Drained && in.Now.Before(ready) {
		step.Drained = false
		step.WaitingFor = append(step.WaitingFor, "the least time of a drain, "+least.String())
		step.wake(ready, in.Now)
	}
	if !step.Drained {
		return step
	}
	step.volumes(&in)
	if !step.Detached {
		return step
	}
	step.DeleteInstance, step.Released = !in.InstanceGone, in.InstanceGone
	return step
}

func (s *DrainStep) wake(at, now time.Time) {
	if at.After(now) && (s.Recheck.IsZero() || at.Before(s.Recheck)) {
		s.Recheck = at
	}
}

// wave is the order in which pods go: critical pods after others, daemons after other pods.
func wave(p *cluster.Pod) int {
	n := 0
	if p.Daemon {
		n++
	}
	if p.State.Critical {
		n += 2
	}
	return n
}

// pods plans evictions of the first wave that is not gone, and deletions of pods that must begin to
// end now to be gone by the deadline.
func (s *DrainStep) pods(in *DrainInput) {
	c := cluster.NewCluster()
	var left []*cluster.Pod
	for i := range in.Node.Pods {
		p := c.NewPod(&in.Node.Pods[i])
		if waitedFor(p, in.Now) {
			left = append(left, p)
		}
	}
	slices.SortFunc(left, func(a, b *cluster.Pod) int { return cmp.Or(cmp.Compare(wave(a), wave(b)), cmp.Compare(a.Key, b.Key)) })
	s.Drained = len(left) == 0
	for _, p := range left {
		s.one(p, wave(p) == wave(left[0]), in)
	}
}

// waitedFor reports whether a drain waits for a pod: not for ended and mirror pods, for those that
// tolerate the taint, and for those that are stuck.
func waitedFor(p *cluster.Pod, now time.Time) bool {
	if simulate.Ended(p.State) || p.Stays() {
		return false
	}
	return !p.State.Terminating || now.Before(p.State.GoneBy.Add(stuckTerminating))
}

// one plans what happens to a pod whose turn it is, or is not yet.
func (s *DrainStep) one(p *cluster.Pod, turn bool, in *DrainInput) {
	if in.Deadline.IsZero() {
		s.evict(p, turn, in)
		return
	}
	due := in.Deadline.Add(-p.Grace())
	switch {
	case p.State.Terminating && p.State.GoneBy.After(in.Deadline), !p.State.Terminating && in.Now.After(due):
		s.Delete = append(s.Delete, DrainDelete{p.Key, max(time.Second, in.Deadline.Sub(in.Now))})
		s.WaitingFor = append(s.WaitingFor, fmt.Sprintf("pod %s, which is deleted because of the deadline %s", p.Key, in.Deadline.UTC().Format(time.RFC3339)))
	default:
		s.evict(p, turn, in)
		s.wake(due.Add(time.Second), in.Now)
	}
}

func (s *DrainStep) evict(p *cluster.Pod, turn bool, in *DrainInput) {
	now := in.Now
	held, until := p.Protected(now)
	switch {
	case p.State.Terminating:
		s.WaitingFor = append(s.WaitingFor, "pod "+p.Key+", which is terminating")
		s.wake(p.State.GoneBy.Add(stuckTerminating), now)
	case held:
		s.WaitingFor = append(s.WaitingFor, "pod "+p.Key+", which has the annotation "+api.AnnotationDoNotDisrupt)
		s.wake(until, now)
	case turn:
		s.Evict = append(s.Evict, p.Key)
		if why := in.Refused[p.Key]; why != "" {
			s.WaitingFor = append(s.WaitingFor, "pod "+p.Key+", whose eviction was refused: "+why)
		} else {
			s.WaitingFor = append(s.WaitingFor, "pod "+p.Key+", which is being evicted")
		}
	default:
		s.WaitingFor = append(s.WaitingFor, "pod "+p.Key+", whose turn comes after the pods before it")
	}
}

// volumes waits for volumes to be detached, except those of pods that stay, until the deadline.
func (s *DrainStep) volumes(in *DrainInput) {
	staying := map[string]bool{}
	for i := range in.Node.Pods {
		for _, v := range in.Node.Pods[i].Volumes {
			staying[cmp.Or(v.ID, v.Name)] = true
		}
	}
	var waiting []string
	for _, v := range in.Attached {
		if !staying[v] {
			waiting = append(waiting, "volume "+v+", which is attached")
		}
	}
	if !in.Deadline.IsZero() && !in.Now.Before(in.Deadline) {
		s.Detached, s.VolumesSkipped = true, len(waiting) > 0
		return
	}
	s.Detached = len(waiting) == 0
	s.WaitingFor = append(s.WaitingFor, waiting...)
	s.wake(in.Deadline, in.Now)
}
