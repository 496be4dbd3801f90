package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"flotilla/agent/exec"
)

// supervisorVariable holds the folder of the operation that a process is to be the supervisor of.
const supervisorVariable = "FLOTILLA_SUPERVISOR"

// Supervise runs the command of an operation when this process was started to do that, and reports
// whether it was. The mains of programs that use the driver call it before anything else and end when
// it returns true.
func Supervise() bool {
	dir := os.Getenv(supervisorVariable)
	if dir == "" {
		return false
	}
	// The signals that end an agent are not for its supervisor, and not to be ignored by the command.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if err := supervise(folder(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "the supervisor of an upgrade:", err)
	}
	return true
}

// supervise claims an operation, runs its command and writes down how that ended. Where another one
// claimed it already nothing is done.
func supervise(f folder) error {
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

// run runs the command to its end, with the operation on its standard input.
func run(f folder, o *order) ending {
	input, err := json.Marshal(o.Operation)
	if err != nil {
		return ending{Fault: err.Error()}
	}
	out, err := openOutput(f)
	if err != nil {
		return ending{Fault: err.Error()}
	}
	stop := out.tell()
	c := exec.Command{
		Argv: o.Command, Input: input, Environment: o.Environment, Directory: o.Directory, Timeout: o.Timeout, Grace: o.Grace,
		// While the supervisor lives it speaks for the command.
		Started: func(pid int) { _ = f.write(commandFile, processOf(pid)) },
	}
	end, err := c.Stream(context.Background(), out.listen, out)
	stop()
	if err != nil {
		return ending{Fault: errors.Join(err, out.close()).Error()}
	}
	e := ending{Exit: end.Exit, Signal: end.Signal, Last: out.latest, Tail: out.tail.Words()}
	if end.TimedOut {
		e.TimedOut = o.Timeout
	}
	if err := out.close(); err != nil {
		e.Tail = joined(e.Tail, "what it printed could not be kept: "+err.Error())
	}
	return e
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}
