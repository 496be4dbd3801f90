// Package kubectl tries kubectl, as it is released, on a fleet: `make test-kubectl`, see docs/testing.md. Its tests carry the build
// tag kubectl, so that `go test ./...` does without the two programs that they need.
package kubectl
