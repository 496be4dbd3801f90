package strict_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/strict"
)

// document has a field of each sort.
type document struct {
	Text    string              `json:"text,omitempty"`
	Flag    bool                `json:"flag,omitempty"`
	Small   int32               `json:"small,omitempty"`
	Large   int64               `json:"large,omitempty"`
	Either  *intstr.IntOrString `json:"either,omitempty"`
	At      *metav1.Time        `json:"at,omitempty"`
	For     *metav1.Duration    `json:"for,omitempty"`
	List    []string            `json:"list,omitempty"`
	Map     map[string]string   `json:"map,omitempty"`
	Inner   *inner              `json:"inner,omitempty"`
	Several []inner             `json:"several,omitempty"`
}

type inner struct {
	Name string `json:"name"`
}

// What a value is not of its field is told with what was found and what is expected; the rest is read.
func TestValuesOfFields(t *testing.T) {
	for given, want := range map[string]string{
		`{"text": "a", "flag": true, "small": 1, "large": 2, "either": 3, "at": "2026-11-20T13:00:00Z", "for": "1h30m", "list": ["a"], "map": {"a": "b"}}`: "",
		`{"either": "25%", "at": null, "list": null, "inner": null, "several": [{"name": "a"}]}`:                                                           "",
		`{"text": 3}`:                     `text: found number 3, expected a string`,
		`{"text": true}`:                  `text: found boolean true, expected a string`,
		`{"flag": "true"}`:                `flag: found "true", expected`,
		`{"small": 2147483647}`:           "",
		`{"small": 2147483648}`:           "small: found number 2147483648, expected a whole number from -2147483648 to 2147483647",
		`{"small": "3"}`:                  `small: found "3", expected a whole number, 3, without quotes`,
		`{"small": 3.0}`:                  `small: found number 3.0, expected a whole number, 3`,
		`{"small": 3.5}`:                  `small: found number 3.5, expected a whole number`,
		`{"large": 9223372036854775807}`:  "",
		`{"large": 9223372036854775808}`:  "large: found number 9223372036854775808, expected a whole number from -9223372036854775808 to 9223372036854775807",
		`{"either": {"a": 1}}`:            "either: found a map (a), expected a whole number, or a percentage as a string",
		`{"either": ["25%"]}`:             "either: found a list of 1, expected a whole number, or a percentage as a string, not a list",
		`{"at": "noon"}`:                  `at: found "noon", expected a time like "2026-11-20T13:00:00Z"`,
		`{"at": 5}`:                       `at: found number 5, expected a time`,
		`{"for": "long"}`:                 `for: found "long", expected a duration like "45m" or "1h30m"`,
		`{"for": 5}`:                      `for: found number 5, expected a duration`,
		`{"list": "a"}`:                   `list: found "a", expected a list`,
		`{"map": ["a"]}`:                  `map: found a list of 1, expected`,
		`{"map": {"a": 1}}`:               `map.a: found number 1, expected a string`,
		`{"inner": "a"}`:                  `inner: found "a", expected`,
		`{"inner": {"nam": "a"}}`:         `inner.nam: `,
		`{"several": [{"name": "a"}, 3]}`: `several[1]: found number 3, expected`,
		`{"txet": "a"}`:                   `txet: `,
		`[]`:                              `found a list of 0, expected`,
	} {
		var d document
		faults := strict.Decode([]byte(given), &d)
		if want == "" {
			require.Empty(t, faults, given)
			continue
		}
		require.Len(t, faults, 1, given)
		require.Contains(t, faults.Error(), want, given)
	}
}

// What a document lacks is described by what is expected there.
func TestMissingFields(t *testing.T) {
	var d struct {
		For    metav1.Duration    `json:"for"`
		Either intstr.IntOrString `json:"either"`
		Inner  inner              `json:"inner"`
	}
	require.EqualError(t, strict.Decode([]byte(`{}`), &d), `for: found nothing, expected a duration like "45m" or "1h30m"
either: found nothing, expected a whole number, or a percentage as a string
inner: found nothing, expected a map with name`)
}

// Names that are nearly those of fields are taken for them, and said.
func TestNearNames(t *testing.T) {
	for name, want := range map[string]string{"regoin": "region", "region": "region", "Region": "region", "zone": "", "teir": "tier"} {
		require.Equal(t, want, strict.Nearest(name, []string{"region", "tier"}), name)
	}
}

// A tree is changed at a path where the path leads, and nowhere else.
func TestATreeIsChangedAtAPath(t *testing.T) {
	for path, want := range map[string]string{
		"a":       `{"a":"new","l":["x","y"],"m":{"k":"v"}}`,
		"m.k":     `{"a":"b","l":["x","y"],"m":{"k":"new"}}`,
		"m.other": `{"a":"b","l":["x","y"],"m":{"k":"v","other":"new"}}`,
		"l[1]":    `{"a":"b","l":["x","new"],"m":{"k":"v"}}`,
		"l[2]":    `{"a":"b","l":["x","y"],"m":{"k":"v"}}`,
		"l.k":     `{"a":"b","l":["x","y"],"m":{"k":"v"}}`,
		"m[0]":    `{"a":"b","l":["x","y"],"m":{"k":"v"}}`,
		"n.k":     `{"a":"b","l":["x","y"],"m":{"k":"v"}}`,
		"l[5].k":  `{"a":"b","l":["x","y"],"m":{"k":"v"}}`,
	} {
		tree, _, err := strict.Parse([]byte(`{"a":"b","l":["x","y"],"m":{"k":"v"}}`))
		require.NoError(t, err)
		tree.Put(strict.At(path), strict.TextNode("new"), "")
		require.Equal(t, want, string(tree.AppendJSON(nil)), path)
	}
	tree, _, err := strict.Parse([]byte(`{"m":{"old":"v"}}`))
	require.NoError(t, err)
	tree.Put(strict.At("m.old"), strict.TextNode("v"), "name")
	require.JSONEq(t, `{"m":{"name":"v"}}`, string(tree.AppendJSON(nil)), "an old name goes away")
	tree.Put(nil, strict.EmptyMap(), "")
	require.Equal(t, `{}`, string(tree.AppendJSON(nil)))
	tree.Remove("absent")
	require.Nil(t, tree.Get("absent"))
}
