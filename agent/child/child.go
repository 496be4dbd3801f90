// Package child runs commands that the configuration of an agent names: with a time-out, ended with all that they started,
// and with bounds for what they print.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// leastGrace is for a command to end and for its last words to be read; none at all would be no end.
const leastGrace = time.Second

// maxPrinted bounds what a command may print, maxTail what is kept of its complaints.
const (
	maxPrinted = 64 << 10
	maxTail    = 2 << 10
)

// Command is a command, which no shell reads.
type Command struct {
	Argv []string
	// Input is its standard input.
	Input []byte
	// Environment is added to that of the agent, but for variables FLOTILLA_*.
	Environment []string
	// Directory it runs in, the agent's when empty.
	Directory string
	// Timeout ends it, and all it started, when it takes longer: told to end first, killed after Grace.
	Timeout, Grace time.Duration
}

// Answer is how a command ended.
type Answer struct {
	Printed string // without surrounding white space
	Exit    int
	Words   string // its last complaints
}

// Findable looks for a program as its start will: below the directory when it is a relative path.
func Findable(program, directory string) error {
	if filepath.Base(program) != program && !filepath.IsAbs(program) {
		program = filepath.Join(directory, program)
	}
	_, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrDot) {
		return nil
	}
	return err
}

// Run runs a command to its end. The error says that there is no exit code to judge by.
func (k *Command) Run(ctx context.Context) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	printed, complained := buffer{most: maxPrinted}, buffer{most: maxTail}
	c := exec.CommandContext(limited, k.Argv[0], k.Argv[1:]...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = k.Directory, bytes.NewReader(k.Input), &printed, &complained
	c.Env = slices.Concat(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FLOTILLA_") }), k.Environment)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func(s syscall.Signal) error { return syscall.Kill(-c.Process.Pid, s) }
	c.Cancel = func() error { return end(syscall.SIGTERM) }
	c.WaitDelay = max(k.Grace, leastGrace) // after which it is killed, and not listened to any more
	err := c.Run()
	if c.Process != nil {
		_ = end(syscall.SIGKILL) // what it left behind, if anything
	}
	out := Answer{Printed: strings.TrimSpace(string(printed.kept)), Words: lastLines(string(complained.kept))}
	var exit *exec.ExitError
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return out, fmt.Errorf("%s took longer than %s and was ended with all it had started%s", k.Argv[0], k.Timeout, out.Because())
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.As(err, &exit) && exit.Exited():
		out.Exit = exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return out, fmt.Errorf("running %s: %w%s", k.Argv[0], err, out.Because())
	case printed.cut:
		return out, fmt.Errorf("%s printed more than %d bytes", k.Argv[0], maxPrinted)
	}
	return out, nil
}

// Because is ": " and the last complaints, empty without any.
func (a *Answer) Because() string {
	if a.Words == "" {
		return ""
	}
	return ": " + a.Words
}

// lastLines are the last three lines of a text on one.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(text, "")), "\n")
	lines = lines[max(len(lines)-3, 0):]
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " | ")
}

// buffer keeps the last of what is written to it.
type buffer struct {
	kept []byte
	most int
	cut  bool
}

func (b *buffer) Write(text []byte) (int, error) {
	b.kept = append(b.kept, text...)
	if over := len(b.kept) - b.most; over > 0 {
		b.kept, b.cut = slices.Delete(b.kept, 0, over), true
	}
	return len(text), nil
}
