// Package probe answers over HTTP whether a process works and is ready, as kube-apiserver does: 200 and "ok", or
// 503 with a line for each check, which ?verbose shows always and ?exclude=NAME leaves out. Hub and agent give
// it their checks.
package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Paths that are answered.
const (
	Live  = "/healthz"
	Ready = "/readyz"
)

// limit is how long one check may take.
const limit = 2 * time.Second

// Check is one thing that has to be well. The error says what is not, and what to do.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
}

// Ping is always well: the process answers.
var Ping = Check{"ping", func(context.Context) error { return nil }}

// Handle answers a path with checks, which are made one after another for each request.
func Handle(mux *http.ServeMux, path string, checks ...Check) {
	name := strings.TrimPrefix(path, "/")
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		text, failed := report(r, checks)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case failed:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, "%s%s check failed\n", text, name)
		case r.URL.Query().Has("verbose"):
			_, _ = fmt.Fprintf(w, "%s%s check passed\n", text, name)
		default:
			_, _ = fmt.Fprintln(w, "ok")
		}
	})
}

// report is a line for each check, and whether one failed.
func report(r *http.Request, checks []Check) (text string, failed bool) {
	excluded := r.URL.Query()["exclude"]
	var lines strings.Builder
	for _, c := range checks {
		if slices.Contains(excluded, c.Name) {
			_, _ = fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		err := c.Run(ctx)
		cancel()
		if err == nil {
			_, _ = fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
			continue
		}
		failed = true
		_, _ = fmt.Fprintf(&lines, "[-]%s failed: %s\n", c.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return lines.String(), failed
}
