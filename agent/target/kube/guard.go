package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// guard lets requests through to an API server once a cluster is the member's own. Before that is known it lets through what only reads;
// of a cluster that is another's it lets through what says which one that is. What else an agent read there it would report as its own.
type guard struct {
	mark *mark
	base string // of the paths of requests
	next http.RoundTripper
}

// guarded is a way to an API server with a guard on it, or without one where it does not matter whose member the cluster is.
func (m *mark) guarded(config *rest.Config) (*rest.Config, error) {
	made := rest.CopyConfig(config)
	if m == nil {
		return made, nil
	}
	where, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	made.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &guard{m, strings.TrimSuffix(where.Path, "/"), next}
	})
	return made, nil
}

// RoundTrip refuses what is not for a cluster that is not the member's own. When a request gets no answer, what answers the next one may be
// another cluster.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if !g.identifies(r) {
		if err := g.mark.settle(r.Context()); err != nil && (errors.Is(err, errNotOurs) || !reads(r)) {
			return nil, err
		}
	}
	response, err := g.next.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		g.mark.doubt()
	}
	return response, err
}

// reads says that a request changes nothing.
func reads(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || slices.Contains(r.URL.Query()["dryRun"], metav1.DryRunAll)
}

// identifies says that a request asks which cluster it is, how its API server is, and what that serves.
func (g *guard) identifies(r *http.Request) bool {
	path, under := strings.CutPrefix(r.URL.Path, g.base)
	if r.Method != http.MethodGet || !under {
		return false
	}
	if served, group := strings.CutPrefix(path, "/apis"); group {
		return strings.Count(served, "/") <= 2 // a group and its version
	}
	return slices.Contains([]string{"/readyz", "/version", "/api", "/api/v1", "/api/v1/namespaces/" + metav1.NamespaceSystem}, path)
}
