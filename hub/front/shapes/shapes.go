// Package shapes serves documents in OpenAPI 3. Each is made when it is asked for first, and kept by whoever serves it on while what it is
// about does not change.
package shapes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// Root is where documents are.
const Root = "/openapi/v3"

// Document is that of one version of a group.
type Document struct{ service *handler3.OpenAPIService }

// New returns the document of a path, as "apis/apps/v1". What a definition says may be odd, and the library makes documents on goroutines of
// its own, where a panic would end the hub.
func New(path, etag string, document func() *spec3.OpenAPI) *Document {
	d := &Document{handler3.NewOpenAPIService()}
	d.service.UpdateGroupVersionLazy(path, cached.Once(cached.Func(func() (made *spec3.OpenAPI, of string, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panicked: %v", p)
			}
		}()
		return document(), etag, nil
	})))
	return d
}

// All are documents, by path.
type All map[string]*Document

// ServeHTTP answers what asks for a document, or which there are.
func (a All) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, Root), "/")
	switch document := a[path]; {
	case path == "":
		a.list(w, r)
	case document != nil:
		document.service.HandleGroupVersion(w, r)
	default:
		http.NotFound(w, r)
	}
}

// list says which documents there are, each with its hash; those that cannot be made are left out.
func (a All) list(w http.ResponseWriter, r *http.Request) {
	all := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for _, document := range a {
		var told answer
		document.service.HandleDiscovery(&told, &http.Request{Method: http.MethodGet})
		var one handler3.OpenAPIV3Discovery
		if json.Unmarshal(told.Bytes(), &one) == nil {
			maps.Copy(all.Paths, one.Paths)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// answer keeps what is written.
type answer struct {
	bytes.Buffer
	header http.Header
}

// Header is that of the answer.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader keeps nothing: what is no document cannot be read as one.
func (a *answer) WriteHeader(int) {}
