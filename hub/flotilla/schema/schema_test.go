package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/docs"
)

const examples = "../../../configs/examples"

// compiled is the JSON schema of a kind as a validator's library reads it.
func compiled(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	body, err := json.Marshal(JSON(kind))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(kind+".json", document))
	s, err := c.Compile(kind + ".json")
	require.NoError(t, err, kind)
	return s
}

// valid says what a schema finds wrong with a document.
func valid(t *testing.T, s *jsonschema.Schema, document []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
	require.NoError(t, err)
	return s.Validate(value)
}

func TestEveryExampleFitsItsSchema(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	for _, name := range names() {
		schemas[name] = compiled(t, name)
	}
	found, err := configs.Read(nil, true, examples)
	require.NoError(t, err)
	checked, refused := map[string]int{}, 0
	for _, d := range found {
		var head api.ObjectRef
		require.NoError(t, json.Unmarshal(d.JSON, &head))
		if s := schemas[head.Kind]; s != nil && faulty(d.JSON) {
			if valid(t, s, d.JSON) != nil {
				refused++ // the others break rules between fields
			}
		} else if s != nil {
			require.NoError(t, valid(t, s, d.JSON), d.Where())
			checked[head.Kind]++
		}
	}
	require.Positive(t, refused)
	for _, kind := range []string{
		api.KindClusterResourcePlacement, api.KindMemberCluster, api.KindUpdateRun, api.KindUpdateStrategy, api.KindNodePool, api.KindInstanceCatalog, "Deployment",
	} {
		require.Positive(t, checked[kind], "no example of a %s was checked", kind)
	}
}

// faulty says that the validation refuses a document.
func faulty(document []byte) bool {
	_, faults := validate.Decode(document)
	return len(faults) > 0
}

// TestWhatSchemasRefuse breaks an example in every way that a schema can know of.
func TestWhatSchemasRefuse(t *testing.T) {
	const head = `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace"}]`
	s := compiled(t, api.KindClusterResourcePlacement)
	require.NoError(t, valid(t, s, []byte(head+`,"policy":{"placementType":"PickN","numberOfClusters":2},"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}}}}`)))
	for broken, at := range map[string]string{
		head + `,"stratgy":{}}}`:                                             "'/spec'",
		head + `,"policy":{"placementType":"pickn"}}}`:                       "'/spec/policy/placementType'",
		head + `,"policy":{"numberOfClusters":-1}}}`:                         "'/spec/policy/numberOfClusters'",
		head + `,"policy":{"numberOfClusters":"2"}}}`:                        "'/spec/policy/numberOfClusters'",
		head + `,"strategy":{"rollingUpdate":{"maxSurge":"250%"}}}}`:         "'/spec/strategy/rollingUpdate/maxSurge'",
		head + `,"policy":{"tolerations":{"key":"a"}}}}`:                     "'/spec/policy/tolerations'",
		strings.Replace(head, `"version":"v1",`, "", 1) + `}}`:               "'/spec/resourceSelectors/0'",
		strings.Replace(head, "kubernetes-fleet.io/v1", "x.io/v1", 1) + `}}`: "'/apiVersion'",
		strings.Replace(head, `"metadata":{"name":"web"},`, "", 1) + `}}`:    "''",
	} {
		err := valid(t, s, []byte(broken))
		require.ErrorContains(t, err, "at "+at, broken)
	}
	pool := compiled(t, api.KindNodePool)
	require.ErrorContains(t, valid(t, pool, []byte(`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"},"spec":{"disruption":{"budgets":[{"nodes":5,"reasons":["Drifty"]}]}}}`)),
		"'/spec/disruption/budgets/0/reasons/0'")
}

