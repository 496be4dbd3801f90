package server

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A program that is being started has a copy of every file until it is executed: a lock that was given up is free all the same.
func TestALockIsGivenUpWithItsCopies(t *testing.T) {
	dir := t.TempDir()
	l, err := lockDir(dir)
	require.NoError(t, err)
	fd, err := unix.Dup(int(l.file.Fd()))
	require.NoError(t, err)
	copied := os.NewFile(uintptr(fd), "copy")
	t.Cleanup(func() { require.NoError(t, copied.Close()) })
	_, err = lockDir(dir)
	require.ErrorContains(t, err, "is in use by process")
	l.release()
	again, err := lockDir(dir)
	require.NoError(t, err)
	again.release()
}
