package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// TryLater is the exit code of a command that changed nothing and is to be run again later, EX_TEMPFAIL of sysexits.h.
const TryLater = 75

// maxPrinted bounds what a command may print unless it says otherwise, maxTail what is kept of its complaints.
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
	// Most is how many bytes it may print for Run, 64 KiB when 0.
	Most int
	// Started, when set, is told the process id.
	Started func(pid int)
}

// Variables are NAME=value of each, sorted, and then the others.
func Variables(of map[string]string, more ...string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, name+"="+of[name])
	}
	return append(out, more...)
}

// Findable looks for a program as its start will: below the directory when it is a relative path.
func Findable(program, directory string) error {
	if filepath.Base(program) != program && !filepath.IsAbs(program) {
		program = filepath.Join(directory, program)
	}
	_, err := osexec.LookPath(program)
	if errors.Is(err, osexec.ErrDot) {
		return nil
	}
	return err
}

func (k *Command) environment() []string {
	ours := func(v string) bool { return strings.HasPrefix(v, "FLOTILLA_") }
	return slices.Concat(slices.DeleteFunc(os.Environ(), ours), k.Environment)
}

// Answer is how a command ended.
type Answer struct {
	Printed string // without surrounding white space
	Exit    int
	Words   string // its last complaints
}

// Because is ": " and the last complaints, empty without any.
func (a *Answer) Because() string {
	if a.Words == "" {
		return ""
	}
	return ": " + a.Words
}

// Run runs a command to its end. The error says that there is no exit code to judge by.
func (k *Command) Run(ctx context.Context) (Answer, error) {
	printed, complained := Tail{Most: k.Most}, Tail{Most: maxTail}
	if k.Most == 0 {
		printed.Most = maxPrinted
	}
	end, err := k.Stream(ctx, func(from io.Reader) { _, _ = io.Copy(&printed, from) }, &complained)
	out := Answer{Printed: strings.TrimSpace(string(printed.kept)), Exit: end.Exit, Words: complained.Words()}
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case end.TimedOut:
		return out, fmt.Errorf("%s took longer than %s and was ended with all it had started%s", k.Argv[0], k.Timeout, out.Because())
	case err != nil:
		return out, fmt.Errorf("running %s: %w%s", k.Argv[0], err, out.Because())
	case end.Signal != "":
		return out, fmt.Errorf("running %s: signal: %s%s", k.Argv[0], end.Signal, out.Because())
	case printed.cut:
		return out, fmt.Errorf("%s printed more than %d bytes", k.Argv[0], printed.Most)
	}
	return out, nil
}
