package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// doomed is a pod that is deleted past what protects it, in time for the end of its node's
// terminationGracePeriod (N25).
type doomed struct {
	pod *cluster.Pod
	// after is when, counted from the begin of the drain; withNode that no drain waits for the pod, so that it
	// ends with the machine, at the latest then.
	after    time.Duration
	withNode bool
	why      Refusal
}

// doomedOn are the pods of a node that its drain would kill if it began now, as Drain does it: nil for a node
// without a terminationGracePeriod. What a PodDisruptionBudget does not let go now may go before.
func doomedOn(x *simulate.Index, n *simulate.ExistingNode) []doomed {
	end := DrainDeadline(n.State, x.State.Now)
	if end.IsZero() {
		return nil
	}
	pods := make([]*cluster.Pod, 0, len(n.Pods))
	for i := range n.Pods {
		if n.Pods[i].Active {
			pods = append(pods, &n.Pods[i])
		}
	}
	b := &bounds{now: x.State.Now, period: end.Sub(x.State.Now), cover: &x.Cover, taken: map[*cluster.PodBudget]int{}}
	slices.SortFunc(pods, b.order)
	var out []doomed
	for _, p := range pods {
		if k := b.judge(p); k.why.Code != "" {
			out = append(out, k)
		}
	}
	return out
}

// bounds judges the pods of one node, one after another as they are evicted.
type bounds struct {
	now    time.Time
	period time.Duration
	cover  *simulate.BudgetCover
	taken  map[*cluster.PodBudget]int // evictions that went to pods before
}

// order is that in which pods are evicted; those that are deleted at once, without asking, come last.
func (b *bounds) order(p, q *cluster.Pod) int {
	atOnce := func(p *cluster.Pod) bool { return p.Grace() > b.period }
	until := func(p *cluster.Pod) time.Time {
		if held, until := p.Protected(b.now); held {
			return until
		}
		return time.Time{}
	}
	return cmp.Or(compareBool(atOnce(p), atOnce(q)), cmp.Compare(wave(p), wave(q)), until(p).Compare(until(q)), cmp.Compare(p.Key, q.Key))
}

// judge says what protects a pod until it is deleted; without a code it is evicted before.
func (b *bounds) judge(p *cluster.Pod) doomed {
	k := doomed{pod: p, after: max(0, b.period-p.Grace()), withNode: p.Stays()}
	if k.withNode {
		k.after = b.period
	}
	held, until := p.Protected(b.now)
	switch {
	case held && (until.IsZero() || k.withNode || until.After(b.now.Add(k.after))):
		k.why = Refusal{Code: CodePodProtected, Message: "it has the annotation " + api.AnnotationDoNotDisrupt + phrase.Until(until)}
	case !k.withNode:
		k.why = b.budgeted(p)
	}
	return k
}

// budgeted says which PodDisruptionBudgets do not let a pod go now.
func (b *bounds) budgeted(p *cluster.Pod) Refusal {
	covering := b.cover.Of(p)
	if len(covering) > 1 {
		return Refusal{Code: CodePDBOverlap, Message: fmt.Sprintf("PodDisruptionBudgets %s and %s both cover it, which the eviction API refuses", covering[0].Name, covering[1].Name)}
	}
	for _, one := range covering {
		switch {
		case !one.Holds(p):
		case b.taken[one] < one.Allowed:
			b.taken[one]++
		case one.Allowed <= 0:
			return Refusal{Code: CodePDB, About: one.Name, Message: fmt.Sprintf("PodDisruptionBudget %s allows no eviction%s; once it does, the pod is evicted", one.Name, one.RuleText())}
		default:
			return Refusal{Code: CodePDBExceeded, About: one.Name, Message: fmt.Sprintf("PodDisruptionBudget %s allows %s%s, and other pods here go first; once it allows more, the pod is evicted", one.Name,
				phrase.Count(one.Allowed, "eviction"), one.RuleText())}
		}
	}
	return Refusal{}
}

// told is what is told of a doomed pod of a node, its destination yet to be added.
func (k *doomed) told(from *simulate.ExistingNode, now time.Time) api.KilledPod {
	out := api.KilledPod{
		PodMove: api.PodMove{Pod: k.pod.Key, From: from.State.Name}, After: metav1.Duration{Duration: k.after}, WithNode: k.withNode,
		Code: string(k.why.Code), Message: k.why.Message, About: k.why.About,
	}
	out.At = metav1.NewTime(now.UTC().Truncate(time.Second).Add(k.after))
	return out
}

// byMoment is the order in which pods are killed.
func byMoment(a, b *api.KilledPod) int {
	return cmp.Or(cmp.Compare(a.After.Duration, b.After.Duration), cmp.Compare(a.Pod, b.Pod))
}

// KilledFrom are pods that are killed by a drain that begins at a moment.
func KilledFrom(list []api.KilledPod, began time.Time) []api.KilledPod {
	out := slices.Clone(list)
	for i := range out {
		out[i].At = metav1.NewTime(began.UTC().Truncate(time.Second).Add(out[i].After.Duration))
	}
	return out
}

// killedPods names the pods that a command kills.
func (c *Command) killedPods() []string {
	var pods []string
	for i := range c.Killed {
		pods = append(pods, c.Killed[i].Pod)
	}
	return pods
}

// killedWhen says when a command kills a pod: new nodes delay the drain by who knows how long.
func (c *Command) killedWhen(k *api.KilledPod) string {
	at, launches := k.At.UTC().Format(time.RFC3339), len(c.Replacements) > 0
	switch {
	case k.WithNode && launches:
		return fmt.Sprintf("with its node, %s into the drain or before", k.After.Duration)
	case k.WithNode:
		return "with its node, at " + at + " or before"
	case launches && k.After.Duration == 0:
		return "as the drain begins"
	case launches:
		return fmt.Sprintf("%s into the drain, at %s or later", k.After.Duration, at)
	default:
		return "at " + at
	}
}

// killedNote warns of pods that are killed, nothing of none.
func killedNote(pods []string, how string) []string {
	const until = "in time for the end of terminationGracePeriod"
	switch len(pods) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("pod %s is killed%s past what protects it, %s", pods[0], how, until)}
	}
	return []string{fmt.Sprintf("%d pods are killed%s past what protects them, %s: %s", len(pods), how, until, phrase.Names(pods, ShownNames))}
}
