package watch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/api"
)

// crowded has so many waits of callers, as many of each as they may have.
func crowded(t *testing.T, n *news, most int, name string) {
	t.Helper()
	for i := range most {
		_, _, err := n.enter(api.Caller{Name: fmt.Sprint(name, i/mostWaiting)}, nil)
		require.NoError(t, err)
	}
	_, _, err := n.enter(api.Caller{Name: name + "more"}, nil)
	require.ErrorContains(t, err, "wait for changes")
}

// What hubs wait for, so that they can answer others, takes no wait from people, and people take none from hubs.
func TestHubsTakeNoWaitFromPeople(t *testing.T) {
	t.Parallel()
	anna := api.Caller{Name: "anna"}
	for _, name := range []string{"kubernetes/example.com/v1/x", "page of hub "} {
		n := newNews()
		crowded(t, n, mostWaitingOfHubs, name)
		_, leave, err := n.enter(anna, nil)
		require.NoError(t, err)
		leave()
		crowded(t, n, mostWaitingOfAll, "person")
	}
	n := newNews()
	crowded(t, n, mostWaitingOfAll, "person")
	_, leave, err := n.enter(api.Caller{Name: "kubernetes/v1/configmaps"}, nil)
	require.NoError(t, err)
	leave()
	require.Zero(t, n.hubs.all)
	require.False(t, api.Caller{Name: "kubernetes/v1/configmaps", Key: "UANNA"}.IsHub(), "who has a key came over a connection")
}

// Who asks whether anything changed, and does not wait for it, is answered however many wait.
func TestWhoDoesNotWaitIsNotRefused(t *testing.T) {
	t.Parallel()
	w := &Watch{store: &store.Store{}, news: newNews()}
	crowded(t, w.news, mostWaitingOfAll, "person")
	kinds := []api.WatchedKind{{APIVersion: "v1", Kind: "ConfigMap"}}
	mark := w.mark(0)
	ask := func(wait time.Duration) (*api.WatchResponse, error) {
		request := &api.WatchRequest{Kinds: kinds, After: mark, Wait: metav1.Duration{Duration: wait}}
		request.By = api.Caller{Name: "anna", Role: api.RoleViewer}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		answer, err := w.Answer(ctx, request)
		if err != nil {
			return nil, err
		}
		return answer.(*api.WatchResponse), nil
	}
	quiet, err := ask(time.Nanosecond)
	require.NoError(t, err)
	require.False(t, quiet.Changed)
	_, err = ask(time.Minute)
	require.ErrorContains(t, err, "all people together wait for changes 2048 times already")
	w.news.tell(objectTopic("", "ConfigMap"))
	for _, wait := range []time.Duration{time.Nanosecond, time.Minute} {
		found, err := ask(wait)
		require.NoError(t, err)
		require.True(t, found.Changed, "what has changed is not waited for")
	}
}
