package lab

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// leashed is what tells programs of tests/e2e/kube to end when their standard input does: leash.Variable.
const leashed = "FLOTILLA_LEASHED"

// kwokFolder is where kwok looks for a configuration beside the one it is given: not in that of who runs the tests.
const kwokFolder = "KWOK_WORKDIR"

// process is a program that runs in a process group of its own, and ends when its standard input is closed: that is
// when this process ends, however it does.
type process struct {
	command *exec.Cmd
	log     string
	leash   io.Closer
	killed  atomic.Bool
	ended   chan struct{} // closed once it ended
}

// startProcess starts a program that appends what it says to a log.
func startProcess(log, path string, args ...string) (*process, error) {
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	p := &process{command: exec.Command(path, args...), log: log, ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = file, file
	p.command.Env = append(os.Environ(), leashed+"=1", kwokFolder+"="+filepath.Dir(log))
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.leash, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// kill ends the process and its group at once, and waits until it has ended.
func (p *process) kill() {
	p.killed.Store(true)
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// fault says that the process ended by itself, with the end of its log; nil while it runs, or after kill.
func (p *process) fault() error {
	select {
	case <-p.ended:
	default:
		return nil
	}
	if p.killed.Load() {
		return nil
	}
	return fmt.Errorf("%s has ended: %s; the end of its log:\n%s", filepath.Base(p.log), p.command.ProcessState, tail(p.log, 0))
}
