package kube

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flotilla/agent/target"
)

// answers is an API server that refuses what is asked of it, as one does, and lists what it is given.
type answers struct {
	refusal *apierrors.StatusError
	asked   []string
	lists   map[string]any // by path
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if list, known := a.lists[r.URL.Path]; known && r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" {
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	if r.Method == http.MethodGet {
		w.WriteHeader(http.StatusOK) // a watch without events
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	body, _ := io.ReadAll(r.Body)
	a.asked = append(a.asked, r.Method+" "+r.URL.Path+" "+strings.TrimSpace(string(body)))
	if details := a.refusal.ErrStatus.Details; details != nil && details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", "10")
	}
	w.WriteHeader(int(a.refusal.ErrStatus.Code))
	said := a.refusal.ErrStatus
	said.APIVersion, said.Kind = "v1", "Status"
	_ = json.NewEncoder(w).Encode(said)
}

func targetOf(t *testing.T, a *answers) *Target {
	t.Helper()
	server := httptest.NewServer(a)
	made, err := New(Options{Config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}})
	require.NoError(t, err)
	t.Cleanup(func() { made.Close(); server.Close() })
	return made
}

// A refused eviction names the budget, and is not asked again by itself, whatever the API server says of when that helps:
// a node has other pods to see to.
func TestARefusedEvictionNamesItsBudget(t *testing.T) {
	refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web is still being processed by the server.",
	}}
	a := &answers{refusal: refusal}
	began := time.NewTimer(5 * time.Second)
	err := targetOf(t, a).Evict(t.Context(), target.PodRef{Namespace: "shop", Name: "web-1", UID: "u1"})
	require.True(t, began.Stop(), "it was asked again after a while")
	require.True(t, apierrors.IsTooManyRequests(err))
	require.EqualError(t, err, "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web is still being processed by the server.")
	require.Equal(t, []string{
		`POST /api/v1/namespaces/shop/pods/web-1/eviction {"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web-1","namespace":"shop"},"deleteOptions":{"preconditions":{"uid":"u1"}}}`,
	}, a.asked)
}

// Of two budgets that cover a pod the API server says neither the names nor that it could be tried again.
func TestTwoBudgetsOfAPodAreNamed(t *testing.T) {
	budget := func(name string, labels map[string]string) policyv1.PodDisruptionBudget {
		return policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}
	}
	a := &answers{
		refusal: &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}},
		lists: map[string]any{
			"/api/v1/pods": corev1.PodList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}}}},
			},
			"/apis/policy/v1/poddisruptionbudgets": policyv1.PodDisruptionBudgetList{
				TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudgetList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items: []policyv1.PodDisruptionBudget{budget("all", map[string]string{}), budget("db", map[string]string{"app": "db"}), budget("web", map[string]string{"app": "web"})},
			},
		},
	}
	made := targetOf(t, a)
	require.NoError(t, made.census.pods.await(t.Context()))
	require.NoError(t, made.census.budget.await(t.Context()))
	err := made.Evict(t.Context(), target.PodRef{Namespace: "shop", Name: "web-1"})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	require.ErrorContains(t, err, "all and web")
	err = made.Evict(t.Context(), target.PodRef{Namespace: "shop", Name: "db-1"})
	require.ErrorContains(t, err, "more than one PodDisruptionBudget", "of a pod that is not known")
}

// A grace is whole seconds, never 0 by rounding.
func TestAGraceIsRoundedUp(t *testing.T) {
	for grace, wanted := range map[time.Duration]string{
		-time.Second: `{"kind":"DeleteOptions","apiVersion":"v1"}`, 0: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`,
		time.Millisecond: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":1}`, 2 * time.Second: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":2}`,
	} {
		a := &answers{refusal: apierrors.NewNotFound(corev1.Resource("pods"), "web-1")}
		err := targetOf(t, a).DeletePod(t.Context(), target.PodRef{Namespace: "shop", Name: "web-1"}, grace)
		require.True(t, apierrors.IsNotFound(err))
		require.Equal(t, []string{"DELETE /api/v1/namespaces/shop/pods/web-1 " + wanted}, a.asked)
	}
}
