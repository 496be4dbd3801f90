// Package disk is how the rooms of an agent remember on disk. Files are replaced whole, so that a kill at
// any moment leaves the old one or the new one, and what cannot be read is an error, never empty. The
// rooms call it, each in a folder of its own; it locks nothing.
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Temporary is what the names of files begin with that are not whole yet.
const Temporary = ".tmp-"

// Read decodes the JSON of a file; fs.ErrNotExist when there is none.
func Read(path string, into any) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// Write puts a value as JSON in place of a file; file and folder are on the disk when it returns.
func Write(path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := Replace(path, body, true); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Replace puts a file in place of another, whole. With sync its content is on the disk before it takes the
// place; the folder is still to be synced.
func Replace(path string, body []byte, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), Temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Sync brings to the disk which files a folder has.
func Sync(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// DropTemporaries removes what a killed agent left half written under a folder.
func DropTemporaries(folder string) error {
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasPrefix(e.Name(), Temporary) {
			return os.Remove(path)
		}
		return err
	})
}

// ReadFolder makes the folder where there is none, drops what is half written there, and hands over the
// value of each file, by name.
func ReadFolder[T any](folder string, take func(T)) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := DropTemporaries(folder); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var value T
		if err := Read(filepath.Join(folder, e.Name()), &value); err != nil {
			return err
		}
		take(value)
	}
	return nil
}
