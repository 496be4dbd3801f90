package seal_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/seal"
)

func TestABundleIsWhatWasPutIntoIt(t *testing.T) {
	for _, bodies := range [][][]byte{{}, {{}}, {[]byte("a"), {}, make([]byte, 300)}} {
		raw := seal.Bundle([]byte("head"), bodies)
		head, found, err := seal.Unbundle(raw)
		require.NoError(t, err)
		require.Equal(t, []byte("head"), head)
		require.Len(t, found, len(bodies))
		for i := range bodies {
			require.Equal(t, string(bodies[i]), string(found[i]))
		}
	}
}

// What was cut, or says of a part that it is longer than all there is, is refused; nothing is read beyond its end.
func TestWhatIsNoBundleIsRefused(t *testing.T) {
	whole := seal.Bundle([]byte("head"), [][]byte{[]byte("a body")})
	for name, raw := range map[string][]byte{
		"nothing": nil, "no head": whole[:1], "something sealed": {1, 2, 3}, "cut": whole[:len(whole)-1], "cut in a length": append(slices.Clip(whole), 0x80),
		"a length of all there is": append([]byte{3}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
	} {
		_, _, err := seal.Unbundle(raw)
		require.ErrorIs(t, err, seal.ErrSealed, name)
	}
}
