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

	"flotilla/configs/private"
	"flotilla/core/api"
	"flotilla/core/seal"
)

// remedy says how an agent goes on whose key or sealed file is damaged: the hub has what the file held.
const remedy = "if it is not to be had from a backup of the folder, with the file key beside it, remove both: the agent reads its command from the hub again"

// maxSealed bounds what is read of a sealed file, unpacked.
const maxSealed = 64 << 20

// maxKey bounds what is read of a file that holds a key.
const maxKey = 4 << 10

// Key is the key that the files of a folder are sealed with, in a file of its own beside them; it is made when
// there is none.
func Key(folder string) ([]byte, error) {
	path := filepath.Join(folder, "key")
	key, err := private.Read(path, maxKey)
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

// Sealed is where a value is kept as JSON that only who has a key can read.
type Sealed interface {
	// Read decodes the value; fs.ErrNotExist when there is none.
	Read(into any) error
	// Write puts a value in its place; it is on the disk when Write returns.
	Write(value any) error
}

// SealedFile keeps a value in a file, with the key of its folder.
func SealedFile(path string) (Sealed, error) {
	key, err := Key(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the key that the agent's files are sealed with: %w", err)
	}
	return sealedFile{path, key}, nil
}

type sealedFile struct {
	path string
	key  []byte
}

func (f sealedFile) Write(value any) error {
	text, err := SealValue(filepath.Base(f.path), f.key, value)
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.path, err)
	}
	if err := Replace(f.path, text, true); err != nil {
		return err
	}
	return Sync(filepath.Dir(f.path))
}

func (f sealedFile) Read(into any) error {
	sealed, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	if err := OpenValue(filepath.Base(f.path), f.key, sealed, into); err != nil {
		return fmt.Errorf("reading %s: %w; %s", f.path, err, remedy)
	}
	return nil
}

// SealValue is a value as JSON, sealed with a key for a name.
func SealValue(name string, key []byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return seal.Seal(api.Piece{At: name, Key: key}, text)
}

// OpenValue decodes what SealValue made with the same key for the same name.
func OpenValue(name string, key, sealed []byte, into any) error {
	text, err := seal.Open(api.Piece{At: name, Key: key}, sealed, maxSealed)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
