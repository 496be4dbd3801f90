package member

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"flotilla/configs/private"
)

// Vault is where an agent keeps its keys and credentials, as texts by name. They are secrets. Whoever asks for one that is
// not there gets nil.
type Vault interface {
	Read(name string) ([]byte, error)
	// Write returns once the text outlives the machine's next second.
	Write(name string, text []byte) error
	// Remove is no error where there is none.
	Remove(name string) error
	// String names the vault in errors, "the folder /var/lib/flotilla".
	String() string
}

// maxText is how many bytes one text may have.
const maxText = 1 << 20

// Folder is a vault on disk: a file each, which nobody but its owner reads; one that others may read is refused. The folder is made when it is first written to.
type Folder string

func (f Folder) String() string { return "the folder " + string(f) }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// Read reads a file.
func (f Folder) Read(name string) ([]byte, error) {
	text, err := private.Read(f.path(name), maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Write puts a file on the disk, in the place of the former one.
func (f Folder) Write(name string, text []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return writeSynced(f.path(name), text)
}

// Remove removes a file.
func (f Folder) Remove(name string) error {
	if err := os.Remove(f.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeSynced is writePrivate, with the file and its folder on the disk when it returns.
func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path+".next", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
