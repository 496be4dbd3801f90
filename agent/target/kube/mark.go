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

	"flotilla/core/apply"
)

const (
	// markName is the ConfigMap of SystemNamespace that says whose member the cluster is.
	markName = "member"
	// Keys of that ConfigMap. The account tells two fleets of one name apart. The cluster is named by the uid of its namespace
	// kube-system, so that a mark that came with a copy of another cluster is noticed.
	keyFleet, keyMember, keyAccount, keyCluster = "fleet", "member", "account", "cluster"

	// markPatience bounds one look at the mark. Between two looks at one that is another's, or that cannot be read, pass otherPause and
	// blindPause. The member's own is believed for markHolds.
	markPatience = 10 * time.Second
	otherPause   = 5 * time.Second
	blindPause   = time.Second
	markHolds    = time.Minute
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
	// Remember keeps what is Known from now on.
	Remember func(Known) error
	// Now is the clock.
	Now func() time.Time
}

// mark is what a cluster says of whose member it is. Nothing is written to a cluster before it is seen to be the claimed one: with the
// kubeconfig of another member an agent would delete what that member's placements made.
type mark struct {
	client  typedcorev1.CoreV1Interface
	claim   Claim
	settled atomic.Bool // the cluster is the member's own

	mu      sync.Mutex
	refused error
	looked  time.Time
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
	return &mark{client: clients.CoreV1(), claim: *claim}, nil
}

// settle is nil once the cluster is seen to be the member's own. The errors say what is to be done.
func (m *mark) settle(ctx context.Context) error {
	if m.settled.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.settled.Load():
		return nil
	case m.claim.Now().Sub(m.looked) < pauseAfter(m.refused):
		return m.refused
	}
	m.refused = m.look(ctx)
	m.settled.Store(m.refused == nil)
	return m.refused
}

// pauseAfter is how long a refusal holds.
func pauseAfter(refused error) time.Duration {
	switch {
	case refused == nil || errors.Is(refused, ErrNotEnrolled):
		return 0
	case errors.Is(refused, errNotOurs):
		return otherPause
	}
	return blindPause
}

// check is settle that looks again at a mark that was the member's own a minute ago: somebody may have given the cluster to another.
func (m *mark) check(ctx context.Context) error {
	m.mu.Lock()
	stale := m.settled.Load() && m.claim.Now().Sub(m.looked) > markHolds
	if stale {
		if m.refused = m.look(ctx); errors.Is(m.refused, errNotOurs) {
			m.settled.Store(false)
		}
	}
	m.mu.Unlock()
	return m.settle(ctx)
}

// doubt has the mark looked at again before anything else is written: what answers may be another cluster.
func (m *mark) doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled.Store(false)
	m.refused = nil
}

func (m *mark) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	m.looked = m.claim.Now()
	account, err := m.claim.Account()
	if err != nil {
		return err
	}
	system, err := m.client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking whose member the cluster is: %w", err)
	}
	now := Known{UID: string(system.UID), Account: account}
	if known := m.claim.Known.UID; known != "" && known != now.UID {
		return m.another(now.UID)
	}
	found, err := m.read(ctx, now)
	if err == nil {
		if err = m.compare(found.Data, now); err != nil {
			return err
		}
		err = m.sign(ctx, found, account)
	}
	if err != nil {
		return fmt.Errorf("looking whose member the cluster is: %w", err)
	}
	return m.remember(now)
}

// remember keeps which cluster the member is before anything is written to it.
func (m *mark) remember(now Known) error {
	if m.claim.Known == now {
		return nil
	}
	if err := m.claim.Remember(now); err != nil {
		return fmt.Errorf("remembering which cluster member %s is: %w", m.claim.Member, err)
	}
	m.claim.Known = now
	return nil
}

// read returns the mark, and makes it where there is none.
func (m *mark) read(ctx context.Context, now Known) (*corev1.ConfigMap, error) {
	maps := m.client.ConfigMaps(SystemNamespace)
	found, err := maps.Get(ctx, markName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return found, err
	}
	own := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: markName},
		Data:       map[string]string{keyFleet: m.claim.Fleet, keyMember: m.claim.Member, keyAccount: now.Account, keyCluster: now.UID},
	}
	made, err := maps.Create(ctx, own, metav1.CreateOptions{FieldManager: apply.FieldManager})
	if apierrors.IsNotFound(err) { // the namespace is missing
		if err = makeSystemNamespace(ctx, m.client); err == nil {
			made, err = maps.Create(ctx, own, metav1.CreateOptions{FieldManager: apply.FieldManager})
		}
	}
	if apierrors.IsAlreadyExists(err) { // another agent was faster
		return maps.Get(ctx, markName, metav1.GetOptions{})
	}
	return made, err
}

// sign writes the account of the fleet on the member's own mark, where the agent enrolled anew.
func (m *mark) sign(ctx context.Context, found *corev1.ConfigMap, account string) error {
	if found.Data[keyAccount] == account {
		return nil
	}
	signed := found.DeepCopy()
	signed.Data[keyAccount] = account
	_, err := m.client.ConfigMaps(SystemNamespace).Update(ctx, signed, metav1.UpdateOptions{FieldManager: apply.FieldManager})
	return err
}

// compare says why a cluster is not the member's own; nil when it is.
func (m *mark) compare(said map[string]string, now Known) error {
	handOver := fmt.Sprintf("give the agent the kubeconfig of its own cluster; where this one is to become member %q, stop the other agent, and then: kubectl -n %s delete configmap %s",
		m.claim.Member, SystemNamespace, markName)
	switch account := said[keyAccount]; {
	case said[keyFleet] != m.claim.Fleet || said[keyMember] != m.claim.Member:
		return fmt.Errorf("%w, which is member %q of fleet %q, not %q of fleet %q: %s", errNotOurs, said[keyMember], said[keyFleet], m.claim.Member, m.claim.Fleet, handOver)
	case said[keyCluster] != now.UID:
		return fmt.Errorf("%w %s, which was made from a copy of %s, member %q: %s", errNotOurs, now.UID, said[keyCluster], said[keyMember], handOver)
	case account != "" && account != now.Account && account != m.claim.Known.Account:
		return fmt.Errorf("%w, which is member %q of another fleet that is called %q too, of account %s and not %s: %s",
			errNotOurs, said[keyMember], said[keyFleet], account, now.Account, handOver)
	}
	return nil
}

// another says that the member was another cluster before.
func (m *mark) another(uid string) error {
	return fmt.Errorf("%w, which is %s and not %s, the one that member %q was before: give the agent the kubeconfig of that one; where the cluster was made anew, start the agent with --cluster %s",
		errNotOurs, uid, m.claim.Known.UID, m.claim.Member, uid)
}
