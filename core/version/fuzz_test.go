package version

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/limits"
)

// FuzzVersions holds that a version or image that is read is written as it was read, and comes at one place in
// the order of its kind.
func FuzzVersions(f *testing.F) {
	f.Add("1.29.4", "v1.29")
	f.Add("AKSUbuntu-2204gen2containerd-202401.09.0", "AKSUbuntu-1804-2022.12.13")
	f.Fuzz(func(t *testing.T, a, b string) {
		limits.Hold(t, len(a)+len(b), func() {
			v, isVersion := Parse(a)
			w, isOther := Parse(b)
			if isVersion {
				again, ok := Parse(v.String())
				require.True(t, ok)
				require.Equal(t, v, again)
			}
			if isVersion && isOther {
				require.Equal(t, v.Compare(w), -w.Compare(v))
			}
			if i, ok := ParseImage(a); ok {
				require.Equal(t, strings.TrimSpace(a), strings.TrimSpace(i.Name()))
			}
		})
	})
}
