package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestAnAnswerListsAThousandFaults(t *testing.T) {
	f := &api.Failure{Code: api.CodeInvalid, Message: "nothing was applied", Next: "flotilla apply --help", Faults: make(strict.Faults, 1000)}
	require.Same(t, f, f.Listed())
	f.Faults = append(f.Faults, strict.Fault{})
	require.Equal(t, &api.Failure{
		Code: f.Code, Next: f.Next, Faults: f.Faults[:1000],
		Message: "nothing was applied; the first 1000 of 1001 faults are listed",
	}, f.Listed())
	require.Len(t, f.Faults, 1001)
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
		"v1": {"", "v1"}, "apps/v1": {"apps", "v1"}, "/v1": {"", "v1"}, "": {"", ""}, "a/b/v1": {"a", "b/v1"}, "/a/v1": {"", "a/v1"}, "apps/": {"apps", ""},
	} {
		group, version := api.SplitAPIVersion(text)
		require.Equal(t, want, [2]string{group, version}, text)
	}
}

// Credentials that were revoked, or replaced, are refused. Where the server tells no key, the role is all there is to go by.
func TestCredentialsThatWereRevokedAreRefused(t *testing.T) {
	anna := api.User{Name: "anna", Role: api.RoleOperator, Key: "UNEW"}
	for name, c := range map[string]struct {
		change func(*api.User)
		by     api.Caller
		want   bool
	}{
		"the key that holds":                     {nil, api.Caller{Key: "UNEW", Role: api.RoleOperator}, false},
		"a key from before":                      {nil, api.Caller{Key: "UOLD", Role: api.RoleOperator}, true},
		"the key, revoked":                       {revoked, api.Caller{Key: "UNEW", Role: api.RoleOperator}, true},
		"no key, the person's role":              {nil, api.Caller{Role: api.RoleOperator}, false},
		"no key, a lesser role":                  {nil, api.Caller{Role: api.RoleViewer}, false},
		"no key, a role beyond the person's":     {nil, api.Caller{Role: api.RoleAdmin}, true},
		"no key, no role that is known":          {nil, api.Caller{Role: "root"}, true},
		"no key, the person's role, revoked":     {revoked, api.Caller{Role: api.RoleOperator}, true},
		"made elsewhere, whatever key":           {elsewhere, api.Caller{Key: "UOLD", Role: api.RoleAdmin}, false},
		"made elsewhere, and the person revoked": {func(u *api.User) { elsewhere(u); revoked(u) }, api.Caller{Key: "UNEW"}, true},
	} {
		u := anna
		if c.change != nil {
			c.change(&u)
		}
		require.Equal(t, c.want, u.Refuses(c.by), name)
	}
}

func revoked(u *api.User) { u.Revoked = &metav1.Time{} }

func elsewhere(u *api.User) { u.Elsewhere = true }
