package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// shepherdVariable holds the folder of the operation that a process is to be the shepherd of.
const shepherdVariable = "FLOTILLA_SHEPHERD"

const (
	// tellEvery is how often progress is written down.
	tellEvery = 200 * time.Millisecond
	// listenTime is how long a command that ended may keep its output open: all it started was killed.
	listenTime = 5 * time.Second
)

// Shepherd runs the command of an operation when this process was started to do that, and reports
// whether it was. The mains of programs that use the driver call it before anything else and end when
// it returns true.
func Shepherd() bool {
	dir := os.Getenv(shepherdVariable)
	if dir == "" {
		return false
	}
	// The signals that end an agent are not for its shepherd, and not to be ignored by the command.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if err := shepherd(folder(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "the shepherd of an upgrade:", err)
	}
	return true
}

// shepherd claims an operation, runs its command and writes down how that ended. Where another one
// claimed it already nothing is done.
func shepherd(f folder) error {
	var o order
	if found, err := f.read(orderFile, &o); err != nil || !found {
		return fmt.Errorf("reading the order in %s: %w", f, cmp.Or(err, fs.ErrNotExist))
	}
	switch err := f.create(claimFile, processOf(os.Getpid())); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return f.write(endFile, run(f, &o))
}

// run runs the command to its end.
func run(f folder, o *order) ending {
	out, err := openOutput(f)
	if err != nil {
		return ending{Fault: err.Error()}
	}
	c, err := start(f, o, out)
	if err != nil {
		return ending{Fault: errors.Join(err, out.close()).Error()}
	}
	e := c.watch(f, o, out)
	c.silence()
	e.Last, _ = out.news()
	e.Tail = out.words()
	if err := out.close(); err != nil {
		e.Tail = joined(e.Tail, "what it printed could not be kept: "+err.Error())
	}
	return e
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// command is a command that runs, in a process group of its own.
type command struct {
	*exec.Cmd
	pipes   []*os.File // that are read from
	reading sync.WaitGroup
}

// start starts the command with the operation on its standard input.
func start(f folder, o *order, out *output) (_ *command, err error) {
	if err := f.write(inputFile, o.Operation); err != nil {
		return nil, err
	}
	input, err := os.Open(f.path(inputFile))
	if err != nil {
		return nil, err
	}
	c := &command{Cmd: exec.Command(o.Command[0], o.Command[1:]...)} //nolint:noctx // watch ends it, with all it started
	stdout, toOut := c.pipe(&err)
	stderr, toErr := c.pipe(&err)
	if err == nil {
		c.Dir, c.Stdin, c.Stdout, c.Stderr = o.Directory, input, toOut, toErr
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FLOTILLA_") }), o.Environment...)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err = c.Start()
	}
	for _, file := range []*os.File{input, toOut, toErr} {
		_ = file.Close() // the command has its own now
	}
	if err != nil {
		c.close()
		return nil, err
	}
	c.reading.Go(func() { out.listen(stdout) })
	c.reading.Go(func() { _, _ = io.Copy(out, stderr) })
	_ = f.write(commandFile, processOf(c.Process.Pid)) // while the shepherd lives it speaks for the command
	return c, nil
}

// pipe makes a pipe that the command writes to.
func (c *command) pipe(fault *error) (from, to *os.File) {
	from, to, err := os.Pipe()
	if err != nil {
		*fault = errors.Join(*fault, err)
		return nil, nil
	}
	c.pipes = append(c.pipes, from)
	return from, to
}

func (c *command) close() {
	for _, p := range c.pipes {
		_ = p.Close() // nothing is written to it here
	}
}

// watch waits for the end of the command, and brings it about when that takes too long.
func (c *command) watch(f folder, o *order, out *output) ending {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	timeout := time.After(o.Timeout)
	var kill <-chan time.Time
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	var e ending
	for {
		select {
		case <-tick.C:
			if p, changed := out.news(); changed {
				_ = f.replace(progressFile, p) // the next one may succeed, and the end is what counts
			}
		case <-timeout:
			e.TimedOut = o.Timeout
			c.signal(syscall.SIGTERM)
			kill = time.After(o.Grace)
		case <-kill:
			c.signal(syscall.SIGKILL)
		case err := <-ended:
			c.signal(syscall.SIGKILL)
			e.judge(err)
			return e
		}
	}
}

// judge takes in what waiting for the command returned.
func (e *ending) judge(err error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit):
		e.Fault = err.Error()
	default:
		e.Exit = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			e.Signal = status.Signal().String()
		}
	}
}

// silence waits for the last of the output. What left the group of the command and still writes is not
// waited for.
func (c *command) silence() {
	over := time.AfterFunc(listenTime, c.close)
	c.reading.Wait()
	if over.Stop() {
		c.close()
	}
}

// signal sends a signal to the command and all it started that did not leave its group.
func (c *command) signal(s syscall.Signal) { _ = syscall.Kill(-c.Process.Pid, s) }
