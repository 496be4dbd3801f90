package kube

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// guard lets requests through to an API server once a cluster is the member's own. Before that is known it lets through what only reads;
// of a cluster that is another's it lets through what says which one that is. What else an agent read there it would report as its own.
type guard struct {
	mark *mark
	next http.RoundTripper
}

// RoundTrip refuses what is not for a cluster that is not the member's own.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.mark.settle(r.Context()); err != nil && !identifies(r) && (errors.Is(err, errNotOurs) || !reads(r)) {
		return nil, err
	}
	return g.next.RoundTrip(r)
}

// reads says that a request changes nothing.
func reads(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || slices.Contains(r.URL.Query()["dryRun"], metav1.DryRunAll)
}

// identifies says that a request asks which cluster it is, how its API server is, and what that serves.
func identifies(r *http.Request) bool {
	path := r.URL.Path
	if r.Method != http.MethodGet {
		return false
	}
	if _, served, found := strings.Cut(path+"/", "/apis/"); found {
		return strings.Count(served, "/") <= 2 // group and version
	}
	return slices.ContainsFunc([]string{"/readyz", "/version", "/api", "/api/v1", "/api/v1/namespaces/" + metav1.NamespaceSystem}, func(known string) bool {
		return strings.HasSuffix(path, known)
	})
}
