package bustest

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// diskVariable names the disk of a process that OnDisks started.
const diskVariable = "FLOTILLA_TEST_DISK"

// Disks that OnDisks runs a test on.
const (
	// diskLimited is that of a process whose files may not grow any more: writes fail wherever tests run.
	diskLimited = "limited"
	// diskSmall is a file system of a few megabytes, which is really full. It takes mount namespaces.
	diskSmall = "small"
)

// smallBytes and smallFiles are the size of a small file system.
const (
	smallBytes = 24 << 20
	smallFiles = 8192
)

// Disk is a folder that a test fills up.
type Disk struct {
	Dir string
	// Fill makes every write fail that needs room, Free lets them succeed again.
	Fill, Free func()
}

// OnDisks runs a test, whose name is that of t, on disks that it can fill up, each in a process of its own,
// because a limit holds for a whole process and a file system is seen by one alone.
func OnDisks(t *testing.T, test func(*testing.T, *Disk)) {
	t.Helper()
	switch os.Getenv(diskVariable) {
	case diskLimited:
		test(t, limitedDisk(t))
	case diskSmall:
		test(t, smallDisk(t))
	default:
		runOn(t, diskLimited, nil)
		runOn(t, diskSmall, apart)
	}
}

// OnSmallDisk is OnDisks on a file system of its own alone, for what shares its process with something that is
// to go on writing.
func OnSmallDisk(t *testing.T, test func(*testing.T, *Disk)) {
	t.Helper()
	if os.Getenv(diskVariable) == diskSmall {
		test(t, smallDisk(t))
		return
	}
	runOn(t, diskSmall, apart)
}

// runOn runs the test in a process with a disk.
func runOn(t *testing.T, disk string, prepare func(*exec.Cmd) error) {
	t.Run(disk, func(t *testing.T) {
		t.Parallel()
		name, _, _ := strings.Cut(t.Name(), "/")
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+name+"$", "-test.count=1")
		command.Env = append(os.Environ(), diskVariable+"="+disk)
		if prepare != nil {
			if err := prepare(command); err != nil {
				unable(t, err)
			}
		}
		output, err := command.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) {
			unable(t, err)
		}
		require.NoError(t, err, string(output))
	})
}

// unable leaves a test out where the machine lets nobody mount: what it shows, the limited disk shows too, except
// for what shares its process with something that is to go on writing.
func unable(t *testing.T, err error) {
	t.Skipf("no file system of its own: %v; as root, or with user namespaces, this runs", err)
}

func limitedDisk(t *testing.T) *Disk {
	signal.Ignore(syscall.SIGXFSZ)
	var usual syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual))
	limit := func(to syscall.Rlimit) func() {
		return func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &to)) }
	}
	d := &Disk{Dir: t.TempDir(), Fill: limit(syscall.Rlimit{Cur: 0, Max: usual.Max}), Free: limit(usual)}
	t.Cleanup(d.Free)
	return d
}

func smallDisk(t *testing.T) *Disk {
	dir := t.TempDir()
	unmount, err := mountSmall(dir)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		unable(t, err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unmount()) })
	fill := filepath.Join(dir, "fill")
	d := &Disk{Dir: filepath.Join(dir, "data")}
	require.NoError(t, os.Mkdir(d.Dir, 0o700))
	d.Fill = func() {
		f, err := os.OpenFile(fill, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		require.NoError(t, err)
		defer func() { _ = f.Close() }()
		for chunk := make([]byte, 1<<20); len(chunk) > 0; {
			if _, err := f.Write(chunk); err != nil {
				require.ErrorIs(t, err, syscall.ENOSPC)
				chunk = chunk[:len(chunk)/2]
			}
		}
	}
	d.Free = func() { require.NoError(t, os.Remove(fill)) }
	return d
}
