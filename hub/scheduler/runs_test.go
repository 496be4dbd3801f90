package scheduler_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/verdict"
	"flotilla/hub/scheduler"
)

// runs counts the decisions of each placement.
type runs struct {
	mu sync.Mutex
	of map[string]int
}

func (r *runs) ran(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[key]++
}

func (r *runs) count(placement string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of["placement:"+placement]
}

// TestADecisionDoesNotWakeItself: what it writes comes back as a change of what was decided.
func TestADecisionDoesNotWakeItself(t *testing.T) {
	counted := runs{of: map[string]int{}}
	h := start(t, scheduler.Options{Runs: counted.ran})
	h.join(t, "berlin", nil, nil)
	h.settled(t, "")
	h.place(t, "web", "u1", 1, withPolicy(nil))
	h.eventually(t, "web", "berlin")
	h.settled(t, "web")
	require.Equal(t, 1, counted.count("web"))

	h.place(t, "web", "u1", 2, withPolicy(pickN(1)))
	h.settled(t, "web")
	require.Equal(t, 2, counted.count("web"))
}

// TestNamespacesConcernThoseThatAskForThem: agents tell of a new namespace with every heartbeat after an object came,
// which is no news to placements that go to members whatever namespaces these have.
func TestNamespacesConcernThoseThatAskForThem(t *testing.T) {
	counted := runs{of: map[string]int{}}
	h := start(t, scheduler.Options{Pause: time.Millisecond, Runs: counted.ran})
	has := func(namespaces ...string) func(*api.MemberRecord) {
		return func(m *api.MemberRecord) { m.Namespaces = namespaces }
	}
	h.join(t, "berlin", nil, has("default"))
	h.settled(t, "")
	h.place(t, "web", "u1", 1, withPolicy(nil))
	h.eventually(t, "web", "berlin")
	namespaced := func(name string) {
		p := withPolicy(nil)
		p.Namespace = name
		h.place(t, name+"/api", "u-"+name, 1, p)
	}
	namespaced("shop")
	namespaced("bank")
	h.judged(t, "shop/api", "berlin", verdict.FilterNamespace, "namespace shop")
	h.judged(t, "bank/api", "berlin", verdict.FilterNamespace, "namespace bank")
	h.settled(t, "web")
	web, bank := counted.count("web"), counted.count("bank/api")

	h.join(t, "berlin", nil, has("default", "shop"))
	h.eventually(t, "shop/api", "berlin")
	h.settled(t, "web")
	require.Equal(t, web, counted.count("web"))
	require.Equal(t, bank, counted.count("bank/api"))
}
