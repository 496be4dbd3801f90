package seal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/seal"
)

func headOf(k *seal.Keyring) api.BackupHead {
	return api.BackupHead{
		Kind: api.KindBackup, Version: api.BackupVersion, Fleet: "test", Salt: bytes.Repeat([]byte{7}, seal.KeyBytes), Records: 2,
		Sealing: api.Sealing{Content: []string{seal.Name(k.Content[0])}},
	}
}

func TestAPageOfABackupIsOpenedAsItWasSealed(t *testing.T) {
	old := ring(t, 1)
	head := headOf(old)
	entries := []api.BackupEntry{{Record: "spec.placement.web", Value: []byte(`{"a":"in clear"}`)}, {Content: "abc", Value: []byte{0, 1, 2}}}
	page, err := old.SealPage(&head, 2, 4, entries)
	require.NoError(t, err)
	require.NotContains(t, string(page.Sealed), "in clear")
	require.NotContains(t, string(page.Sealed), "spec.placement.web")
	rotated := &seal.Keyring{Digests: old.Digests, Content: [][]byte{ring(t, 3).Content[0], old.Content[0]}}
	for _, keys := range []*seal.Keyring{old, rotated} {
		found, err := keys.OpenPage(&head, &page)
		require.NoError(t, err)
		require.Equal(t, entries, found)
	}
}

// A page is opened in its place of its own backup, whole, and by who holds its secret; nothing of it otherwise.
func TestAPageOfABackupIsRefusedElsewhere(t *testing.T) {
	k := ring(t, 1)
	head := headOf(k)
	page, err := k.SealPage(&head, 2, 4, []api.BackupEntry{{Record: "layout", Value: []byte("{}")}})
	require.NoError(t, err)
	for name, change := range map[string]func(h *api.BackupHead, p *api.BackupPage){
		"another place":      func(_ *api.BackupHead, p *api.BackupPage) { p.From = 0 },
		"taken for the last": func(_ *api.BackupHead, p *api.BackupPage) { p.Next = 0 },
		"fewer records":      func(h *api.BackupHead, _ *api.BackupPage) { h.Records = 1 },
		"another fleet":      func(h *api.BackupHead, _ *api.BackupPage) { h.Fleet = "other" },
		"an older epoch":     func(h *api.BackupHead, _ *api.BackupPage) { h.Epoch++ },
		"another salt":       func(h *api.BackupHead, _ *api.BackupPage) { h.Salt = bytes.Repeat([]byte{8}, seal.KeyBytes) },
		"a flipped byte":     func(_ *api.BackupHead, p *api.BackupPage) { p.Sealed[len(p.Sealed)/2] ^= 1 },
		"cut off":            func(_ *api.BackupHead, p *api.BackupPage) { p.Sealed = p.Sealed[:len(p.Sealed)-1] },
		"nothing":            func(_ *api.BackupHead, p *api.BackupPage) { p.Sealed = nil },
	} {
		h, p := head, page
		p.Sealed = bytes.Clone(page.Sealed)
		change(&h, &p)
		_, err := k.OpenPage(&h, &p)
		require.ErrorIs(t, err, seal.ErrSealed, name)
	}
	_, err = ring(t, 3).OpenPage(&head, &page)
	require.ErrorContains(t, err, "it is sealed with secret \""+seal.Name(k.Content[0])+"\", which is not held")
	head.Salt = nil
	_, err = k.SealPage(&head, 0, 0, nil)
	require.ErrorContains(t, err, "the salt of a backup: found 0 bytes, expected 32")
}
