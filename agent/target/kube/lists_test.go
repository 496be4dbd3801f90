package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/agent/target"
	"flotilla/bus/bustest"
	"flotilla/tests/elsewhen"
)

// shelf is an API server that has nodes, and may refuse to list or to watch them.
type shelf struct {
	mu      sync.Mutex
	nodes   []string
	refuses error
	open    *watch.FakeWatcher
}

func (s *shelf) List(context.Context, metav1.ListOptions) (*corev1.NodeList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses != nil {
		return nil, s.refuses
	}
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for _, name := range s.nodes {
		list.Items = append(list.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		}})
	}
	return list, nil
}

func (s *shelf) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses != nil {
		return nil, s.refuses
	}
	s.open = watch.NewFake()
	return s.open, nil
}

// refuse refuses everything from now on, nothing with nil. What is watched ends.
func (s *shelf) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses = err; err != nil && s.open != nil {
		s.open.Stop()
	}
}

// listsOf opens lists until the end of the test. What was told so lately is not stale.
func listsOf(t *testing.T, stale time.Duration) *lists {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	return &lists{changes: &changes{}, failed: func(string, error) {}, stale: stale, run: func(f func(context.Context)) { running.Go(func() { f(ctx) }) }}
}

// openShelf watches a shelf until the end of the test.
func openShelf(t *testing.T, s *shelf, optional bool, stale time.Duration) (*list, *changes) {
	t.Helper()
	o := listsOf(t, stale)
	l := &list{what: "nodes", source: sourceOf(s)}
	l.source.optional = optional
	return o.open(l, &corev1.Node{}, thinNode, target.Change{Nodes: true}), o.changes
}

func names(l *list) ([]string, error) {
	found, err := objects[*corev1.Node](l)
	var out []string
	for _, node := range found {
		out = append(out, node.Name)
	}
	return out, err
}

func TestAListIsSortedAndThin(t *testing.T) {
	t.Parallel()
	l, _ := openShelf(t, &shelf{nodes: []string{"b", "a-1", "a"}}, false, time.Hour)
	require.NoError(t, l.await(t.Context()))
	found, err := objects[*corev1.Node](l)
	require.NoError(t, err)
	require.Len(t, found, 3)
	for i, name := range []string{"a", "a-1", "b"} {
		require.Equal(t, name, found[i].Name)
		require.Empty(t, found[i].ManagedFields)
	}
}

// What was refused is no empty list, and says so at once; when it is given, all is known.
func TestAListThatIsRefusedSaysWhy(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("nobody may"))
	s := &shelf{nodes: []string{"a"}, refuses: denied}
	l, _ := openShelf(t, s, false, time.Hour)
	require.ErrorIs(t, l.await(t.Context()), denied)
	_, err := names(l)
	require.ErrorContains(t, err, "reading nodes of the cluster: nodes is forbidden")
	s.refuse(nil)
	bustest.Eventually(t, l.whole)
}

// An informer that lost its watch shows what it knew before; that is not what there is.
func TestAListWithoutAWatchIsStale(t *testing.T) {
	t.Parallel()
	s := &shelf{nodes: []string{"a"}}
	l, _ := openShelf(t, s, false, time.Millisecond)
	require.NoError(t, l.await(t.Context()))
	away := errors.New("connection refused")
	s.refuse(away)
	bustest.Eventually(t, func() error {
		if found, err := names(l); !errors.Is(err, away) {
			return fmt.Errorf("found %v, %w", found, err)
		}
		return nil
	})
	s.nodes = append(s.nodes, "b")
	s.refuse(nil)
	bustest.Eventually(t, func() error {
		found, err := names(l)
		if err == nil && len(found) != 2 {
			err = fmt.Errorf("found %v", found)
		}
		return err
	})
}

// A watch that ends and begins anew, as all do now and then, is no reason to know nothing.
func TestAWatchMayBeginAnew(t *testing.T) {
	t.Parallel()
	s := &shelf{nodes: []string{"a"}}
	l, told := openShelf(t, s, false, time.Hour)
	require.NoError(t, l.await(t.Context()))
	changed := told.watch(t.Context())
	s.refuse(errors.New("connection refused"))
	require.NoError(t, l.whole())
	s.refuse(nil)
	bustest.Eventually(t, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open.IsStopped() {
			return errors.New("not watched yet")
		}
		return nil
	})
	s.open.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "8"}})
	require.Equal(t, target.Change{Nodes: true}, <-changed)
	bustest.Eventually(t, func() error {
		found, err := names(l)
		if err == nil && len(found) != 2 {
			err = fmt.Errorf("found %v", found)
		}
		return err
	})
}

// A kubelet that says that its node is as it was has nobody look at it.
func TestANodeThatIsAsItWasIsNotTold(t *testing.T) {
	t.Parallel()
	s := &shelf{nodes: []string{"a"}}
	l, told := openShelf(t, s, false, time.Hour)
	require.NoError(t, l.await(t.Context()))
	node := func(version, status string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionStatus(status), LastHeartbeatTime: metav1.NewTime(elsewhen.Now()),
			}}},
		}
	}
	changed := told.watch(t.Context())
	s.open.Modify(node("8", "True"))
	require.Equal(t, target.Change{Nodes: true}, <-changed)
	for version := range 100 {
		s.open.Modify(node(fmt.Sprint(9+version), "True"))
	}
	s.open.Modify(node("200", "False"))
	require.Equal(t, target.Change{Nodes: true}, <-changed)
	require.Empty(t, changed)
	s.open.Modify(node("201", "True"))
	require.Equal(t, target.Change{Nodes: true}, <-changed)
}

// A kind that the API server need not know has no objects while it does not; any other is an error.
func TestAKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	unknown := apierrors.NewNotFound(corev1.Resource("nodes"), "")
	for _, optional := range []bool{true, false} {
		s := &shelf{nodes: []string{"a"}, refuses: unknown}
		l, _ := openShelf(t, s, optional, time.Hour)
		if !optional {
			require.ErrorIs(t, l.await(t.Context()), unknown)
			continue
		}
		require.NoError(t, l.await(t.Context()))
		found, err := names(l)
		require.NoError(t, err)
		require.Empty(t, found)
		s.refuse(nil)
		bustest.Eventually(t, func() error {
			found, err := names(l)
			if err == nil && len(found) != 1 {
				err = fmt.Errorf("found %v", found)
			}
			return err
		})
	}
}
