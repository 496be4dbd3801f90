package front

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/front/bounds"
	"flotilla/hub/front/shelf"
	"flotilla/tests/elsewhen"
)

// nowhere is a door that does not answer.
type nowhere struct{}

func (nowhere) Token(context.Context, string) (api.Person, error) { return api.Person{}, nil }

func (nowhere) Ask(context.Context, api.Caller, string, any, any) error {
	return &api.Failure{Code: api.CodeUnavailable, Message: "it does not answer"}
}

// definedAs is a definition of a kind with so many fields, made in such a second of the hour.
func definedAs(t *testing.T, name string, generation, fields, second int) *shelf.Item {
	t.Helper()
	properties := map[string]any{}
	for i := range fields {
		properties[fmt.Sprint("f", i)] = map[string]any{"type": "string"}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name + "s.example.com", "uid": name, "generation": generation, "creationTimestamp": fmt.Sprintf("2026-01-01T00:00:%02dZ", second)},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": name + "s", "kind": strings.ToUpper(name[:1]) + name[1:]},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": properties}}}},
		},
	})
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(text))
	return &shelf.Item{Object: u, Heading: shelf.Heading{Name: u.GetName(), UID: u.GetUID(), Generation: u.GetGeneration(), Created: u.GetCreationTimestamp()}}
}

// fronted is a front that serves what is built in, and its log.
func fronted(t *testing.T) (*Front, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	f, err := New(Options{Door: nowhere{}, Version: "test", Now: elsewhen.Now, Log: zerolog.New(log)})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f, log
}

// words are the kinds that are served by definitions.
func (s *served) words() (all []string) {
	for _, k := range s.all {
		if k.definition != nil {
			all = append(all, k.resource)
		}
	}
	return all
}

// A definition that did not change is not read anew when another does, whether its kind is served or not, and why it is not is said once.
func TestADefinitionIsReadOnce(t *testing.T) {
	t.Parallel()
	f, log := fronted(t)
	good, bad := definedAs(t, "good", 1, 3, 1), definedAs(t, "bad", 1, 3, 2)
	require.NoError(t, unstructured.SetNestedField(bad.Object.Object, "a/b", "spec", "names", "plural"))
	first, err := f.define(f.now.Load(), []*shelf.Item{good, bad}, 1, mostParts)
	require.NoError(t, err)
	require.Equal(t, []string{"goods"}, first.words())
	require.Equal(t, 1, strings.Count(log.String(), `"definition":"bads.example.com"`), log)

	// Whoever read them again would find the other way round.
	require.NoError(t, unstructured.SetNestedField(good.Object.Object, "a/b", "spec", "names", "plural"))
	require.NoError(t, unstructured.SetNestedField(bad.Object.Object, "bads", "spec", "names", "plural"))
	second, err := f.define(first, []*shelf.Item{good, bad, definedAs(t, "other", 1, 3, 3)}, 2, mostParts)
	require.NoError(t, err)
	require.Equal(t, []string{"goods", "others"}, second.words())
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log)

	good.Generation, bad.Generation = 2, 2
	third, err := f.define(second, []*shelf.Item{good, bad}, 3, mostParts)
	require.NoError(t, err)
	require.Equal(t, []string{"bads"}, third.words())
	require.Contains(t, log.String(), "goods.example.com")
}

// The definitions of the kinds that are served have so many parts, one and all together. Those that are older are served before others; who has
// no room is named once in the log, and served when there is some.
func TestPartsOfDefinitionsAreBounded(t *testing.T) {
	t.Parallel()
	f, log := fronted(t)
	small, other, large := definedAs(t, "small", 1, 10, 2), definedAs(t, "another", 1, 10, 3), definedAs(t, "large", 1, 1000, 1)
	of := func(one *shelf.Item) int { return bounds.Parts(one.Object.Object) }
	require.Greater(t, of(large), 1000)
	most := bounds.Definitions{One: of(large) - 1, All: of(small) + of(other) - 1}
	now := f.now.Load()
	for number := range uint64(2) {
		var err error
		now, err = f.define(now, []*shelf.Item{other, large, small}, number+1, most)
		require.NoError(t, err)
		require.Equal(t, []string{"smalls"}, now.words())
		require.Equal(t, 1, strings.Count(log.String(), fmt.Sprintf("found a definition of %d parts, expected at most %d", of(large), most.One)), log)
		require.Equal(t, 1, strings.Count(log.String(), fmt.Sprintf("older ones leave room for %d", of(other)-1)), log)
	}
	now, err := f.define(now, []*shelf.Item{other, large}, 3, most)
	require.NoError(t, err)
	require.Equal(t, []string{"anothers"}, now.words())
	most.One, most.All = of(large), of(large)+of(small)
	now, err = f.define(now, []*shelf.Item{other, large, small}, 4, most)
	require.NoError(t, err)
	require.Equal(t, []string{"larges", "smalls"}, now.words(), "what is newest has to go")
	require.Equal(t, 3, strings.Count(log.String(), "\n"), "the newest had room in between")
}

// The shapes of a version are made anew once a kind of it changes, and not when another version does.
func TestShapesGoOnWhileTheirKindsDo(t *testing.T) {
	t.Parallel()
	f, _ := fronted(t)
	good, other := definedAs(t, "good", 1, 3, 1), definedAs(t, "other", 1, 3, 2)
	other.Name = "others.example.org"
	other.Object.SetName(other.Name)
	require.NoError(t, unstructured.SetNestedField(other.Object.Object, "example.org", "spec", "group"))
	const path = "apis/example.com/v1"
	first, err := f.define(f.now.Load(), []*shelf.Item{good}, 1, mostParts)
	require.NoError(t, err)
	second, err := f.define(first, []*shelf.Item{good, other}, 2, mostParts)
	require.NoError(t, err)
	require.NotNil(t, second.shapes["apis/example.org/v1"])
	require.Same(t, first.shapes[path], second.shapes[path])
	require.Same(t, f.now.Load().shapes["apis/apps/v1"], second.shapes["apis/apps/v1"])
	good.Generation = 2
	third, err := f.define(second, []*shelf.Item{good}, 3, mostParts)
	require.NoError(t, err)
	require.NotSame(t, first.shapes[path], third.shapes[path])
	require.NotContains(t, third.shapes, "apis/example.org/v1")
}
