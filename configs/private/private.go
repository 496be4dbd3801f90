// Package private reads files that hold secrets: keys, credentials, what content is sealed with. A file that others may
// read is refused, for what it held is no secret any more.
//
// In a pod modes are not judged: kubelets give files of volumes modes of their own, 0644 in a Secret and 0660 where a volume
// has an fsGroup, and nobody but the pod sees them.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// podVariable is set by kubelets in every pod.
const podVariable = "KUBERNETES_SERVICE_HOST"

// ErrExposed says that others may read a file.
var ErrExposed = errors.New("others may read it")

// ExposedError says which file, and how to mend it.
type ExposedError struct {
	Path            string
	Found, Expected fs.FileMode
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s may be read by others, its mode is %#o, expected %#o: chmod %o %s", e.Path, e.Found, e.Expected, e.Expected, e.Path)
}

// Unwrap makes it an ErrExposed.
func (e *ExposedError) Unwrap() error { return ErrExposed }

// Check refuses a file that others may read, also one behind a symbolic link.
func Check(path string) error {
	found, err := os.Stat(path)
	if err != nil {
		return err
	}
	return check(path, found)
}

// Read reads a file that nobody else may read, of at most as many bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	found, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(path, found); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s holds more than %d bytes", path, most)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

func check(path string, found fs.FileInfo) error {
	if os.Getenv(podVariable) != "" {
		return nil
	}
	owner := os.Geteuid()
	if of, known := found.Sys().(*syscall.Stat_t); known {
		owner = int(of.Uid)
	}
	mode, most := found.Mode().Perm(), allowed(owner, os.Geteuid())
	if mode&0o077&^most != 0 {
		return &ExposedError{Path: path, Found: mode, Expected: most}
	}
	return nil
}

// allowed is the widest mode of a file of an owner that a user reads. Whose file is another's can read it as a member of
// its group alone, as keys in /etc/ssl/private are; root needs no group.
func allowed(owner, user int) fs.FileMode {
	if owner != user && user != 0 {
		return 0o640
	}
	return 0o600
}
