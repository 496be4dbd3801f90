package validate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// fill sets every field below v to something that is not its zero value.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case metav1.Time, metav1.MicroTime:
		v.Field(0).Set(reflect.ValueOf(time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC).Local()))
		return
	case metav1.FieldsV1:
		v.Set(reflect.ValueOf(*metav1.NewFieldsV1(`{"f:a":{}}`)))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromString("25%")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("example.com/key").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(7)
	}
}

// kinds are the types that documents are decoded into.
var samples = []any{&api.Placement{}, &api.MemberCluster{}, &contentMeta{}}

// parts are the types that kinds are made of, small enough to try everything everywhere.
var parts = []any{&api.PlacementSpec{}, &api.MemberClusterSpec{}, &api.MemberClusterStatus{}, &metav1.ObjectMeta{}}

func full(t *testing.T, kind any) (any, []byte) {
	t.Helper()
	value := reflect.New(reflect.TypeOf(kind).Elem())
	fill(value.Elem())
	raw, err := json.Marshal(value.Interface())
	require.NoError(t, err)
	return value.Interface(), raw
}

func TestEveryFieldOfEveryKindIsRead(t *testing.T) {
	for _, kind := range samples {
		want, raw := full(t, kind)
		got := reflect.New(reflect.TypeOf(kind).Elem()).Interface()
		require.NoError(t, strict.Decode(raw, got).Err())
		require.Equal(t, want, got)
	}
}

// places lists the path of every value in a generic document, with a function that replaces it.
func places(at string, value any, set func(any), visit func(at string, old any, set func(any))) {
	visit(at, value, set)
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			places(at+"/"+key, inner, func(x any) { v[key] = x }, visit)
		}
	case []any:
		for i, inner := range v {
			places(fmt.Sprintf("%s/%d", at, i), inner, func(x any) { v[i] = x }, visit)
		}
	}
}

func TestNothingThatDoesNotFitPassesAnywhere(t *testing.T) {
	strangers := []any{
		nil, true, "text", "", json.Number("1"), json.Number("-1.5"), json.Number("1e400"), json.Number("99999999999999999999"),
		[]any{},
		[]any{"text"},
		[]any{json.Number("1")},
		[]any{nil},
		[]any{[]any{}},
		[]any{map[string]any{}},
		[]any{map[string]any{"a": "b"}, "c"},
		map[string]any{},
		map[string]any{"zzzzzzzz": json.Number("1")},
		map[string]any{"a": nil},
	}
	for _, kind := range parts {
		_, raw := full(t, kind)
		var root any
		require.NoError(t, json.Unmarshal(raw, &root))
		tried := 0
		places("", root, func(x any) { root = x }, func(at string, old any, set func(any)) {
			for _, stranger := range strangers {
				set(stranger)
				changed, err := json.Marshal(root)
				require.NoError(t, err)
				set(old)
				tried++
				into := reflect.New(reflect.TypeOf(kind).Elem()).Interface()
				faults := strict.Decode(changed, into)
				plain := reflect.New(reflect.TypeOf(kind).Elem()).Interface()
				if err := json.Unmarshal(changed, plain); err != nil {
					require.NotEmpty(t, faults, "%s = %v: %v", at, stranger, err)
				}
				if len(faults) == 0 {
					require.Equal(t, plain, into, "%s = %v", at, stranger)
				}
				for _, f := range faults {
					require.NotEmpty(t, f.Found, at)
					require.NotEmpty(t, f.Expected, at)
				}
			}
		})
		require.Greater(t, tried, 100)
	}
}

func TestEveryMisspeltFieldIsNamed(t *testing.T) {
	for _, kind := range samples {
		_, raw := full(t, kind)
		var root any
		require.NoError(t, json.Unmarshal(raw, &root))
		tried := 0
		places("", root, func(any) {}, func(at string, old any, _ func(any)) {
			object, ok := old.(map[string]any)
			if !ok || strings.HasSuffix(at, "abels") || strings.HasSuffix(at, "nnotations") || strings.Contains(at, "fieldsV1") {
				return
			}
			for key, value := range object {
				if strings.ContainsAny(key, "./:") || len(key) < 4 {
					continue
				}
				delete(object, key)
				object[key+"X"] = value
				changed, err := json.Marshal(root)
				require.NoError(t, err)
				delete(object, key+"X")
				object[key] = value
				faults := strict.Decode(changed, reflect.New(reflect.TypeOf(kind).Elem()).Interface())
				if strings.HasSuffix(at, "capacity") || strings.HasSuffix(at, "allocatable") || strings.HasSuffix(at, "available") {
					continue
				}
				tried++
				require.Len(t, faults, 1, "%s/%s", at, key)
				require.True(t, strings.HasSuffix(faults[0].Path, key+"X"), faults[0].Path)
				require.True(t, strings.HasPrefix(faults[0].Expected, key+" (did you mean that?)"), faults[0].Expected)
				require.True(t, strings.HasPrefix(faults[0].Fix, key+":"), faults[0].Fix)
			}
		})
		require.Positive(t, tried)
	}
}

