package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one run of the command line: where it reads and writes, and the hub once it is connected.
type app struct {
	Environment
	connection Connection
	namespace  string
	member     string // that nodes are of, "" for all
	hub        Hub
	// started is set once a command runs: an error before that is one of usage.
	started bool
	// noted are the notes that were printed and are not to be repeated.
	noted map[string]bool
	// machine is set when standard output is for machines; people read standard error then.
	machine bool
	// showSecrets asks for values of Secrets.
	showSecrets bool
	colour      string // when output is coloured
}

// Main runs one command line and returns its exit code.
func Main(ctx context.Context, args []string, env Environment) int {
	a := &app{Environment: env}
	a.Out = &shown{to: env.Out, raw: func() bool { return a.machine }}
	a.Err = &shown{to: env.Err, raw: func() bool { return false }}
	root := a.root()
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
			say(a.Err, "error: %v\n", err)
		}
		f.Faults = nil
	}
	f.print(a.Err)
	return f.Code
}

// failure turns what cobra says before a command runs into usage errors.
func (a *app) failure(err error, root *cobra.Command, args []string) *Failure {
	if a.started {
		return failureOf(err)
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

// run wraps what a command does so that errors before it are told from its own.
func (a *app) run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
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

// call asks the hub, connecting first.
func (a *app) call(ctx context.Context, verb string, request, response any) error {
	if err := a.connect(ctx); err != nil {
		return err
	}
	defer a.noteSilence(verb)()
	return a.hub.Call(ctx, verb, request, response)
}

// silence is after how long without an answer people are told what is waited for.
const silence = 3 * time.Second

// noteSilence says what is waited for when the returned function is not called for a while.
func (a *app) noteSilence(verb string) (answered func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(silence, func() {
		defer close(done)
		a.note("no answer to %s yet; trying for %s (--request-timeout)", verb, a.connection.Timeout)
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

func (a *app) connect(ctx context.Context) error {
	if a.hub != nil {
		return nil
	}
	hub, err := a.Dial(ctx, a.connection.withEnvironment(a.Getenv))
	if err != nil {
		return err
	}
	a.hub = hub
	return nil
}

// next prints the command to type now.
func (a *app) next(format string, args ...any) {
	w := a.Out
	if a.machine {
		w = a.Err
	}
	say(w, "next: "+format+"\n", args...)
}

// note prints what people should know and machines should not read.
func (a *app) note(format string, args ...any) {
	say(a.Err, "note: "+format+"\n", args...)
}

// say writes to one of the process's streams, or to a table that is on its way there. Whoever reads
// them may go away, as head does; there is nobody to tell.
// say writes a line. Of a table each argument is a cell: what others wrote into it makes no columns or rows.
func say(w io.Writer, format string, args ...any) {
	if _, table := w.(*tabwriter.Writer); table {
		for i, arg := range args {
			if text, is := arg.(string); is {
				args[i] = cell(text)
			}
		}
	}
	_, _ = fmt.Fprintf(w, format, args...)
}

// cell is a text as it stands in one row and one column.
func cell(text string) string { return breaks.Replace(text) }

var breaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

func (a *app) printf(format string, args ...any) { say(a.Out, format, args...) }

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	return e.Encode(v)
}

// printJSONLine prints v as JSON on one line.
func printJSONLine(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", body)
	return err
}

// flagSuggestion improves pflag's message about a flag that does not exist. After a mistyped command
// it is the command that is wrong.
func flagSuggestion(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	message := err.Error()
	if name, found := strings.CutPrefix(message, "unknown flag: --"); found {
		var all []string
		collect := func(f *pflag.Flag) { all = append(all, f.Name) }
		cmd.Flags().VisitAll(collect)
		cmd.InheritedFlags().VisitAll(collect)
		near := nearest(name, all)
		for i := range near {
			near[i] = "--" + near[i]
		}
		message += meant(near)
	}
	return &Failure{Code: ExitUsage, Message: message, Next: cmd.CommandPath() + " --help"}
}
