// Package page tries the hub's pages in a browser: `make test-page`, see docs/testing.md. Its tests carry the build tag page, so
// that `go test ./...` does without the browser that they need.
package page
