package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestDescribeDisruption(t *testing.T) {
	var out bytes.Buffer
	a := &app{}
	a.Out = &out
	moves := []api.PodMove{{Pod: "shop/a", From: "n1", To: "n2"}, {Pod: "shop/b", From: "n1", To: "new-0"}}
	replacements := []api.NodeReplacement{
		{Name: "single-1-0", Pool: "general", Node: "n7", InstanceTypes: []string{"A", "B"}, Types: []api.LaunchType{{Name: "A"}}},
		{Name: "single-1-1", Pool: "general", InstanceTypes: []string{"A"}, Failed: "no quota"},
	}
	obj := objectOf(t, map[string]any{
		"spec":   map[string]any{"member": "berlin"},
		"status": map[string]any{"phase": api.PhaseLaunching, "nodes": []string{"n1"}, "uids": map[string]string{"n1": "u"}, "replacements": replacements, "moves": moves},
	}, api.KindNodeDisruption, "single-1")
	require.NoError(t, a.describeOne(t.Context(), obj))
	require.Equal(t, `Name:         single-1
Namespace:
Labels:       <none>
Annotations:  <none>
API Version:  flotilla.io/v1alpha1
Kind:         NodeDisruption
Metadata:
Spec:
  Member:  berlin
Status:
  Nodes:
    n1
  Phase:  Launching
Replacements:
  Name        Pool     Node  State      Instance-Types
  single-1-0  general  n7    not ready  A,B
  single-1-1  general  -     failed     A
Moves:
  Pod     From  To
  shop/a  n1    n2
  shop/b  n1    n7
`, out.String())
}

func TestNotesOfManyMembersAreFolded(t *testing.T) {
	require.Equal(t, []string{"member a: x: y", "member b: x: y", "z"}, foldNotes([]string{"member a: x: y", "member b: x: y", "z"}))
	require.Equal(t, []string{"z", "members a, b, c and 1 more: x: y", "member e: w"},
		foldNotes([]string{"z", "member a: x: y", "member b: x: y", "member c: x: y", "member e: w", "member d: x: y"}))
}
