// Package shapes serves documents in OpenAPI 3. Each is made when it is asked for first, and kept by whoever serves it on while what it is
// about does not change. One is made at a time, with room for it; whoever asks meanwhile waits for the same work, and has what the document was
// before once that takes too long.
package shapes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/kube-openapi/pkg/handler3"
)

// Root is where documents are.
const Root = "/openapi/v3"

// All are documents, by path.
type All map[string]*Document

// ServeHTTP answers what asks for a document, or which there are.
func (a All) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, Root), "/")
	switch document := a[path]; {
	case path == "":
		a.list(w, r)
	case document != nil:
		document.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// list says which documents there are, each with its hash; those that cannot be made are left out.
func (a All) list(w http.ResponseWriter, r *http.Request) {
	patient, end := context.WithTimeout(r.Context(), patience)
	defer end()
	all := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for path, document := range a {
		found, err := document.ready(r.Context(), patient, "application/json")
		switch {
		case errors.Is(err, errOdd):
			continue
		case err != nil:
			document.by.Refuse(w, r, err)
			return
		}
		at := url.URL{Path: Root + "/" + path, RawQuery: url.Values{"hash": {found.etag}}.Encode()}
		all.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: at.String()}
	}
	text, err := json.Marshal(all)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// answer keeps what is said of an answer.
type answer struct{ header http.Header }

// Header is that of the answer.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// Write keeps nothing.
func (a *answer) Write(text []byte) (int, error) { return len(text), nil }

// WriteHeader keeps nothing: what is no document has no hash.
func (a *answer) WriteHeader(int) {}
