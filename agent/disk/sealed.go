package disk

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"flotilla/core/api"
	"flotilla/core/seal"
)

// remedy says how an agent goes on whose key or sealed file is damaged: the hub has what the file held.
const remedy = "if it is not to be had from a backup of the folder, with the file key beside it, remove both: the agent reads its command from the hub again"

// maxSealed bounds what is read of a sealed file, unpacked.
const maxSealed = 64 << 20

// Key is the key that the files of a folder are sealed with, in a file of its own beside them; it is made when
// there is none.
func Key(folder string) ([]byte, error) {
	path := filepath.Join(folder, "key")
	key, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key = make([]byte, seal.KeyBytes)
		if _, err := io.ReadFull(rand.Reader, key); err != nil {
			return nil, err
		}
		if err := Replace(path, key, true); err != nil {
			return nil, err
		}
		return key, Sync(folder)
	case err == nil && len(key) != seal.KeyBytes:
		return nil, fmt.Errorf("reading %s: found %d bytes, expected %d; %s", path, len(key), seal.KeyBytes, remedy)
	}
	return key, err
}

// WriteSealed is Write of a file that only who has the key can read.
func WriteSealed(path string, key []byte, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		text, err = seal.Seal(pieceOf(path, key), text)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := Replace(path, text, true); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// ReadSealed is Read of such a file.
func ReadSealed(path string, key []byte, into any) error {
	sealed, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := seal.Open(pieceOf(path, key), sealed, maxSealed)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w; %s", path, err, remedy)
	}
	return nil
}

// pieceOf is a file, by its name in its folder.
func pieceOf(path string, key []byte) api.Piece { return api.Piece{At: filepath.Base(path), Key: key} }
