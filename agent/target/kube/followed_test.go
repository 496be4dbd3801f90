package kube

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"flotilla/core/api"
)

func order(generation uint64) api.Order {
	return api.Order{Epoch: 1, Term: 1795846287, Generation: generation}
}

// expectFollow has the member remember an order, and expects what it says.
func (m *mark) expectFollow(t *testing.T, given, newest api.Order) {
	t.Helper()
	found, err := (&Target{mark: m}).Follow(t.Context(), given)
	require.NoError(t, err)
	require.Equal(t, newest, found)
}

func (m *mark) expectOrder(t *testing.T, want string) {
	t.Helper()
	found, err := m.client.ConfigMaps(SystemNamespace).Get(t.Context(), markName, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, want, found.Data[keyOrder])
}

// The mark of a cluster has the newest order that an agent acted on, beside whose member it is.
func TestAClusterRemembersTheCommandThatItFollows(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	m.expectFollow(t, order(12), order(12))
	m.expectFollow(t, order(11), order(12))
	m.expectOrder(t, "1.1795846287.12")
	m.later()
	require.NoError(t, m.check(t.Context()), "it is the member's own still")
	m.expectFollow(t, order(13), order(13))
	m.expectOrder(t, "1.1795846287.13")
}

// versioned has ConfigMaps refused that were changed since they were read, as API servers do.
func versioned(clients *fake.Clientset) *fake.Clientset {
	version := 0
	put := func(a k8stesting.Action) (bool, runtime.Object, error) {
		next := a.(interface{ GetObject() runtime.Object }).GetObject().(*corev1.ConfigMap)
		at := a.GetResource()
		there, err := clients.Tracker().Get(at, SystemNamespace, next.Name)
		if given := next.ResourceVersion; a.GetVerb() == "update" && err == nil && given != "" && given != there.(*corev1.ConfigMap).ResourceVersion {
			return true, nil, apierrors.NewConflict(at.GroupResource(), next.Name, errors.New("it was changed"))
		}
		version++
		next.ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	}
	clients.PrependReactor("create", "configmaps", put)
	clients.PrependReactor("update", "configmaps", put)
	return clients
}

// Two agents of one member never make the order of the mark older, and each notices at its next look what the other wrote.
func TestAnOrderNeverGoesBack(t *testing.T) {
	a, _ := claimed(Known{}, system("c1"))
	b := markOf(a.client, a.claim)
	a.expectFollow(t, order(1), order(1))
	b.expectFollow(t, order(1), order(1))
	a.expectFollow(t, order(7), order(7))
	b.expectFollow(t, order(6), order(7))
	a.expectOrder(t, "1.1795846287.7")
	a.expectFollow(t, order(8), order(8))
	b.expectFollow(t, order(7), order(7))
	b.later()
	require.NoError(t, b.check(t.Context()))
	b.expectFollow(t, order(7), order(8))
}

// Nothing is written on a mark that became another member's meanwhile.
func TestAnOrderIsNotWrittenOnAnothersMark(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	m.expectFollow(t, order(1), order(1))
	_, err := m.client.ConfigMaps(SystemNamespace).Update(t.Context(), marked("default", "oslo", "A", "c1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = m.follow(t.Context(), order(2))
	require.ErrorIs(t, err, errNotOurs)
	m.expectOrder(t, "")
}

// A mark that somebody removed is made anew with the order that the agent acted on. An agent whose disk is older than that goes by what
// it knows, as the manual says.
func TestAMarkThatIsMadeAnewHasTheOrder(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	remove := func() {
		require.NoError(t, m.client.ConfigMaps(SystemNamespace).Delete(t.Context(), markName, metav1.DeleteOptions{}))
	}
	lookAgain := func(m *mark) {
		remove()
		m.later()
		require.NoError(t, m.check(t.Context()))
	}
	m.expectFollow(t, order(5), order(5))
	remove()
	m.expectFollow(t, order(6), order(6))
	m.expectOrder(t, "1.1795846287.6")
	lookAgain(m)
	m.expectOrder(t, "1.1795846287.6")

	next := markOf(m.client, m.claim)
	next.expectFollow(t, order(6), order(6))
	lookAgain(next)
	next.expectOrder(t, "1.1795846287.6")

	older := markOf(m.client, m.claim)
	older.expectFollow(t, order(2), order(6))
	lookAgain(older)
	older.expectFollow(t, order(2), order(2))
}

// An order that is none says what to type, and one that cannot be written says why.
func TestAnOrderThatCannotBeKept(t *testing.T) {
	m, _ := claimed(Known{}, system("c1"))
	damaged := marked("default", "berlin", "A", "c1")
	damaged.Data[keyOrder] = "1.2"
	_, err := m.client.ConfigMaps(SystemNamespace).Create(t.Context(), damaged, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = (&Target{mark: m}).Follow(t.Context(), order(1))
	require.ErrorContains(t, err, `ConfigMap flotilla-system/member, data.order: found "1.2", expected an order`)
	require.ErrorContains(t, err, "kubectl -n flotilla-system delete configmap member")

	clients := fake.NewClientset(system("c1"), marked("default", "berlin", "A", "c1"))
	clients.PrependReactor("update", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, markName, errors.New("no"))
	})
	refused := markOf(clients.CoreV1(), m.claim)
	_, err = (&Target{mark: refused}).Follow(t.Context(), order(1))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "writing on the cluster which command it follows")
}

// A cluster that several fleets share has no mark, and remembers nothing.
func TestASharedClusterRemembersNothing(t *testing.T) {
	for _, given := range []api.Order{order(2), order(1)} {
		newest, err := (&Target{}).Follow(context.Background(), given)
		require.NoError(t, err)
		require.Equal(t, given, newest)
	}
}
