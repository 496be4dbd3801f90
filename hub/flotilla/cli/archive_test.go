package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func archived(t *testing.T, head api.BackupHead, entries ...api.BackupEntry) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := newArchive(&file, &head)
	require.NoError(t, err)
	require.NoError(t, w.add(entries))
	require.NoError(t, w.close())
	return file.Bytes()
}

// A backup file is read as it was written, and whatever is cut off or turned over in it is found.
func TestABackupFileIsReadWholeOrNotAtAll(t *testing.T) {
	head := api.BackupHead{Kind: api.KindBackup, Version: api.BackupVersion, Fleet: "test", Records: 2, Contents: 1}
	entries := []api.BackupEntry{
		{Record: "spec.placement.web", Value: []byte(`{"a":1}`)}, {Record: "layout", Value: []byte(`{}`)}, {Content: "abc", Value: []byte{0, 1, 2}},
	}
	file := archived(t, head, entries...)
	var got []api.BackupEntry
	take := func(e api.BackupEntry) error { got = append(got, e); return nil }
	read, err := readArchive(bytes.NewReader(file), take)
	require.NoError(t, err)
	require.Equal(t, &head, read)
	require.Equal(t, entries, got)

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
	_, err = readArchive(bytes.NewReader(archived(t, head, entries[0])), take)
	require.ErrorContains(t, err, "1 of 2 records are there")
	head.Version++
	_, err = readArchive(bytes.NewReader(archived(t, head, entries...)), take)
	require.ErrorContains(t, err, "it has version 3, this build reads up to 2")
}
