package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// exitTryLater is the exit code of a command that has no answer yet, EX_TEMPFAIL of sysexits.h.
const exitTryLater = 75

// leastGrace is for a command to end and for its last words to be read; none at all would be no end.
const leastGrace = time.Second

// maxPrinted bounds what a command may print, maxTail what is kept of its complaints.
const (
	maxPrinted = 64 << 10
	maxTail    = 2 << 10
)

// answer is how a command ended.
type answer struct {
	printed string // without surrounding white space
	exit    int
	words   string // its last complaints
}

// run runs a command to its end. The error says that there is no exit code to judge by.
func (p *Provider) run(ctx context.Context, argv []string, input any, variables []string) (answer, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return answer{}, err
	}
	limited, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	printed, complained := buffer{most: maxPrinted}, buffer{most: maxTail}
	c := exec.CommandContext(limited, argv[0], argv[1:]...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = p.o.Directory, bytes.NewReader(text), &printed, &complained
	c.Env = slices.Concat(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FLOTILLA_") }), p.environment, variables)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func(s syscall.Signal) error { return syscall.Kill(-c.Process.Pid, s) }
	c.Cancel = func() error { return end(syscall.SIGTERM) }
	c.WaitDelay = max(p.o.Grace, leastGrace) // after which it is killed, and not listened to any more
	err = c.Run()
	if c.Process != nil {
		_ = end(syscall.SIGKILL) // what it left behind, if anything
	}
	out := answer{printed: strings.TrimSpace(string(printed.kept)), words: lastLines(string(complained.kept))}
	var exit *exec.ExitError
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return out, fmt.Errorf("%s took longer than %s and was ended with all it had started%s", argv[0], p.o.Timeout, out.because())
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.As(err, &exit) && exit.Exited():
		out.exit = exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return out, fmt.Errorf("running %s: %w%s", argv[0], err, out.because())
	case printed.cut:
		return out, fmt.Errorf("%s printed more than %d bytes", argv[0], maxPrinted)
	}
	return out, nil
}

func (a *answer) because() string {
	if a.words == "" {
		return ""
	}
	return ": " + a.words
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
