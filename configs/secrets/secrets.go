// Package secrets reads and writes the file that a hub keeps its secrets in (security.md H10): from a file that
// its owner alone may read, from what a command prints, or from the environment. The hub reads it, the command
// line makes it.
package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"flotilla/core/seal"
)

// Variable is the environment variable that holds secrets as they stand in the file.
const Variable = "FLOTILLA_SECRETS"

// File is the name of the file inside a data folder.
const File = "secrets.json"

// kind opens every file of secrets; version is that of its fields.
const (
	kind    = "Secrets"
	version = 1
)

// maxBytes bounds what is read: a rotation adds a hundred.
const maxBytes = 64 << 10

// document is what the file holds; secrets are in base64.
type document struct {
	Kind    string   `json:"kind"`
	Version int      `json:"version"`
	Digests []byte   `json:"digests"`
	Content [][]byte `json:"content"`
}

// Parse reads the text of a file. Errors say what is wrong without showing any of it.
func Parse(text []byte) (*seal.Keyring, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, errors.New("found text that is no JSON object of secrets; make one with `flotilla secrets create secrets.json`")
	}
	if d.Kind != kind {
		return nil, fmt.Errorf("kind: found %q, expected %q", d.Kind, kind)
	}
	if d.Version != version {
		return nil, fmt.Errorf("version: found %d, this build reads %d", d.Version, version)
	}
	keys := &seal.Keyring{Digests: d.Digests, Content: d.Content}
	return keys, keys.Check()
}

// Text is the text of a file.
func Text(keys *seal.Keyring) ([]byte, error) {
	text, err := json.MarshalIndent(document{Kind: kind, Version: version, Digests: keys.Digests, Content: keys.Content}, "", "  ")
	return append(text, '\n'), err
}

// Create makes new secrets in a file that does not exist yet.
func Create(path string, random io.Reader) error {
	keys, err := seal.NewKeyring(random)
	if err != nil {
		return err
	}
	text, err := Text(keys)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already and may be what a fleet is sealed with: name another file, or move it away", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Rotate puts a new secret for content in front of those of a file, which open what they sealed, and returns its name.
func Rotate(path string, random io.Reader) (name string, err error) {
	err = change(path, func(keys *seal.Keyring) error {
		next, err := seal.NewKeyring(random)
		if err != nil {
			return err
		}
		keys.Content = append(next.Content, keys.Content...)
		name = seal.Name(keys.Content[0])
		return nil
	})
	return name, err
}

// Prune takes all secrets for content but the newest out of a file, and returns how many it took. Needed are the names
// of those that content is sealed with.
func Prune(path string, needed []string) (gone int, err error) {
	err = change(path, func(keys *seal.Keyring) error {
		newest := seal.Name(keys.Content[0])
		for _, name := range needed {
			if name != newest {
				return fmt.Errorf("content is sealed with secret %s, and the newest of %s is %s: wait until everything is sealed with that one", name, path, newest)
			}
		}
		gone = len(keys.Content) - 1
		keys.Content = keys.Content[:1]
		return nil
	})
	return gone, err
}

// change replaces a file whole, so that a kill leaves the old one or the new one.
func change(path string, how func(*seal.Keyring) error) error {
	text, err := readFile(path)
	if err != nil {
		return err
	}
	keys, err := Parse(text)
	if err == nil {
		err = how(keys)
	}
	if err != nil {
		return err
	}
	if text, err = Text(keys); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
