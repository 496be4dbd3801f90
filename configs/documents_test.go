package configs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Document
	}{
		{"nothing", "", nil},
		{"comments and empty documents", "# a\n---\n---\n# b\n...\n%YAML 1.2\n---\nnull\n", nil},
		{"two documents", "kind: A\n---\n# note\nkind: B\n", []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage(`{"kind":"A"}`)},
			{Index: 2, Line: 4, JSON: json.RawMessage(`{"kind":"B"}`)},
		}},
		{"text behind the marker, windows line ends", "--- {kind: A}\r\n---  # second\r\nkind: B\r\n", []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage(`{"kind":"A"}`)},
			{Index: 2, Line: 3, JSON: json.RawMessage(`{"kind":"B"}`)},
		}},
		{"a marker inside a block", "a: |\n  ---\n  x\nb: ---x\n", []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage(`{"a":"---\nx\n","b":"---x"}`)},
		}},
		{"JSON keeps its text", "{\"a\": 1.10,\n \"s\": \"\\ud83d\\ude00\"}\n{\"b\": 2}", []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage("{\"a\": 1.10,\n \"s\": \"\\ud83d\\ude00\"}")},
			{Index: 2, Line: 3, JSON: json.RawMessage(`{"b": 2}`)},
		}},
		{"a flow map is YAML", "{a: 1}", []Document{{Index: 1, Line: 1, JSON: json.RawMessage(`{"a":1}`)}}},
		{"a list", "kind: List\napiVersion: v1\nitems:\n- kind: A\n- kind: B\n", []Document{
			{Index: 1, Line: 4, JSON: json.RawMessage(`{"kind":"A"}`)},
			{Index: 1, Line: 5, JSON: json.RawMessage(`{"kind":"B"}`)},
		}},
		{"an empty list", "kind: List\nitems: []\n", nil},
		{"a list of lists", `{"kind":"List","items":[{"kind":"AList","items":[{}]}]}`, []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage(`{"apiVersion":"","kind":"A"}`)},
		}},
		{"a typed list", "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: a}\n", []Document{
			{Index: 1, Line: 4, JSON: json.RawMessage(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}`)},
		}},
		{"a kind that only sounds like a list", "kind: AllowList\nspec: {}\n", []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage(`{"kind":"AllowList","spec":{}}`)},
		}},
		{"anchors and merges", "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nagain: *b\n", []Document{
			{Index: 1, Line: 1, JSON: json.RawMessage(`{"base":{"x":1,"y":2},"use":{"y":3,"x":1},"again":{"x":1,"y":2}}`)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := Parse("f", []byte(c.text))
			require.NoError(t, err)
			for i := range c.want {
				c.want[i].Source = "f"
			}
			for i := range docs {
				docs[i].origin, docs[i].within = nil, nil
			}
			require.Equal(t, c.want, docs)
		})
	}
}

func TestScalars(t *testing.T) {
	for yaml, want := range map[string]string{
		"1":                           "1",
		"12345678901234567890123":     "12345678901234567890123",
		"9007199254740993":            "9007199254740993",
		"-7":                          "-7",
		"+7":                          "7",
		"1.10":                        "1.10",
		"1e3":                         "1e3",
		".5":                          "0.5",
		"5.":                          "5",
		"0644":                        "420",
		"0o644":                       "420",
		"08":                          "8",
		"0x1F":                        "31",
		"0b101":                       "5",
		"1_000":                       "1000",
		"0":                           "0",
		"true":                        "true",
		"False":                       "false",
		"yes":                         "true",
		"off":                         "false",
		`"yes"`:                       `"yes"`,
		"'1'":                         `"1"`,
		"!!str 1":                     `"1"`,
		"~":                           "null",
		"":                            "null",
		"2023-11-10T08:14:52Z":        `"2023-11-10T08:14:52Z"`,
		"2023-11-10":                  `"2023-11-10"`,
		"25%":                         `"25%"`,
		"...":                         `"..."`,
		"1.2.3":                       `"1.2.3"`,
		"100m":                        `"100m"`,
		"|\n  a\n  b\n":               `"a\nb\n"`,
		"1234567890123456789012345.5": "1234567890123456789012345.5",
	} {
		t.Run(yaml, func(t *testing.T) {
			docs, err := Parse("f", []byte("a: "+yaml))
			require.NoError(t, err)
			require.Len(t, docs, 1)
			require.Equal(t, `{"a":`+want+`}`, string(docs[0].JSON))
			require.True(t, json.Valid(docs[0].JSON))
		})
	}
}

func TestParseReportsEveryProblem(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		left       int // documents that could be read
	}{
		{"duplicate keys", "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", []string{
			`f:4:3: b.c: found the key a second time, first on line 3, expected each key once`,
			`f:5:1: a: found the key a second time, first on line 1, expected each key once`,
		}, 1},
		{"duplicate keys of JSON", "{\"a\": {\"x y\": 1,\n\t\"x y\": 2}}\n{\"b\": 1, \"b\": 2}", []string{
			`f:2:2: a["x y"]: found the key a second time, first on line 1, expected each key once`,
			`f:3:10: b: found the key a second time, first on line 3, expected each key once`,
		}, 2},
		{"a key twice in an anchor that is used twice", "a: &x {k: 1, k: 2}\nb: *x\nc: {<<: *x, k: 3}\n", []string{"f:1:14: a.k: found the key a second time"}, 1},
		{"JSON cut short", "{\"a\": {\n  \"b\": 1", []string{"f:2:9: found text that is not JSON: it ends too early, expected JSON, or YAML"}, 0},
		{"JSON with a slip", "{\"a\": 1}\n{\"b\": tru}\n{\"c\": [}", []string{"f:2:10: found text that is not JSON: invalid character '}' in literal true (expecting 'e')"}, 0},
		{"each document speaks", "a: [\n---\nb: {\n---\nc: 1\n", []string{"f:2:1: found text that is not YAML: did not find expected node content, expected YAML", "f:4:1: found text that is not YAML"}, 1},
		{"line of a later document", "a: 1\n---\nb: 1\nc: 1\nb: 2\n", []string{`f:5:1: b: found the key a second time, first on line 3`}, 2},
		{"a map behind a map", "{a: 1}\n{b: 2}\n", []string{"f:2:1: found text that is not YAML: did not find expected <document start>, expected YAML"}, 0},
		{"tabs", "a:\n\tb: 1\n", []string{"f:2:1: found a tab, expected spaces"}, 0},
		{"a list at the top", "- a\n- b\n", []string{"f:1:1: found a list, expected an object: a map with apiVersion, kind and metadata"}, 0},
		{"not a number of JSON", "a: .nan\n", []string{"f:1:4: found the number .nan, which JSON cannot hold, expected another number, or a string in quotes"}, 0},
		{"a hexadecimal too big", "a: 0xFFFFFFFFFFFFFFFF\n", []string{"does not fit into 64 bits"}, 0},
		{"odd keys", "? [a]\n: 1\n~: 2\n", []string{"f:1:3: found a key that is no string, expected a string before the colon", "f:3:1: found a key that is no string"}, 0},
		{"a tag", "a: !!set {}\nb: !thing x\n", []string{"f:2:4: found the tag !thing, expected a value without it"}, 0},
		{"a merge of nothing", "<<: 1\n", []string{"found something else after <<, expected a map, or a list of maps"}, 0},
		{"an item that is none", "kind: List\nitems:\n- kind: A\n- 7\n", []string{"f:4:3: items[1]: found 7, expected an object"}, 1},
		{"an unknown anchor", "a: 1\nb: *x\n", []string{"f:2:4: found *x, expected the name of an anchor"}, 0},
		{"a value behind a value", "a: 1\nb: \"x\" y\nc: 1\n", []string{"f:2:8: found text that is not YAML: did not find expected key while parsing a block mapping that began on line 1"}, 0},
		{"wrong indent", "x: 1\n---\na:\n  b:\n    - c\n   d: 1\n", []string{"f:6:4: found text that is not YAML: did not find expected key while parsing a block mapping that began on line 4"}, 1},
		{"a quote that never ends", "a: 1\nb: 'x\nc: 2\n", []string{"f:2:4: found text that is not YAML: found unexpected end of stream"}, 0},
		{"a key without colon", "a: 1\nb\nc: 2\n", []string{"f:2:1: found text that is not YAML: could not find expected ':'"}, 0},
		{"two colons", "a: b: c\n", []string{"f:1:5: found text that is not YAML: mapping values are not allowed in this context"}, 0},
		{"a bracket that is not closed", "a: 1\nb: [x,\nc: 2\n", []string{"f:4:1: found text that is not YAML: did not find expected ',' or ']' while parsing a flow sequence that began on line 2"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := Parse("f", []byte(c.text))
			require.Error(t, err)
			require.Len(t, docs, c.left)
			problems := strings.Split(err.Error(), "\n")
			require.Len(t, problems, len(c.want), "%v", problems)
			for i := range c.want {
				require.Contains(t, problems[i], c.want[i])
			}
		})
	}
}

func TestAliasesCannotFillTheMemory(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, pair := range []string{"ba", "cb", "dc", "ed", "fe", "gf", "hg", "ih", "ji", "kj"} {
		item := "*" + pair[1:]
		laughs += pair[:1] + ": &" + pair[:1] + " [" + strings.Repeat(item+",", 8) + item + "]\n"
	}
	merges := "a: &a {x: 1}\n"
	for _, pair := range []string{"ba", "cb", "dc", "ed", "fe", "gf", "hg", "ih", "ji", "kj"} {
		item := "*" + pair[1:]
		merges += pair[:1] + ": &" + pair[:1] + " {<<: [" + strings.Repeat(item+",", 8) + item + "]}\n"
	}
	for name, text := range map[string]string{
		"lists": laughs, "merges": merges, "itself": "a: &a {b: *a}\n", "merged itself": "a: &a {<<: *a}\n",
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := Parse("f", []byte(text))
			require.ErrorContains(t, err, "grows beyond all bounds")
			require.Empty(t, docs)
		})
	}
}

func TestADocumentThatIsTooDeep(t *testing.T) {
	docs, err := Parse("f", []byte(strings.Repeat("- ", 9000)))
	require.ErrorContains(t, err, "f:1:1003: found a value within 501 others, expected at most 500 within each other")
	require.Empty(t, docs)
}

func TestReadFilesFoldersAndStandardInput(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": "kind: B", "a.yml": "kind: A", "c.json": `{"kind":"C"}`, "skipped.txt": "kind: X", "sub/d.yaml": "kind: D",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	kinds := func(docs []Document) (out []string) {
		for _, d := range docs {
			var head struct{ Kind string }
			require.NoError(t, json.Unmarshal(d.JSON, &head))
			out = append(out, head.Kind)
		}
		return out
	}
	docs, err := Read(strings.NewReader("kind: In"), false, "-", dir, filepath.Join(dir, "skipped.txt"))
	require.NoError(t, err)
	require.Equal(t, []string{"In", "A", "B", "C", "X"}, kinds(docs))
	require.Equal(t, "-:1", docs[0].Where())

	docs, err = Read(nil, true, dir)
	require.NoError(t, err)
	require.Equal(t, []string{"A", "B", "C", "D"}, kinds(docs))
}

func TestReadReportsEverySource(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "good"), []byte("kind: A"), 0o644))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	docs, err := Read(nil, false, filepath.Join(dir, "gone.yaml"), empty, "https://example.com/a.yaml", filepath.Join(dir, "good"))
	require.Len(t, docs, 1)
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)
	require.Contains(t, problems[0].Error(), "gone.yaml: no such file or directory")
	require.Contains(t, problems[1].Error(), "the folder holds no .yaml, .yml, .json file")
	require.Contains(t, problems[2].Error(), "curl -fsSL https://example.com/a.yaml | flotilla apply -f -")
}