// TestLimitsAreThoseOfTheValidation puts a word that means nothing into every field of every kind that can be
// applied: where the validation lists words the schema lists the same, and only there.
func TestLimitsAreThoseOfTheValidation(t *testing.T) {
	choice := regexp.MustCompile(`^(one of )?([A-Za-z0-9-]+, )*[A-Za-z0-9-]+( or [A-Za-z0-9-]+)?($|[;:] )`)
	compared := 0
	for name, k := range kinds {
		if k.readOnly || !ours(name) {
			continue
		}
		var visit func(f Field, path []string, depth int)
		visit = func(f Field, path []string, depth int) {
			for _, field := range f.Fields() {
				at := append(slices.Clip(path), field.Name)
				if field.Type == "Object" || field.Type == "[]Object" {
					if depth < 12 && field.Name != "status" {
						if field.Type == "[]Object" {
							at[len(at)-1] += "[]"
						}
						visit(field, at, depth+1)
					}
					continue
				}
				if path == nil || path[0] == "metadata" || !strings.HasSuffix(field.Type, "string") || field.Type == "map[string]string" {
					continue
				}
				_, faults := validate.Decode([]byte(document(name, k, at, field.Type)))
				want := strings.Join(at, ".")
				for _, fault := range faults {
					if plainPath(fault.Path) != plainPath(want) || fault.Found != `"Bogus"` {
						continue
					}
					if !choice.MatchString(fault.Expected) || field.Pattern != "" {
						continue
					}
					compared++
					words := slices.DeleteFunc(wordsOf(choice.FindString(fault.Expected)), func(word string) bool {
						_, faults := validate.Decode([]byte(strings.Replace(document(name, k, at, field.Type), "Bogus", word, 1)))
						return slices.ContainsFunc(faults, func(f strict.Fault) bool { return f.Path == fault.Path && f.Found == strconv.Quote(word) })
					})
					require.NotEmpty(t, field.Enum, "%s %s: the validation expects %s", name, want, fault.Expected)
					require.Subset(t, field.Enum, words, "%s %s: the validation expects %s", name, want, fault.Expected)
				}
				if slices.ContainsFunc(faults, func(f strict.Fault) bool {
					return f.Kind == strict.FaultMisplaced && strings.HasPrefix(plainPath(want), plainPath(f.Path))
				}) {
					continue // it cannot stand there at all
				}
				for _, word := range field.Enum {
					said := slices.ContainsFunc(faults, func(f strict.Fault) bool { return f.Found == `"Bogus"` && strings.Contains(f.Expected, word) })
					require.True(t, said, "%s %s: the validation does not list %s: %v", name, want, word, faults)
				}
			}
		}
		visit(Root(name), nil, 0)
	}
	require.Greater(t, compared, 30)
}

// wordsOf are the words that a choice lists, "one of A, B or C".
func wordsOf(choice string) []string {
	words := strings.TrimRight(strings.TrimPrefix(choice, "one of "), ";: ")
	return strings.Split(strings.ReplaceAll(words, " or ", ", "), ", ")
}

// plainPath is a path without the items of lists.
func plainPath(path string) string { return strings.NewReplacer("[0]", "", "[]", "").Replace(path) }

// document is one of a kind whose field at a path is Bogus, "spec.stages[].name".
func document(name string, k kind, path []string, of string) string {
	value := `"Bogus"`
	if strings.HasPrefix(of, "[]") {
		value = "[" + value + "]"
	}
	for _, step := range slices.Backward(path) {
		key, list := strings.CutSuffix(step, "[]")
		if list {
			value = "[" + value + "]"
		}
		value = fmt.Sprintf("{%q:%s}", key, value)
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"a"},%s`, k.versions[0], name, value[1:])
}

func TestEveryFieldIsDocumented(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|")
	seen := map[string]bool{}
	for section := range strings.SplitSeq(docs.Objects, "\n### ") {
		heading, body, _ := strings.Cut(section, "\n")
		of, ok := sections[heading]
		if !ok {
			continue
		}
		seen[heading] = true
		body, _, _ = strings.Cut(body, "\n## ")
		var got, want []string
		for _, found := range row.FindAllStringSubmatch(body, -1) {
			got = append(got, found[1])
		}
		for _, f := range (Field{of: of}).Fields() {
			want = append(want, f.Name)
		}
		require.Equal(t, want, got, "fields of %s", heading)
	}
	require.Len(t, seen, len(sections))
}

// TestEveryKindCanBeExplained walks down every field of every kind.
func TestEveryKindCanBeExplained(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, of := range sections {
		known[of] = true
	}
	for _, name := range names() {
		root := Root(name)
		reached := 0
		var visit func(f Field, path []string)
		visit = func(f Field, path []string) {
			found, unknown := root.Find(path)
			require.Empty(t, unknown, "%s.%s", name, strings.Join(path, "."))
			require.Equal(t, f.Name, found.Name)
			of := element(f.of)
			if ours(name) && !kinds[name].readOnly && len(path) > 0 && path[0] == "spec" && of.Kind() == reflect.Struct && strings.HasSuffix(of.PkgPath(), "core/api") && scalars[of] == "" {
				require.True(t, known[of], "docs/objects.md has no section for %s", of)
			}
			for _, field := range f.Fields() {
				if reached++; len(path) < 6 {
					visit(field, append(slices.Clip(path), field.Name))
				}
			}
		}
		visit(root, nil)
		require.Greater(t, reached, 4, name)
	}
	field, unknown := Root(api.KindUpdateRun).Find([]string{"spec", "strategy", "stages[]", "maxConcurrency"})
	require.Empty(t, unknown)
	require.NotEmpty(t, field.Text)
	_, unknown = Root(api.KindUpdateRun).Find([]string{"spec", "stratgy"})
	require.Equal(t, "stratgy", unknown)
}

// ours reports whether Flotilla gives the kind a meaning.
func ours(name string) bool { return Known(name) && below(name) != "" }

// names are the kinds that can be described, sorted.
func names() []string {
	var all []string
	for name := range kinds {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
