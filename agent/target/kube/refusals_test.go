package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// agentName is who an agent is to an API server.
const agentName = "system:serviceaccount:flotilla-system:flotilla-agent"

// forbidden answers as an API server does whose roles do not allow something.
func forbidden(w http.ResponseWriter, verb, resource, namespace, name string) {
	where := "at the cluster scope"
	if namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	kind := schema.ParseGroupResource(resource)
	refuse(w, apierrors.NewForbidden(kind, name, fmt.Errorf("User %q cannot %s resource %q in API group %q %s", agentName, verb, kind.Resource, kind.Group, where)))
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	said := err.ErrStatus
	said.APIVersion, said.Kind = "v1", "Status"
	answer(w, int(said.Code), said)
}

func answer(w http.ResponseWriter, code int, said any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(said)
}

// guarded serves ConfigMaps and Secrets, and permits nothing but to ask for these kinds and to write ConfigMaps, of which
// a policy takes none.
func guarded(w http.ResponseWriter, r *http.Request) {
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/api/v1":
		answer(w, http.StatusOK, metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}, {Name: "secrets", Kind: "Secret", Namespaced: true},
		}})
	case strings.HasSuffix(r.URL.Path, "/namespaces/shop/secrets/web"):
		forbidden(w, "get", "secrets", "shop", "web")
	case strings.HasSuffix(r.URL.Path, "/namespaces/shop/configmaps/web"):
		refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "web", errors.New("ValidatingAdmissionPolicy 'no-web' denied request")))
	case words[0] == "api":
		forbidden(w, "list", words[2], "", "")
	default:
		forbidden(w, "list", words[len(words)-1]+"."+words[1], "", "")
	}
}

func refTo(kind string) api.ObjectRef {
	return api.ObjectRef{APIVersion: "v1", Kind: kind, Namespace: "shop", Name: "web"}
}

// What roles do not allow is told once, whichever part of the agent asks for it and however often, and listed while it
// lasts; those who asked read all of the refusal.
func TestAMissingPermissionIsToldOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(guarded))
	var mu sync.Mutex
	told := map[string]int{}
	made, err := New(Options{Config: &rest.Config{Host: server.URL}, Refused: func(p Permission) {
		mu.Lock()
		defer mu.Unlock()
		told[p.String()]++
	}})
	require.NoError(t, err)
	t.Cleanup(func() { made.Close(); server.Close() })
	for range 3 {
		_, err = made.Get(t.Context(), refTo("Secret"))
		require.True(t, apierrors.IsForbidden(err))
		require.EqualError(t, err, `secrets "web" is forbidden: User "`+agentName+`" cannot get resource "secrets" in API group "" in the namespace "shop"`)
		_, err = made.Get(t.Context(), refTo("ConfigMap"))
		require.ErrorContains(t, err, "ValidatingAdmissionPolicy 'no-web' denied request")
	}
	const informers = "list poddisruptionbudgets.policy in the whole cluster"
	bustest.Eventually(t, func() error {
		if listed := made.Refused(); !slices.Contains(listed, informers) || !slices.Contains(listed, "list nodes in the whole cluster") {
			return fmt.Errorf("listed are %q", listed)
		}
		return nil
	})
	listed := made.Refused()
	require.Contains(t, listed, "get secrets in namespace shop")
	require.True(t, slices.IsSorted(listed))
	mu.Lock()
	defer mu.Unlock()
	for _, one := range listed {
		require.Equal(t, 1, told[one], one)
		require.NotContains(t, one, "shop/configmaps", "a policy is no missing permission")
		require.NotContains(t, one, "get configmaps")
	}
}

// A permission counts as missing for half an hour after it was refused last.
func TestAPermissionIsMissingWhileItIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		r := newRefusals(func(Permission) { told++ })
		missing := Permission{Verb: "list", Resource: "secrets", Namespace: "shop"}
		target := &Target{refusals: r}
		r.hear(missing)
		<-time.After(remembered - time.Minute)
		r.hear(missing)
		<-time.After(remembered - time.Minute)
		require.Equal(t, []string{"list secrets in namespace shop"}, target.Refused())
		<-time.After(2 * time.Minute)
		require.Empty(t, target.Refused())
		require.Equal(t, 1, told)
		r.hear(missing)
		require.Equal(t, 2, told, "it was given, and taken away again")
		r.close()
	})
}

// However many there are, no more are remembered than a person reads.
func TestRefusalsAreBounded(t *testing.T) {
	told := 0
	r := newRefusals(func(Permission) { told++ })
	defer r.close()
	for i := range 10 * mostRefusals {
		r.hear(Permission{Verb: "get", Resource: "secrets", Namespace: fmt.Sprint(i)})
	}
	require.Equal(t, mostRefusals, told)
}

// An answer is as long as it was, whatever of it was searched.
func TestARefusalIsPassedOnWhole(t *testing.T) {
	text := strings.Repeat("x", 3*answerRead)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	response, err := newRefusals(nil).listen(http.DefaultTransport).RoundTrip(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, text, string(body))
}
