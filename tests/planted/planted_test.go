package planted_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"flotilla/tests/planted"
)

// What is searched for is found where it is, as it is and packed.
func TestAPlantedValueIsFoundWhereItIs(t *testing.T) {
	p := planted.New()
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", shift) + p.Text + "tail"))
		require.True(t, p.In([]byte("{"+text+"}")), "base64 behind %d bytes", shift)
		var zipped, packed bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		w := s2.NewWriter(&packed)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.True(t, p.In(append([]byte("before"), zipped.Bytes()...)))
		require.True(t, p.In(append([]byte("before"), packed.Bytes()...)))
	}
	require.False(t, p.In([]byte("nothing of it")))

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("{"+p.Text+"}"), 0o600))
	found, seen := p.Files(t, dir)
	require.Equal(t, []string{filepath.Join(dir, "file")}, found)
	require.Equal(t, 1, seen)
}