// sample has a field of each form.
type sample struct {
	Text    string                `json:"text,omitempty"`
	Number  int32                 `json:"number,omitempty"`
	Flag    bool                  `json:"flag,omitempty"`
	Share   *intstr.IntOrString   `json:"share,omitempty"`
	When    *metav1.Time          `json:"when,omitempty"`
	Words   []string              `json:"words,omitempty"`
	Things  []sampleThing         `json:"things,omitempty"`
	Thing   *sampleThing          `json:"thing,omitempty"`
	Labels  map[string]string     `json:"labels,omitempty"`
	Span    *span                 `json:"span,omitempty"`
	Skipped map[chan int]chan int `json:"-"`
}

type sampleThing struct {
	Name string `json:"name"`
	Size int64  `json:"size,omitempty"`
}

// span reads itself from text.
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`a duration, like "15s"`)
	}
	*s = span(d)
	return nil
}

func TestFormsAndTheirCorrection(t *testing.T) {
	quarter, fifteen := intstr.FromString("25%"), span(15*time.Second)
	three := intstr.FromInt32(3)
	for _, c := range []struct {
		name, doc string
		want      sample
		faults    []strict.Fault
	}{
		{name: "all right", doc: `{"text":"a","number":-3,"flag":true,"share":"25%","words":["b"],"things":[{"name":"c"}],"labels":{"d":"e"},"span":"15s"}`, want: sample{
			Text: "a", Number: -3, Flag: true, Share: &quarter, Words: []string{"b"}, Things: []sampleThing{{Name: "c"}},
			Labels: map[string]string{"d": "e"}, Span: &fifteen,
		}},
		{name: "null is absent", doc: `{"text":null,"things":null,"thing":null,"labels":null,"when":null,"unknowable":1}`, faults: []strict.Fault{
			{Path: "unknowable", Found: "an unknown field", Expected: "one of text, number, flag, share, when, words, things, thing, labels, span"},
		}},
		{
			name: "scalars of another type", doc: `{"text":1.50,"number":"3","flag":"true","share":3.0}`,
			want: sample{Text: "1.50", Number: 3, Flag: true, Share: &three}, faults: []strict.Fault{
				{Path: "text", Found: "number 1.50", Expected: `a string, "1.50"`, Fix: `text: "1.50"`},
				{Path: "number", Found: `"3"`, Expected: "a whole number, 3, without quotes", Fix: "number: 3"},
				{Path: "flag", Found: `"true"`, Expected: "true or false, without quotes", Fix: "flag: true"},
				{Path: "share", Found: "number 3.0", Expected: "a whole number, 3", Fix: "share: 3"},
			},
		},
		{name: "scalars that cannot be mended", doc: `{"text":{"a":1},"number":2.5,"flag":"maybe","share":true,"when":"yesterday","span":7,"labels":{"a":null}}`, want: sample{Labels: map[string]string{}}, faults: []strict.Fault{
			{Path: "text", Found: "a map (a)", Expected: "a string"},
			{Path: "number", Found: "number 2.5", Expected: "a whole number"},
			{Path: "flag", Found: `"maybe"`, Expected: "true or false"},
			{Path: "share", Found: "boolean true", Expected: "a whole number, or a percentage as a string"},
			{Path: "when", Found: `"yesterday"`, Expected: `a time like "2026-11-20T13:00:00Z"`},
			{Path: "span", Found: "number 7", Expected: `a duration, like "15s"`},
			{Path: "labels.a", Found: "null", Expected: "a string"},
		}},
		{name: "booleans that may be words without quotes", doc: `{"text":false,"labels":{"a":true,"b":"c"}}`, want: sample{Labels: map[string]string{"b": "c"}}, faults: []strict.Fault{
			{Path: "text", Found: "boolean false", Expected: "a string; words like yes, no, on, off, true and false are strings where they stand in quotes"},
			{Path: "labels.a", Found: "boolean true", Expected: "a string; words like yes, no, on, off, true and false are strings where they stand in quotes"},
		}},
		{
			name: "numbers out of range", doc: `{"number":2147483648,"things":[{"name":"a","size":-9223372036854775809},{"name":"b","size":9223372036854775807}]}`,
			want: sample{Things: []sampleThing{{Name: "a"}, {Name: "b", Size: 9223372036854775807}}}, faults: []strict.Fault{
				{Path: "number", Found: "number 2147483648", Expected: "a whole number from -2147483648 to 2147483647"},
				{Path: "things[0].size", Found: "number -9223372036854775809", Expected: "a whole number from -9223372036854775808 to 9223372036854775807"},
			},
		},
		{
			name: "one where a list belongs", doc: `{"words":7,"things":{"name":8}}`,
			want: sample{Words: []string{"7"}, Things: []sampleThing{{Name: "8"}}}, faults: []strict.Fault{
				{Path: "words", Found: "number 7", Expected: "a list, each item a string", Fix: "words:\n- \"7\""},
				{Path: "words[0]", Found: "number 7", Expected: `a string, "7"`, Fix: `- "7"`},
				{Path: "things", Found: "a map (name)", Expected: "a list, each item a map with name, size", Fix: "things:\n- name: \"8\""},
				{Path: "things[0].name", Found: "number 8", Expected: `a string, "8"`, Fix: `name: "8"`},
			},
		},
		{
			name: "a list where one belongs", doc: `{"text":["a"],"number":[3],"thing":[{"name":"a"}],"labels":[{"b":"c"}]}`,
			want: sample{Text: "a", Number: 3, Thing: &sampleThing{Name: "a"}, Labels: map[string]string{"b": "c"}}, faults: []strict.Fault{
				{Path: "text", Found: "a list of 1", Expected: "a string, not a list", Fix: "text: a"},
				{Path: "number", Found: "a list of 1", Expected: "a whole number, not a list", Fix: "number: 3"},
				{Path: "thing", Found: "a list of 1", Expected: "a map with name, size, not a list", Fix: "thing:\n  name: a"},
				{Path: "labels", Found: "a list of 1", Expected: "a map of strings, not a list", Fix: "labels:\n  b: c"},
			},
		},
		{
			name: "shapes that cannot be mended", doc: `{"thing":[{"name":"a"},{"name":"b"}],"things":["a",{"name":"b"}],"words":{"a":1},"labels":"a"}`,
			want: sample{Things: []sampleThing{{}, {Name: "b"}}}, faults: []strict.Fault{
				{Path: "thing", Found: "a list of 2", Expected: "a map with name, size"},
				{Path: "things[0]", Found: `"a"`, Expected: "a map with name, size"},
				{Path: "words", Found: "a map (a)", Expected: "a list, each item a string"},
				{Path: "labels", Found: `"a"`, Expected: "a map of strings"},
			},
		},
		{name: "required", doc: `{"things":[{"size":1},{"name":null}]}`, want: sample{Things: []sampleThing{{Size: 1}, {}}}, faults: []strict.Fault{
			{Path: "things[0].name", Found: "nothing", Expected: "a string"},
			{Path: "things[1].name", Found: "nothing", Expected: "a string"},
		}},
		{name: "misspelt, and wrong inside", doc: `{"Things":[{"nam":1}]}`, want: sample{Things: []sampleThing{{Name: "1"}}}, faults: []strict.Fault{
			{Path: "Things", Found: "an unknown field", Expected: "things (did you mean that?)", Fix: "things:\n- name: \"1\""},
			{Path: "things[0].nam", Found: "an unknown field", Expected: "name (did you mean that?)", Fix: `name: "1"`},
			{Path: "things[0].name", Found: "number 1", Expected: `a string, "1"`, Fix: `name: "1"`},
		}},
		{name: "misspelt beside the right one", doc: `{"text":"a","tex":"b"}`, want: sample{Text: "a"}, faults: []strict.Fault{
			{Path: "tex", Found: "an unknown field", Expected: "one of text, number, flag, share, when, words, things, thing, labels, span"},
		}},
		{name: "twice", doc: `{"text":"a","text":"b","labels":{"x":"1","x":"2"}}`, want: sample{Text: "a", Labels: map[string]string{"x": "1"}}, faults: []strict.Fault{
			{Path: "text", Found: "the key more than once", Expected: "each key once"},
			{Path: "labels.x", Found: "the key more than once", Expected: "each key once"},
		}},
		{name: "keys with dots", doc: `{"labels":{"example.com/a":1}}`, want: sample{Labels: map[string]string{"example.com/a": "1"}}, faults: []strict.Fault{
			{Path: `labels["example.com/a"]`, Found: "number 1", Expected: `a string, "1"`, Fix: `example.com/a: "1"`},
		}},
		{name: "no map at all", doc: `[1]`, faults: []strict.Fault{
			{Found: "a list of 1", Expected: "a map with text, number, flag, share, when, words, things, thing, labels, span"},
		}},
		{name: "no JSON", doc: `{"text":`, faults: []strict.Fault{{Found: "text that is not JSON: it ends too early", Expected: "one JSON object"}}},
		{name: "more than one", doc: `{} {}`, faults: []strict.Fault{{Found: "text that is not JSON: more text follows the document", Expected: "one JSON object"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got sample
			faults := strict.Decode([]byte(c.doc), &got)
			for i := range faults {
				require.NotEmpty(t, faults[i].Kind)
				faults[i].Kind = ""
			}
			require.Equal(t, c.faults, []strict.Fault(faults))
			require.Equal(t, c.want, got)
		})
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	faults := strict.Decode([]byte(deep), &sample{})
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Found, "nested more than 100 levels deep")

	nested := func(levels int, opens, closes string) []byte {
		return []byte(strings.Repeat(opens, levels) + "1" + strings.Repeat(closes, levels))
	}
	for opens, closes := range map[string]string{`{"a":`: "}", "[": "]"} {
		_, _, err := strict.Parse(nested(100, opens, closes))
		require.NoError(t, err, "what says 100 means 100, of %s", opens)
		_, _, err = strict.Parse(nested(101, opens, closes))
		require.ErrorContains(t, err, "nested more than 100 levels deep")
	}
}

func TestWholeValue(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "-3": "-3", "3.0": "3", "3e2": "300", "0.5e1": "5", "1e18": "1000000000000000000", "12345678901234567890123": "12345678901234567890123",
		"3.5": "", "1e20": "", "-1e20": "", "1e400": "", "1e-1": "", "": "", "three": "", "0." + strings.Repeat("0", 40) + "e1": "",
	} {
		got, ok := strict.WholeValue(text)
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, got.String(), text)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"policy", "strategy", "resourceSelectors", "name"}
	for key, want := range map[string]string{
		"Policy": "policy", "polcy": "policy", "resourceSelector": "resourceSelectors", "resourceselctors": "resourceSelectors",
		"nme": "name", "spec": "", "": "", "policyStrategy": "",
	} {
		require.Equal(t, want, strict.Nearest(key, names), key)
	}
}

