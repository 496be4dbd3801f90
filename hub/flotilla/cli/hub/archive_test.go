package hub

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func archived(t *testing.T, head api.BackupHead, pages ...api.BackupPage) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := newArchive(&file, &head)
	require.NoError(t, err)
	for i := range pages {
		require.NoError(t, w.add(&pages[i]))
	}
	require.NoError(t, w.close())
	return file.Bytes()
}

// A backup file is read as it was written, and whatever is cut off or turned over in it is found.
func TestABackupFileIsReadWholeOrNotAtAll(t *testing.T) {
	head := api.BackupHead{Kind: api.KindBackup, Version: api.BackupVersion, Fleet: "test", Records: 2, Contents: 1}
	pages := []api.BackupPage{{Next: 2, Sealed: []byte{1, 2, 3}}, {From: 2, Sealed: []byte{4, 5}}}
	file := archived(t, head, pages...)
	var got []api.BackupPage
	take := func(p *api.BackupPage) error { got = append(got, *p); return nil }
	read, err := readArchive(bytes.NewReader(file), take)
	require.NoError(t, err)
	require.Equal(t, &head, read)
	require.Equal(t, pages, got)

	for at := range file {
		_, err := readArchive(bytes.NewReader(file[:at]), take)
		require.Error(t, err, "cut off after %d bytes", at)
	}
	for at := 10; at < len(file); at++ { // behind the header of gzip
		turned := bytes.Clone(file)
		turned[at] ^= 0xff
		_, err := readArchive(bytes.NewReader(turned), take)
		require.Error(t, err, "byte %d of %d", at, len(file))
	}
	for by, text := range map[int]string{+1: "of a newer build", -1: "of an older build, which stored content otherwise"} {
		head.Version = api.BackupVersion + by
		_, err = readArchive(bytes.NewReader(archived(t, head, pages...)), take)
		require.ErrorContains(t, err, text)
	}
}
