package overlay

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The cases are those of RFC 7386, appendix A, whose documents are objects.
func TestMergePatch(t *testing.T) {
	cases := [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"n":9007199254740993}`, `{"a":1}`, `{"a":1,"n":9007199254740993}`},
	}
	for _, c := range cases {
		merged, err := Patch(json.RawMessage(c[0]), json.RawMessage(c[1]))
		require.NoError(t, err)
		require.Equal(t, c[2], string(merged), "%s + %s", c[0], c[1])
	}
	_, err := Patch(json.RawMessage(`{}`), json.RawMessage(`[1]`))
	require.ErrorContains(t, err, "not a JSON object")
}
