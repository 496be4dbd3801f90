package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"flotilla/core/api"
	"flotilla/core/apply"
)

const (
	// markName is the ConfigMap of SystemNamespace that says whose member the cluster is.
	markName = "member"
	// Keys of that ConfigMap. The account tells two fleets of one name apart. The cluster is named by the uid of its namespace
	// kube-system, so that a mark that came with a copy of another cluster is noticed.
	keyFleet, keyMember, keyAccount, keyCluster = "fleet", "member", "account", "cluster"

	// markPatience bounds one look at the mark. Between two looks at one that is another's, or that cannot be read, pass otherPause and
	// blindPause; the member's own is looked at every markEvery.
	markPatience = 10 * time.Second
	otherPause   = 5 * time.Second
	blindPause   = time.Second
	markEvery    = time.Minute
)

// ErrNotEnrolled says that the agent does not know yet which fleet it belongs to.
var ErrNotEnrolled = errors.New("the agent writes nothing to the cluster before it is enrolled")

// errNotOurs is what errors begin with that say that the cluster is not the member's own.
var errNotOurs = errors.New("the agent does nothing on the cluster")

// Known is a cluster that the member was when the agent last wrote to it.
type Known struct {
	// UID is that of the namespace kube-system.
	UID string `json:"uid"`
	// Account is that of the fleet.
	Account string `json:"account,omitempty"`
}

// Claim says whose member the cluster has to be before anything is written to it.
type Claim struct {
	Fleet, Member string
	// Account returns the public key of the account that the credentials of the agent are of, empty where they say none, or
	// ErrNotEnrolled.
	Account func() (string, error)
	// Known is zero where the member was no cluster yet.
	Known Known
	// Remember keeps what is Known from now on. Where it fails the mark on the cluster is what is known, and it is tried again.
	Remember func(Known) error
	// Now is the clock.
	Now func() time.Time
}

// mark is what a cluster says of whose member it is. Nothing is written to a cluster before it is seen to be the claimed one: with the
// kubeconfig of another member an agent would delete what that member's placements made.
type mark struct {
	client  typedcorev1.CoreV1Interface
	claim   Claim
	settled atomic.Bool   // the cluster is the member's own
	place   chan struct{} // whoever looks at the mark is in it

	mu      sync.Mutex
	refused error             // of the last look; that the cluster is another's stays until a look says otherwise
	looked  time.Time         // when the last look ended; zero has the next one begin at once
	seen    *corev1.ConfigMap // the mark as it was last seen to be the member's own
	own     api.Order         // the newest that this agent wrote on it, or found there to be its own
}

// newMark reads the mark by a client of its own, which is not guarded by it; nil without a claim.
func newMark(config *rest.Config, claim *Claim) (*mark, error) {
	if claim == nil {
		return nil, nil
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	return markOf(clients.CoreV1(), *claim), nil
}

func markOf(client typedcorev1.CoreV1Interface, claim Claim) *mark {
	return &mark{client: client, claim: claim, place: make(chan struct{}, 1)}
}

// settle is nil once the cluster is seen to be the member's own. The errors say what is to be done.
func (m *mark) settle(ctx context.Context) error {
	if m.settled.Load() {
		return nil
	}
	return m.look(ctx, func() bool { return !m.settled.Load() && !m.pausing() })
}

// check looks again at a mark that was the member's own: somebody may have given the cluster to another.
func (m *mark) check(ctx context.Context) error {
	return m.look(ctx, func() bool { return !m.pausing() })
}

// look reads the mark when that is due, one look at a time, and returns what the last one found.
func (m *mark) look(ctx context.Context, due func() bool) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if !due() {
		return m.verdict()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markPatience) // it is for others too
	defer cancel()
	m.note(m.compared(ctx))
	return m.verdict()
}

// enter waits until nobody else looks at the mark.
func (m *mark) enter(ctx context.Context) error {
	select {
	case m.place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *mark) leave() { <-m.place }

// note takes over what a look found. What cannot be read leaves open whose the cluster is: it stays what it was.
func (m *mark) note(found error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked = m.claim.Now()
	switch {
	case found == nil || errors.Is(found, errNotOurs):
		m.refused = found
		m.settled.Store(found == nil)
	case !errors.Is(m.refused, errNotOurs):
		m.refused = found
	}
}

// verdict is what is known of the cluster.
func (m *mark) verdict() error {
	if m.settled.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// pausing says that the last look was a moment ago.
func (m *mark) pausing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	pause := blindPause
	switch {
	case errors.Is(m.refused, ErrNotEnrolled):
		pause = 0
	case errors.Is(m.refused, errNotOurs):
		pause = otherPause
	}
	return m.claim.Now().Sub(m.looked) < pause
}

// doubt has the mark looked at before anything else is written: what answers may be another cluster.
func (m *mark) doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settled.Swap(false) {
		m.looked = time.Time{}
	}
}

