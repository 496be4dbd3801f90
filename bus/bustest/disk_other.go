//go:build !linux

package bustest

import (
	"errors"
	"os/exec"
)

// apart cannot give a process mounts of its own.
func apart(*exec.Cmd) error { return errors.ErrUnsupported }

func mountSmall(string) (func() error, error) { return nil, errors.ErrUnsupported }
