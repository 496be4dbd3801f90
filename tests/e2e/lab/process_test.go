package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// starter is set where the test binary is to start a process with a log, and to wait until it is killed.
const starter = "FLOTILLA_LAB_STARTER"

func TestMain(m *testing.M) {
	if log := os.Getenv(starter); log != "" {
		if _, err := startProcess(log, "sh", "-c", "echo runs; cat"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// TestAProcessEndsWithItsStarter gives the process a pipe as its log, which closes when nobody writes into it any more.
func TestAProcessEndsWithItsStarter(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, unix.Mkfifo(log, 0o600))
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), starter+"="+log)
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = stdin.Close() }()
	require.NoError(t, command.Start())
	file, err := os.Open(log)
	require.NoError(t, err)
	said := bufio.NewReader(file)
	line, err := said.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "runs\n", line)
	require.NoError(t, command.Process.Kill())
	_, err = said.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
	require.Error(t, command.Wait())
}

func TestOnlyWhatEndedByItselfIsAFault(t *testing.T) {
	log := filepath.Join(t.TempDir(), "m1-program")
	p, err := startProcess(log, "cat")
	require.NoError(t, err)
	require.NoError(t, p.fault())
	p.kill()
	require.NoError(t, p.fault())
	p, err = startProcess(log, "sh", "-c", "echo no room; exit 3")
	require.NoError(t, err)
	<-p.ended
	require.EqualError(t, p.fault(), "m1-program has ended: exit status 3; the end of its log:\nno room")
	p.kill()
}

// TestKillReachesTheGroup kills a shell that has started another program, both of which hold the log.
func TestKillReachesTheGroup(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, unix.Mkfifo(log, 0o600))
	file, err := os.OpenFile(log, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	p, err := startProcess(log, "sh", "-c", "sleep 300 & echo runs; wait")
	require.NoError(t, err)
	defer time.AfterFunc(20*time.Second, func() { _ = file.Close() }).Stop()
	said := bufio.NewReader(file)
	_, err = said.ReadString('\n')
	require.NoError(t, err)
	p.kill()
	_, err = said.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
}

// TestAnyProgramEndsWithItsStarter closes what a program that reads nothing is held by.
func TestAnyProgramEndsWithItsStarter(t *testing.T) {
	l := &Lab{options: Options{Folder: t.TempDir()}}
	logs := filepath.Join(l.options.Folder, "logs")
	require.NoError(t, os.Mkdir(logs, 0o700))
	log := filepath.Join(logs, "hub")
	require.NoError(t, unix.Mkfifo(log, 0o600))
	file, err := os.OpenFile(log, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	require.NoError(t, l.Run("hub", "sh", "-c", "echo runs; exec sleep 300"))
	defer time.AfterFunc(20*time.Second, func() { _ = file.Close() }).Stop()
	said := bufio.NewReader(file)
	_, err = said.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, l.Err())
	require.NoError(t, l.processes[0].leash.Close())
	_, err = said.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)

	require.NoError(t, l.Run("agent", "sh", "-c", "echo no token; exit 3"))
	<-l.processes[1].ended
	require.ErrorContains(t, l.processes[1].fault(), "agent has ended: exit status 3; the end of its log:\nno token")
	require.NoError(t, l.Stop())
}
