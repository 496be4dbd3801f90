package seal

import (
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/core/api"
)

// maxPage is longer than any page of a backup: its longest entry is a body, in base64.
const maxPage = 16 << 20

// SealPage seals entries of a backup, from one on until the next. Whoever opens it knows that it belongs to that head,
// and stands in that place.
func (k *Keyring) SealPage(head *api.BackupHead, from, next int, entries []api.BackupEntry) (api.BackupPage, error) {
	page := api.BackupPage{From: from, Next: next}
	piece, err := k.leaf(head, &page)
	if err != nil {
		return page, err
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return page, err
	}
	page.Sealed, err = Seal(piece, text)
	return page, err
}

// OpenPage returns the entries of a page. ErrSealed: it was changed, is of another backup, or stands elsewhere in it.
func (k *Keyring) OpenPage(head *api.BackupHead, page *api.BackupPage) ([]api.BackupEntry, error) {
	piece, err := k.leaf(head, page)
	if err != nil {
		return nil, err
	}
	text, err := Open(piece, page.Sealed, maxPage)
	if err != nil {
		return nil, err
	}
	var entries []api.BackupEntry
	return entries, json.Unmarshal(text, &entries)
}

// leaf is what a page of a backup is sealed for: its key follows from the whole head.
func (k *Keyring) leaf(head *api.BackupHead, page *api.BackupPage) (api.Piece, error) {
	if len(head.Salt) != KeyBytes {
		return api.Piece{}, fmt.Errorf("the salt of a backup: found %d bytes, expected %d", len(head.Salt), KeyBytes)
	}
	at := slices.IndexFunc(k.Content, func(secret []byte) bool { return Name(secret) == head.Secret() })
	if at < 0 {
		return api.Piece{}, fmt.Errorf("it is sealed with secret %q, which is not held", head.Secret())
	}
	text, err := json.Marshal(head)
	if err != nil {
		return api.Piece{}, err
	}
	return api.Piece{At: fmt.Sprintf("entries %d to %d", page.From, page.Next), Key: derive(k.Content[at], useBackup, text)}, nil
}
