package bustest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// apart gives a process mounts of its own, and where it takes that, users of its own.
func apart(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return nil
}

// mountSmall mounts a small file system that nobody outside the process sees.
func mountSmall(dir string) (unmount func() error, err error) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("making mounts private: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=%d", smallBytes, smallFiles)); err != nil {
		return nil, fmt.Errorf("mounting a small file system: %w", err)
	}
	return func() error { return syscall.Unmount(dir, syscall.MNT_DETACH) }, nil
}
