package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// Session is one run of the command line: where it reads and writes, and the hub once it is connected.
type Session struct {
	Environment
	Connection Connection
	hub        Hub
	// started is set once a command runs: an error before that is one of usage.
	started bool
	// Noted are the notes that were printed and are not to be repeated.
	Noted map[string]bool
	// Machine is set when standard output is for machines; people read standard error then.
	Machine bool
	colour  string // when output is coloured
}

// New begins a session in an environment.
func New(env Environment) *Session {
	a := &Session{Environment: env}
	a.Out = &shown{to: env.Out, raw: a.raw}
	a.Err = &shown{to: env.Err, raw: func() bool { return false }}
	return a
}

// Execute runs the command line of a root command, and returns its exit code.
func (a *Session) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	if a.hub != nil {
		a.hub.Close()
	}
	if err == nil {
		return ExitDone
	}
	f := a.failure(err, root, args)
	if format := ran.Flags().Lookup("output"); len(f.Faults) > 0 && format != nil && format.Value.String() == "json" {
		if err := f.printJSON(a.Out); err != nil {
			Say(a.Err, "error: %v\n", err)
		}
		f.Faults = nil
	}
	f.print(a.Err)
	return f.Code
}

// failure turns what cobra says before a command runs into usage errors.
func (a *Session) failure(err error, root *cobra.Command, args []string) *Failure {
	if a.started {
		return FailureOf(err)
	}
	own, typed := errors.AsType[*Failure](err)
	if !typed {
		own = &Failure{Code: ExitUsage, Message: strings.TrimSpace(err.Error())}
	}
	if own.Next == "" {
		cmd, _, findErr := root.Find(args)
		if findErr != nil || cmd == nil {
			cmd = root
		}
		own.Next = cmd.CommandPath() + " --help"
	}
	return own
}

// Do wraps what a command does so that errors before it are told from its own.
func (a *Session) Do(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		err := cmp.Or(ignoredFlag(cmd), a.checkColour())
		if err == nil {
			err = do(cmd.Context(), args)
		}
		if f, ok := errors.AsType[*Failure](err); ok && f.Code == ExitUsage && f.Next == "" {
			f.Next = cmd.CommandPath() + " --help"
		}
		return err
	}
}

// Format reads the value of -o, one of some. Unless it is empty or wide, programs read what is printed.
func (a *Session) Format(given string, known ...string) error {
	if given != "" && !slices.Contains(known, given) {
		last := len(known) - 1
		return Usagef("unknown output format %q, expected %s", given, strings.TrimPrefix(strings.Join(known[:last], ", ")+" or "+known[last], " or "))
	}
	a.Machine = given != "" && given != "wide"
	return nil
}

// Call asks the hub, connecting first, and says when the answer takes long.
func (a *Session) Call(ctx context.Context, verb string, request, response any) error {
	if err := a.connect(ctx); err != nil {
		return err
	}
	defer a.noteSilence(verb)()
	return a.Ask(ctx, verb, request, response)
}

// Ask asks the hub, connecting first.
func (a *Session) Ask(ctx context.Context, verb string, request, response any) error {
	if err := a.connect(ctx); err != nil {
		return err
	}
	return a.hub.Call(ctx, verb, request, response)
}

// silence is after how long without an answer people are told what is waited for.
const silence = 3 * time.Second

// noteSilence says what is waited for when the returned function is not called for a while.
func (a *Session) noteSilence(verb string) (answered func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(silence, func() {
		defer close(done)
		a.Note("no answer to %s yet; trying for %s (--request-timeout)", verb, a.Connection.Timeout)
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

func (a *Session) connect(ctx context.Context) error {
	if a.hub != nil {
		return nil
	}
	hub, err := a.Dial(ctx, a.Connection.withEnvironment(a.Getenv))
	if err != nil {
		return err
	}
	a.hub = hub
	return nil
}

// Fleet is the name of the fleet that is talked about.
func (a *Session) Fleet() string { return a.Connection.withEnvironment(a.Getenv).Fleet }

// ReachedAt is the URL at which the hub was reached, "" when that is not known.
func (a *Session) ReachedAt() string {
	if hub, known := a.hub.(interface{ URL() string }); known {
		return hub.URL()
	}
	return ""
}

// Next prints the command to type now.
func (a *Session) Next(format string, args ...any) {
	w := a.Out
	if a.Machine {
		w = a.Err
	}
	Say(w, "next: "+format+"\n", args...)
}

// Note prints what people should know and machines should not read.
func (a *Session) Note(format string, args ...any) {
	Say(a.Err, "note: "+format+"\n", args...)
}

// Notes prints notes, each on a line.
func (a *Session) Notes(texts []string) {
	for _, text := range texts {
		a.Note("%s", text)
	}
}

// Columns is a table on its way to standard output, with a gap between its columns.
func (a *Session) Columns(gap int) *tabwriter.Writer {
	return tabwriter.NewWriter(a.Out, 0, 8, gap, ' ', 0)
}

// Printf prints to standard output.
func (a *Session) Printf(format string, args ...any) { Say(a.Out, format, args...) }
