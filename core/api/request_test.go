package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func TestAFailureReadsAsItsMessageAndItsFaults(t *testing.T) {
	f := &api.Failure{Code: api.CodeInvalid, Message: "nothing was applied"}
	require.EqualError(t, f, "nothing was applied")
	f.Faults = strict.Faults{{Object: "NodePool/a", Path: "spec.weight", Found: "number 0", Expected: "a number from 1 to 100"}}
	require.EqualError(t, f, "nothing was applied\n"+f.Faults.Error())
	require.Contains(t, f.Error(), "spec.weight")
}

// A refusal names the members it is about, once.
func TestARefusalNamesItsMembers(t *testing.T) {
	for message, want := range map[string]string{"no such member": "CODE: no such member: berlin, rome", "berlin is busy": "CODE: berlin is busy"} {
		r := api.Refusal{Code: "CODE", Message: message, Members: []string{"berlin", "rome"}}
		require.Equal(t, want, r.Failure().Message)
	}
	one := api.Refusal{Code: api.CodeETagMismatch, Message: "it changed", Members: []string{"rome"}, Next: "flotilla get run"}
	require.Equal(t, &api.Failure{Code: api.CodePrecondition, Message: api.CodeETagMismatch + ": it changed: rome", Next: "flotilla get run"}, one.Failure())
	nobody := api.Refusal{Code: "CODE", Message: "it changed"}
	require.Equal(t, "CODE: it changed", nobody.Failure().Message)
}

func TestSplitAPIVersion(t *testing.T) {
	for text, want := range map[string][2]string{
		"v1": {"", "v1"}, "apps/v1": {"apps", "v1"}, "/v1": {"", "v1"}, "": {"", ""}, "a/b/v1": {"a/b", "v1"}, "apps/": {"apps", ""},
	} {
		group, version := api.SplitAPIVersion(text)
		require.Equal(t, want, [2]string{group, version}, text)
	}
}
