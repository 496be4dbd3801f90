package kube

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// unwatched is how long a kind may go without a watch before what is known of it counts as stale: watches end every few
// minutes and begin anew.
const unwatched = 5 * time.Second

// source is where an informer lists and watches one kind. It remembers whether it could: an informer that lost its
// watch goes on showing what it knew.
type source struct {
	lists   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watches func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// patience is for how long what was watched is not stale.
	patience time.Duration
	// optional says that the API server need not know the kind.
	optional bool

	mu      sync.Mutex
	fault   error // why the newest list or watch was refused, nil when it was not
	fresh   bool
	absent  bool // the API server does not know the kind
	watched int  // how many watches were begun
}

func sourceOf[L runtime.Object](from lister[L]) *source {
	return &source{
		watches: from.Watch,
		lists:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return from.List(ctx, o) },
	}
}

// ListWithContext lists for the informer.
func (s *source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	found, err := s.lists(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused(err)
		return nil, err
	}
	s.absent = false
	return found, nil
}

// WatchWithContext watches for the informer.
func (s *source) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	begun, err := s.watches(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused(err)
		return nil, err
	}
	s.watched++
	s.fault, s.fresh = nil, true
	number := s.watched
	return &watched{Interface: begun, ended: sync.OnceFunc(func() { s.ended(number) })}, nil
}

func (s *source) refused(err error) {
	s.fault, s.absent = err, s.optional && apierrors.IsNotFound(err)
}

// ended lets what is known become stale, unless another watch has begun by then.
func (s *source) ended(number int) {
	time.AfterFunc(s.patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.watched == number {
			s.fresh = false
		}
	})
}

// List is ListWithContext.
func (s *source) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext.
func (s *source) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported has the informer list before it watches: a watch that has begun then says that all is
// known.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

// state says whether what was listed is watched, or was a moment ago, and why the newest attempt to read it failed.
func (s *source) state() (fresh bool, fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh, s.fault
}

// none says that the API server does not know the kind: there are no objects of it.
func (s *source) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent
}

// watched is a watch that tells its end, which the informer brings about when it has read the last of it.
type watched struct {
	watch.Interface
	ended func()
}

// Stop ends the watch.
func (w *watched) Stop() {
	w.Interface.Stop()
	w.ended()
}