// watch looks at the mark now and then, until ctx ends.
func (m *mark) watch(ctx context.Context) {
	every(ctx, markEvery, func() { _ = m.check(ctx) }) // whoever asks is told
}

// compared is nil when the cluster is the member's own.
func (m *mark) compared(ctx context.Context) error {
	account, err := m.claim.Account()
	if err != nil {
		return err
	}
	system, err := m.client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking whose member the cluster is: %w", err)
	}
	now := Known{UID: string(system.UID), Account: account}
	found, err := m.client.ConfigMaps(SystemNamespace).Get(ctx, markName, metav1.GetOptions{})
	marked := !apierrors.IsNotFound(err)
	if marked && err == nil {
		if err := m.compare(found.Data, now); err != nil {
			return err
		}
	}
	if known := m.claim.Known.UID; known != "" && known != now.UID && (!marked || err == nil) {
		return m.another(now.UID)
	}
	if !marked {
		found, err = m.make(ctx, now)
	}
	if err == nil {
		err = m.sign(ctx, found, now)
	}
	return err
}

// make marks the cluster, with the newest order that this agent had it remember. Where another agent was faster its mark is returned.
func (m *mark) make(ctx context.Context, now Known) (*corev1.ConfigMap, error) {
	maps := m.client.ConfigMaps(SystemNamespace)
	m.mu.Lock()
	order := m.own
	m.mu.Unlock()
	own := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: markName},
		Data:       map[string]string{keyFleet: m.claim.Fleet, keyMember: m.claim.Member, keyAccount: now.Account, keyCluster: now.UID},
	}
	if order != (api.Order{}) {
		own.Data[keyOrder] = order.String()
	}
	made, err := maps.Create(ctx, own, metav1.CreateOptions{FieldManager: apply.FieldManager})
	if apierrors.IsNotFound(err) { // the namespace is missing
		if err = makeSystemNamespace(ctx, m.client); err == nil {
			made, err = maps.Create(ctx, own, metav1.CreateOptions{FieldManager: apply.FieldManager})
		}
	}
	if apierrors.IsAlreadyExists(err) {
		made, err = maps.Get(ctx, markName, metav1.GetOptions{})
	}
	return made, err
}

// sign writes the account of the fleet on the member's own mark, where the agent enrolled anew, and remembers the cluster.
func (m *mark) sign(ctx context.Context, found *corev1.ConfigMap, now Known) error {
	if err := m.compare(found.Data, now); err != nil {
		return err
	}
	if found.Data[keyAccount] != now.Account {
		signed := found.DeepCopy()
		signed.Data[keyAccount] = now.Account
		var err error
		if found, err = m.client.ConfigMaps(SystemNamespace).Update(ctx, signed, metav1.UpdateOptions{FieldManager: apply.FieldManager}); err != nil {
			return fmt.Errorf("marking the cluster: %w", err)
		}
	}
	m.keep(found)
	if m.claim.Known != now && m.claim.Remember(now) == nil {
		m.claim.Known = now
	}
	return nil
}

// compare says why a cluster is not the member's own; nil when it is.
func (m *mark) compare(said map[string]string, now Known) error {
	remove := fmt.Sprintf("kubectl -n %s delete configmap %s", SystemNamespace, markName)
	handOver := fmt.Sprintf("give the agent the kubeconfig of its own cluster; where this one is to become member %q, stop the other agent, and then: %s", m.claim.Member, remove)
	switch account := said[keyAccount]; {
	case said[keyFleet] != m.claim.Fleet || said[keyMember] != m.claim.Member:
		return fmt.Errorf("%w, which is member %q of fleet %q, not %q of fleet %q: %s", errNotOurs, said[keyMember], said[keyFleet], m.claim.Member, m.claim.Fleet, handOver)
	case said[keyCluster] != now.UID:
		return fmt.Errorf("%w %s, which was made from a copy of %s, member %q: %s", errNotOurs, now.UID, said[keyCluster], said[keyMember], handOver)
	case account != "" && account != now.Account && account != m.claim.Known.Account:
		return fmt.Errorf("%w, which is member %q of another fleet that is called %q too, of account %s and not %s: %s; where the hub of this fleet was made anew, type that too",
			errNotOurs, said[keyMember], said[keyFleet], account, now.Account, handOver)
	}
	return nil
}

// another says that the member was another cluster before.
func (m *mark) another(uid string) error {
	return fmt.Errorf("%w, which is %s and not %s, the one that member %q was before: give the agent the kubeconfig of that one; where the cluster was made anew, start the agent with --cluster %s",
		errNotOurs, uid, m.claim.Known.UID, m.claim.Member, uid)
}