func TestYAMLKeepsOrderAndDigits(t *testing.T) {
	shown, err := strict.YAML([]byte(`{"b":[{"z":1.10,"a":12345678901234567890123}],"a":"yes"}`))
	require.NoError(t, err)
	require.Equal(t, "b:\n- z: 1.10\n  a: 12345678901234567890123\na: \"yes\"\n", shown)
	_, err = strict.YAML([]byte(`{`))
	require.Error(t, err)
}

func TestYAMLOfATreeIsTheTree(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `[[],[[]],{}]`, `{"a":{"b":[{"c":1,"d":[2,[3]]},"e"]},"f":null}`,
		`{"strings":["yes","No","on","n","true","null","~","1","1.5","0x1","","a: b","- a","a #b"," a","a\nb","é","25%","...","---","\u0001","*a","&a","!a","@a","a:"]}`,
		`{"yes":1,"1":2,"a b":3,"":4,"example.com/x":5}`,
	} {
		tree, _, err := strict.Parse([]byte(doc))
		require.NoError(t, err)
		back, err := yaml.YAMLToJSONStrict([]byte(tree.YAML()))
		require.NoError(t, err, tree.YAML())
		require.JSONEq(t, doc, string(back), tree.YAML())
		require.JSONEq(t, doc, string(tree.AppendJSON(nil)))
		shown, err := strict.YAML([]byte(doc))
		require.NoError(t, err)
		require.Equal(t, tree.YAML()+"\n", shown)
	}
}
