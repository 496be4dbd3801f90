package nodes

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// acts are the nodes that were changed or deleted, as they looked before. A look that still shows one so is
// behind: what was done is not done once more until lookAgain has passed.
type acts struct {
	mu     sync.Mutex
	byName map[string]act
}

type act struct {
	before *corev1.Node
	at     time.Time
}

func newActs() *acts { return &acts{byName: map[string]act{}} }

// on notes that something was done about a node that looked so.
func (a *acts) on(n *corev1.Node, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byName[n.Name] = act{n, now}
}

// again is when something may be done about a node that looks so, zero for at once.
func (a *acts) again(n *corev1.Node) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.byName[n.Name]; one.before != nil && (one.before == n || n.ResourceVersion != "" && n.UID == one.before.UID && n.ResourceVersion == one.before.ResourceVersion) {
		return one.at.Add(lookAgain)
	}
	return time.Time{}
}

// keep forgets the nodes that are gone.
func (a *acts) keep(l *look) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.byName, func(name string, _ act) bool { return l.nodes[name] == nil })
}
