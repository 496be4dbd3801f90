package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"flotilla/bus/bustest"
)

// A hub that lacked descriptors for a while, whoever took them, says so, and stores again within 10 s of their being back.
func TestAStoreThatLackedDescriptorsWorksAgain(t *testing.T) {
	s := startSmall(t, "true")
	var usual unix.Rlimit
	require.NoError(t, unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, nil, &usual))
	none := unix.Rlimit{Cur: 1, Max: usual.Max}
	require.NoError(t, unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, &none, nil))
	bustest.EventuallyIn(t, time.Minute, func() error {
		err := s.apply(512 << 10) // until a file is full and the next is to be made
		if err == nil {
			return errors.New("it stores yet")
		}
		if !strings.Contains(err.Error(), "too many open files") {
			return err
		}
		return nil
	})
	require.NoError(t, unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, &usual, nil))
	bustest.EventuallyIn(t, 10*time.Second, func() error { return s.apply(1 << 10) })
}
