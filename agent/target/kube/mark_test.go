package kube

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"flotilla/tests/elsewhen"
)

// system is the namespace that names a cluster by its uid.
func system(uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uid)}}
}

// marked is the mark of a member on a cluster.
func marked(fleet, member, account, cluster string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: markName, Namespace: SystemNamespace},
		Data:       map[string]string{keyFleet: fleet, keyMember: member, keyAccount: account, keyCluster: cluster},
	}
}

// claimed is the mark as the agent of berlin sees it, enrolled in account A, and what it remembers.
func claimed(known Known, there ...runtime.Object) (m *mark, remembered *Known) {
	remembered = new(Known)
	return markOf(versioned(fake.NewClientset(there...)).CoreV1(), Claim{
		Fleet: "default", Member: "berlin", Known: known, Now: elsewhen.Now,
		Account:  func() (string, error) { return "A", nil },
		Remember: func(now Known) error { *remembered = now; return nil },
	}), remembered
}

// A cluster belongs to one member, and a member to one cluster.
func TestAClusterBelongsToOneMember(t *testing.T) {
	own := marked("default", "berlin", "A", "c1")
	for name, c := range map[string]struct {
		known Known
		there []runtime.Object
		says  []string // nothing: it is the member's own
	}{
		"of nobody":                           {Known{}, []runtime.Object{system("c1")}, nil},
		"the member's own":                    {Known{"c1", "A"}, []runtime.Object{system("c1"), own}, nil},
		"of an agent that lost its disk":      {Known{}, []runtime.Object{system("c1"), own}, nil},
		"without its mark":                    {Known{"c1", "A"}, []runtime.Object{system("c1")}, nil},
		"of an agent that had no credentials": {Known{"c1", ""}, []runtime.Object{system("c1"), marked("default", "berlin", "", "c1")}, nil},
		"of an agent that enrolled anew":      {Known{"c1", "B"}, []runtime.Object{system("c1"), marked("default", "berlin", "B", "c1")}, nil},
		"named by the configuration":          {Known{"c1", ""}, []runtime.Object{system("c1")}, nil},
		"another member's":                    {Known{}, []runtime.Object{system("c1"), marked("default", "oslo", "A", "c1")}, []string{`which is member "oslo" of fleet "default"`, "kubectl -n flotilla-system delete configmap member"}},
		"of a fleet of another name":          {Known{}, []runtime.Object{system("c1"), marked("other", "berlin", "A", "c1")}, []string{`of fleet "other"`}},
		"of another fleet of that name":       {Known{}, []runtime.Object{system("c1"), marked("default", "berlin", "B", "c1")}, []string{`which is member "berlin" of another fleet that is called "default" too, of account B and not A`}},
		"made anew":                           {Known{"c1", "A"}, []runtime.Object{system("c2")}, []string{"which is c2 and not c1", "--cluster c2"}},
		"another member's, of an agent that was at its own before": {Known{"c1", "A"}, []runtime.Object{system("c2"), marked("default", "oslo", "A", "c2")}, []string{`which is member "oslo" of fleet "default"`}},
		"another one of the member's":                              {Known{"c1", "A"}, []runtime.Object{system("c2"), marked("default", "berlin", "A", "c2")}, []string{"--cluster c2"}},
		"made from a copy":                                         {Known{}, []runtime.Object{system("c2"), own}, []string{`c2, which was made from a copy of c1, member "berlin"`, "delete configmap member"}},
		"not to be read":                                           {Known{}, nil, []string{"looking whose member the cluster is"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, remembered := claimed(c.known, c.there...)
			err := m.settle(t.Context())
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
			if len(c.says) > 0 {
				require.Zero(t, *remembered)
				return
			}
			require.NoError(t, err)
			found, err := m.client.ConfigMaps(SystemNamespace).Get(t.Context(), markName, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, own.Data, found.Data)
			require.Equal(t, Known{"c1", "A"}, m.claim.Known)
			if c.known != m.claim.Known {
				require.Equal(t, m.claim.Known, *remembered)
			}
		})
	}
}

// An agent that may make no namespaces marks a cluster whose flotilla-system is there.
func TestAMarkNeedsNoNewNamespace(t *testing.T) {
	clients := fake.NewClientset(system("c1"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}})
	clients.PrependReactor("create", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("namespaces"), SystemNamespace, errors.New("no"))
	})
	m, _ := claimed(Known{})
	m.client = clients.CoreV1()
	require.NoError(t, m.settle(t.Context()))
}

// Before an agent is enrolled nothing is written, and the mark is looked at as soon as it is.
func TestNothingIsWrittenBeforeAnAgentIsEnrolled(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	enrolled := m.claim.Account
	m.claim.Account = func() (string, error) { return "", ErrNotEnrolled }
	require.ErrorIs(t, m.settle(t.Context()), ErrNotEnrolled)
	require.NoError(t, (&Target{mark: m}).unlessNew(t.Context()), "its member may become Ready")
	m.claim.Account = enrolled
	require.NoError(t, m.settle(t.Context()))
}

// later makes the last look one of long ago.
func (m *mark) later() { m.looked = m.looked.Add(-markEvery) }

