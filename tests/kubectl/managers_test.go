//go:build kubectl

package kubectl_test

import "testing"

// TestManagers tries server-side apply.
func TestManagers(t *testing.T) { runScripts(t, startFleet(t), "testdata/managers") }
