package lab

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ownFolders begins the names of folders that labs make for themselves. Paths of sockets must stay short.
const ownFolders = "flotilla-lab-"

// makeFolder makes the folder of a lab. Its own one it locks, so that nobody takes it for one that was left behind.
func (l *Lab) makeFolder() (err error) {
	if l.options.Folder == "" {
		if err := sweepFolders(os.TempDir()); err != nil {
			return err
		}
		if l.options.Folder, l.lock, err = lockedFolder(os.TempDir()); err != nil {
			return err
		}
	} else if l.options.Folder, err = filepath.Abs(l.options.Folder); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(l.options.Folder, "logs"), 0o700)
}

func lockedFolder(under string) (string, *os.File, error) {
	folder, err := os.MkdirTemp(under, ownFolders)
	if err != nil {
		return "", nil, err
	}
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	return folder, lock, nil
}

// sweepFolders removes what labs left that were killed: the kernel gave up their locks.
func sweepFolders(under string) error {
	locks, err := filepath.Glob(filepath.Join(under, ownFolders+"*", "lock"))
	if err != nil {
		return err
	}
	for _, path := range locks {
		if err := sweepFolder(path); err != nil {
			return err
		}
	}
	return nil
}

func sweepFolder(lock string) error {
	file, err := os.Open(lock)
	if err != nil {
		return nil //nolint:nilerr // somebody else's, or just removed
	}
	defer func() { _ = file.Close() }()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	return os.RemoveAll(filepath.Dir(lock))
}
