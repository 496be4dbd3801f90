package render

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Overrides beyond how many there may be are refused as they are made, of each namespace and of the fleet; those that are
// there already may be written.
func TestTooManyOverridesAreRefused(t *testing.T) {
	of := func(namespace string, n int) (all []*Override) {
		for range n {
			all = append(all, &Override{Namespace: namespace})
		}
		return all
	}
	none := func(string) bool { return false }
	require.Empty(t, Crowd(of("", 1), of("", api.MaxOverrides-1), none))
	require.Empty(t, Crowd(of("", 1), of("shop", api.MaxOverrides), none), "each counts where it is")
	require.Empty(t, Crowd(of("", 1), of("", api.MaxOverrides), func(string) bool { return true }), "it is there already")
	require.ErrorContains(t, Crowd(of("", 1), of("", api.MaxOverrides), none), "ClusterResourceOverrides in the fleet, expected at most")
	require.ErrorContains(t, Crowd(of("shop", 2), of("shop", api.MaxOverrides-1), none), "ResourceOverrides in namespace shop, expected at most")
}

// An override of the fleet changes what it names, and what lies in a Namespace that it names; one of a namespace what it names
// there.
func TestWhatAnOverrideSelects(t *testing.T) {
	shelf := api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "shelf"}
	space := api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}
	for name, c := range map[string]struct {
		namespace        string
		selector         api.OverrideSelector
		ofShelf, ofSpace bool
	}{
		"the namespace":                  {"", api.OverrideSelector{Kind: "Namespace", Name: "shop"}, true, true},
		"another namespace":              {"", api.OverrideSelector{Kind: "Namespace", Name: "blog"}, false, false},
		"a Namespace of another group":   {"", api.OverrideSelector{Group: "example.com", Kind: "Namespace", Name: "shop"}, false, false},
		"another object of that name":    {"", api.OverrideSelector{Kind: "PersistentVolume", Name: "shop"}, false, false},
		"the object, from its namespace": {"shop", api.OverrideSelector{Kind: "ConfigMap", Name: "shelf"}, true, false},
		"the object, from another":       {"blog", api.OverrideSelector{Kind: "ConfigMap", Name: "shelf"}, false, false},
		"an object of another group":     {"shop", api.OverrideSelector{Group: "apps", Kind: "ConfigMap", Name: "shelf"}, false, false},
		"the namespace, from within it":  {"shop", api.OverrideSelector{Kind: "Namespace", Name: "shop"}, false, false},
	} {
		o := &Override{Namespace: c.namespace, Selectors: []api.OverrideSelector{c.selector}}
		require.Equal(t, []bool{c.ofShelf, c.ofSpace}, []bool{o.selects(shelf), o.selects(space)}, name)
	}
}

// An override that cannot be read is left out, unless what was rendered was made with it.
func TestOverridesThatCannotBeRead(t *testing.T) {
	read := func(name *string) (string, *Override, error) {
		if *name == "broken" {
			return *name, nil, errors.New("no JSON")
		}
		return *name, &Override{Version: api.OverrideVersion{Name: *name}}, nil
	}
	with := func(names ...string) *api.Rendered {
		r := &api.Rendered{}
		for _, name := range names {
			r.Overrides = append(r.Overrides, api.OverrideVersion{Name: name})
		}
		return r
	}
	all, err := All([]string{"a", "broken", "b"}, map[string]error{"lost": errors.New("gone")}, with("a", "b"), read)
	require.NoError(t, err)
	require.Equal(t, []api.OverrideVersion{{Name: "a"}, {Name: "b"}}, Versions(all))
	for name, want := range map[string]string{"broken": "broken cannot be read: no JSON", "lost": "lost cannot be read: gone"} {
		_, err = All([]string{"a", "broken"}, map[string]error{"lost": errors.New("gone")}, with("a", name), read)
		require.ErrorContains(t, err, want)
	}
}
