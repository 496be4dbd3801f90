package bounds

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Selectors have bounds before anything keeps them, and what cannot be read is left to whoever says why (H39).
func TestSelectorsOfRequests(t *testing.T) {
	for _, c := range []struct{ labels, fields, want string }{
		{"", "", ""},
		{"env=prod,region in (eu,us)", "metadata.name=a", ""},
		{strings.Repeat("x,", 255) + "x", "", ""},
		{strings.Repeat("x,", 256) + "x", "", "labelSelector: found 257 requirements, expected at most 256"},
		{strings.Repeat("x", 8193), "", "labelSelector: found 8193 bytes, expected at most 8192"},
		{"name in (" + strings.Repeat("a,", 2000) + "a)", "", ""},
		{"", strings.Repeat("metadata.name=a,", 256) + "metadata.name=a", "fieldSelector: found 257 requirements, expected at most 256"},
		{"=(", "===", ""},
	} {
		err := Selectors(url.Values{"labelSelector": {c.labels}, "fieldSelector": {c.fields}})
		if c.want == "" {
			require.NoError(t, err, c.labels)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}
