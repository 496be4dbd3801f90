// Package rig runs the programs of the house as processes that a test can kill, stop, and start again. The
// tests of whole fleets call it; nothing else does.
package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Build builds programs into a folder, with more arguments for the go command where there are any. They are those that the Makefile
// builds, without C, also where a test is built with it for the race detector.
func Build(folder string, arguments []string, packages ...string) error {
	command := exec.Command("go", append(append([]string{"build", "-o", folder}, arguments...), packages...)...)
	command.Stderr, command.Env = os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	return command.Run()
}

// Process is a child that can be killed and started again with the same arguments. Its methods are for one
// goroutine at a time.
type Process struct {
	path    string
	args    []string
	env     []string
	command *exec.Cmd
	log     *os.File
}

// Start starts a program; env are variables beside those of the test. At the end of the test it is killed, and
// its log is shown if the test failed.
func Start(t testing.TB, env []string, path string, args ...string) *Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	p := &Process{path: path, args: args, env: env, log: log}
	t.Cleanup(func() {
		p.Kill()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("log of %s:\n%s", filepath.Base(path), text)
		}
		_ = log.Close()
	})
	p.Start(t)
	return p
}

// Start starts the process again, after Kill or Terminate.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	p.command = exec.Command(p.path, p.args...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.Env = append(os.Environ(), "NO_COLOR=1", "NATS_URL=", "NATS_CREDS=", "NATS_CONTEXT=", "KUBERNETES_SERVICE_HOST=")
	p.command.Env = append(p.command.Env, p.env...)
	require.NoError(t, started.start(p.command))
}

// StartWith ends the process, and starts it with other arguments.
func (p *Process) StartWith(t testing.TB, args ...string) {
	t.Helper()
	p.Kill()
	p.args = args
	p.Start(t)
}

// PID is the number of the process, which runs.
func (p *Process) PID() int { return p.command.Process.Pid }

// Kill is SIGKILL: nothing is flushed, nothing is said.
func (p *Process) Kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	started.ended(p.command)
	p.command = nil
}

// Terminate is SIGTERM, and SIGKILL for what has not ended by then. It says whether the process ended by itself.
func (p *Process) Terminate(within time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.command.Wait()
	}()
	_ = p.command.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(within)
	defer timer.Stop()
	alone := true
	select {
	case <-ended:
	case <-timer.C:
		alone = false
		_ = p.command.Process.Kill()
		<-ended
	}
	started.ended(p.command)
	p.command = nil
	return alone
}

// Stop is SIGSTOP: the process stands still, and its connections stay. Continue lets it go on.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGSTOP))
}

// Continue is SIGCONT.
func (p *Process) Continue(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGCONT))
}

// Says is nil once the process has logged a text.
func (p *Process) Says(text string) error {
	log, err := os.ReadFile(p.log.Name())
	if err == nil && !strings.Contains(string(log), text) {
		err = fmt.Errorf("%s has not said %q", filepath.Base(p.path), text)
	}
	return err
}
