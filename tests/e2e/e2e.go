// Package e2e runs Flotilla against real Kubernetes clusters: `make e2e`, see docs/testing.md. Its tests carry the build
// tag e2e, so that `go test ./...` does without the control plane that they need.
package e2e
