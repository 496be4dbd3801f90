package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// dirLock is a lock on a data directory; the kernel gives it up when the process ends.
type dirLock struct {
	file *os.File
}

// lockDir makes dir and locks it. NATS itself takes no lock, and two servers would ruin the streams.
func lockDir(dir string) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, readErr := os.ReadFile(path)
		_ = file.Close()
		if readErr != nil || len(holder) == 0 {
			holder = []byte("another process")
		}
		return nil, fmt.Errorf("data directory %s is in use by %s: stop it, or give this hub another directory, `--data DIR`",
			dir, strings.TrimSpace(string(holder)))
	}
	l := &dirLock{file: file}
	if err := l.sign(); err != nil {
		l.release()
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	return l, nil
}

func (l *dirLock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt(fmt.Appendf(nil, "process %d (%s)\n", os.Getpid(), filepath.Base(os.Args[0])), 0)
	return err
}

// release gives the lock up before it closes the file. A program that is being started has a copy of the file between fork and exec, and
// the lock belongs to every copy: closing this one alone would leave the directory locked until then.
func (l *dirLock) release() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	_ = l.file.Close()
}
