package exec

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// leastGrace is for a command to end when it is told to; none at all would be no end.
	leastGrace = time.Second
	// listenTime is how long a command that ended may keep its output open: all it started was killed.
	listenTime = 5 * time.Second
)

// End is how a process ended.
type End struct {
	Exit int
	// Signal that ended it, if one did.
	Signal string
	// TimedOut says that it had to be ended.
	TimedOut bool
}

// Stream runs a command to its end while listen reads what it prints, to the end, and complaints gets its standard error.
// It returns when both have all of it. The error says that the command could not be started.
func (k *Command) Stream(ctx context.Context, listen func(io.Reader), complaints io.Writer) (end End, err error) {
	limited, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	c := osexec.CommandContext(limited, k.Argv[0], k.Argv[1:]...)
	c.Dir, c.Env, c.Stdin = k.Directory, k.environment(), bytes.NewReader(k.Input)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signal := func(s syscall.Signal) error { return syscall.Kill(-c.Process.Pid, s) }
	c.Cancel = func() error { return signal(syscall.SIGTERM) }
	c.WaitDelay = max(k.Grace, leastGrace) // after which it is killed
	out, err := connect(c)
	if err != nil {
		return End{}, err
	}
	defer out.close()
	err = c.Start()
	out.closeTheirs()
	if err != nil {
		return End{}, err
	}
	out.read(listen, complaints)
	if k.Started != nil {
		k.Started(c.Process.Pid)
	}
	fault := c.Wait()
	_ = signal(syscall.SIGKILL) // what it left behind, if anything
	out.silence()
	if c.ProcessState == nil {
		return End{}, fault
	}
	end.TimedOut = errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil
	end.Exit = c.ProcessState.ExitCode()
	if status, is := c.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		end.Signal = status.Signal().String()
	}
	return end, nil
}

// pipes are what a command prints to, ours to read from and theirs to write to. Files, unlike writers, do not keep Wait
// from returning while somebody holds them who outlives the command.
type pipes struct {
	ours, theirs [2]*os.File
	reading      sync.WaitGroup
}

func connect(c *osexec.Cmd) (*pipes, error) {
	var p pipes
	for i := range p.ours {
		var err error
		if p.ours[i], p.theirs[i], err = os.Pipe(); err != nil {
			p.closeTheirs()
			p.close()
			return nil, err
		}
	}
	c.Stdout, c.Stderr = p.theirs[0], p.theirs[1]
	return &p, nil
}

func (p *pipes) read(listen func(io.Reader), complaints io.Writer) {
	p.reading.Go(func() { listen(p.ours[0]) })
	p.reading.Go(func() { _, _ = io.Copy(complaints, p.ours[1]) })
}

// silence waits for the last of the output. What left the group of the command and still writes is not waited for.
func (p *pipes) silence() {
	over := time.AfterFunc(listenTime, p.close)
	p.reading.Wait()
	over.Stop()
}

func (p *pipes) close() { closeAll(p.ours) }

func (p *pipes) closeTheirs() { closeAll(p.theirs) }

func closeAll(files [2]*os.File) {
	for _, f := range files {
		_ = f.Close() // of what was not opened, or is closed already, too
	}
}