// A cluster that was given to another member is noticed when its mark is looked at again; one whose mark cannot be read for a while stays
// what it was.
func TestAClusterThatIsGivenAwayIsNoticed(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	require.NoError(t, m.check(t.Context()))
	own, blind := m.client, fake.NewClientset().CoreV1()
	m.later()
	m.client = blind
	require.NoError(t, m.check(t.Context()))

	m.later()
	m.client = own
	_, err := m.client.ConfigMaps(SystemNamespace).Update(t.Context(), marked("default", "oslo", "A", "c1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, m.check(t.Context()), `member "oslo"`)
	m.later()
	m.client = blind
	require.ErrorContains(t, m.check(t.Context()), `member "oslo"`)
	require.ErrorContains(t, m.settle(t.Context()), `member "oslo"`)
}

// Whoever waits for a look takes what it found, and waits no longer than for that one: an API server that does not answer must not hold
// up heartbeats.
func TestOneLookIsForAllThatWait(t *testing.T) {
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	clients := fake.NewClientset()
	clients.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		<-answer
		return true, nil, errors.New("the API server does not answer")
	})
	m, _ := claimed(Known{})
	moment := elsewhen.Now()
	m.claim.Now = func() time.Time { return moment }
	m.client = clients.CoreV1()
	failed := make(chan error)
	for range 20 {
		go func() { failed <- m.settle(t.Context()) }()
	}
	<-asked
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.settle(ended), context.Canceled)
	close(answer)
	for range 20 {
		require.ErrorContains(t, <-failed, "does not answer")
	}
	require.Empty(t, asked)
}

// A request that gets no answer has the mark looked at before the next one that writes.
func TestAClusterThatDidNotAnswerIsLookedAtAgain(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	away := errors.New("connection refused")
	g := &guard{m, "", through(func(*http.Request) (*http.Response, error) { return nil, away })}
	require.NoError(t, m.settle(t.Context()))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster.example.com/api/v1/pods", nil)
	require.NoError(t, err)
	_, err = g.RoundTrip(r) //nolint:bodyclose // it has none
	require.ErrorIs(t, err, away)
	_, err = m.client.ConfigMaps(SystemNamespace).Update(t.Context(), marked("default", "oslo", "A", "c1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = g.RoundTrip(r) //nolint:bodyclose // it has none
	require.ErrorIs(t, err, errNotOurs)
}

// An agent does nothing on another's cluster but look which one it is. After the API server was away it looks again.
func TestNothingIsDoneOnAnothersCluster(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"), marked("default", "oslo", "A", "c1"))
	g := &guard{m, "/proxied", through(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, nil })}
	try := func(method, path string) error {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://cluster.example.com/proxied"+path, strings.NewReader(""))
		require.NoError(t, err)
		_, err = g.RoundTrip(r) //nolint:bodyclose // it has none
		return err
	}
	for _, path := range []string{"/readyz", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1/namespaces/kube-system"} {
		require.NoError(t, try(http.MethodGet, path), path)
	}
	writes := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, method := range append(writes, http.MethodGet, http.MethodHead) {
		require.ErrorContains(t, try(method, "/api/v1/namespaces/shop?force=true"), `member "oslo"`, method)
	}
	require.Error(t, try(http.MethodPatch, "/api/v1/namespaces/shop?dryRun=All"))
	require.Error(t, try(http.MethodDelete, "/api/v1/namespaces/kube-system"))
	for _, path := range []string{"/api/v1/nodes", "/apis/apps/v1/deployments", "/api/v1/namespaces/apis/pods", "/api/v1/namespaces/shop/configmaps/api"} {
		require.Error(t, try(http.MethodGet, path), path)
	}

	require.NoError(t, m.client.ConfigMaps(SystemNamespace).Delete(t.Context(), markName, metav1.DeleteOptions{}))
	m.later()
	for _, method := range writes {
		require.NoError(t, try(method, "/api/v1/namespaces/shop"), method)
	}
	_, err := m.client.ConfigMaps(SystemNamespace).Update(t.Context(), marked("default", "oslo", "A", "c1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, try(http.MethodDelete, "/api/v1/namespaces/shop"), "it was seen to be the member's own")
	m.doubt()
	require.Error(t, try(http.MethodDelete, "/api/v1/namespaces/shop"))
}

// While it cannot be read whose member a cluster is, it is read and not written to.
func TestNothingIsWrittenBeforeTheMarkIsRead(t *testing.T) {
	m, _ := claimed(Known{})
	g := &guard{m, "/proxied", through(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, nil })}
	for method, query := range map[string]string{http.MethodGet: "", http.MethodPatch: "?dryRun=All", http.MethodDelete: "", http.MethodPost: "?dryRun=None"} {
		r, err := http.NewRequestWithContext(t.Context(), method, "https://cluster.example.com/api/v1/namespaces/shop"+query, strings.NewReader(""))
		require.NoError(t, err)
		_, err = g.RoundTrip(r) //nolint:bodyclose // it has none
		require.Equal(t, reads(r), err == nil, "%s%s: %v", method, query, err)
	}
}

// through is what a request goes through.
type through func(*http.Request) (*http.Response, error)

func (f through) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A cluster that cannot be remembered is known by its mark, and is tried to be remembered again.
func TestAClusterIsRememberedInTheEnd(t *testing.T) {
	m, remembered := claimed(Known{}, system("c1"))
	keep := m.claim.Remember
	m.claim.Remember = func(Known) error { return errors.New("no space left on device") }
	require.NoError(t, m.settle(t.Context()))
	require.Zero(t, *remembered)
	m.claim.Remember = keep
	m.later()
	require.NoError(t, m.check(t.Context()))
	require.Equal(t, Known{"c1", "A"}, *remembered)
}
