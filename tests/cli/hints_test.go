package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// hinted finds the last lines of commands that say what to type next.
var hinted = regexp.MustCompile(`(?m)^(?:2> )?next: (.+)$`)

// placeholder is what nobody can type as it stands.
var placeholder = regexp.MustCompile(`(^|[ =/])([A-Z]{3,}|<[a-z]+>|\.\.\.)($|[ =/])`)

// changing are the verbs that change something. Hints to them are tried without effect as far as that goes, and
// each is carried out where the script says "$ next".
var changing = []string{"apply", "delete", "scale", "edit", "label", "taint", "cordon", "uncordon", "member", "run"}

// look at something although their first word is one of changing.
var looking = []string{"run status", "run --help", "member --help"}

// changes says that a hint changes something.
func changes(hint string) bool {
	words := splitWords(hint)
	return words[0] == "flotilla" && slices.Contains(changing, words[1]) && !strings.Contains(hint, "--dry-run") && !strings.HasSuffix(hint, "--help") &&
		!slices.ContainsFunc(looking, func(l string) bool { return strings.HasPrefix(strings.Join(words[1:], " "), l) })
}

// ledger holds against each other what a script was told to type and what it typed.
type ledger struct {
	last  string          // the newest hint, until the next command
	owing map[string]bool // hints to changes that nobody followed yet
}

// typed is the line of a command without its standard input. Only right after a hint its state is there to follow it in.
func (l *ledger) typed(t *testing.T, c *command) (line string, followed bool) {
	t.Helper()
	line = strings.TrimSpace(strings.TrimSuffix(c.line, "<<EOF"))
	if line == "next" {
		require.NotEmpty(t, l.last, "no hint to follow")
		line = l.last
	}
	followed = line == l.last
	l.last = ""
	return line, followed
}

// settled says of a command that followed a hint how it ended.
func (l *ledger) settled(t *testing.T, line string, code int, output string) {
	t.Helper()
	require.NotContains(t, []int{session.ExitUsage, session.ExitRefused, session.ExitUnreachable}, code, "next: %s\n%s", line, output)
	if l.owing == nil {
		l.owing = map[string]bool{}
	}
	l.owing[line] = false
}

func (l *ledger) note(hint string) {
	l.last = hint
	if l.owing == nil {
		l.owing = map[string]bool{}
	}
	if _, known := l.owing[hint]; !known && changes(hint) {
		l.owing[hint] = true
	}
}

// settle wants every hint that changes something to have been carried out once, in the state in which it was printed.
func (l *ledger) settle(t *testing.T) {
	t.Helper()
	for hint, owing := range l.owing {
		assert.False(t, owing, "nobody followed the hint, as \"$ next\" behind it does: %s", hint)
	}
}

// follow types each hint that a command printed, in the state in which it was printed: it must be understood,
// not be refused, and find a hub wherever the command did.
func (r *runner) follow(t *testing.T, c *command, output string) {
	t.Helper()
	for _, match := range hinted.FindAllStringSubmatch(output, -1) {
		r.hints.note(match[1])
		hint := match[1]
		require.NotRegexp(t, placeholder, hint, "$ %s", c.line)
		words := splitWords(hint)
		switch words[0] {
		case "flotilla":
			r.try(t, c, hint, words[1:], strings.Contains(output, "[exit 5]"))
		case "go", "kubectl":
			require.NotRegexp(t, `\b(on|of|in) `, hint, "$ %s: prose", c.line)
		default:
			require.Fail(t, "a hint is no command", "$ %s: %s", c.line, hint)
		}
	}
}

func (r *runner) try(t *testing.T, c *command, hint string, words []string, alone bool) {
	t.Helper()
	refused := []int{session.ExitUsage, session.ExitRefused}
	// Files that are planned without a hub are applied with one.
	if !alone && words[0] != "apply" {
		refused = append(refused, session.ExitUnreachable)
	}
	if changes(hint) {
		if !slices.Contains([]string{"apply", "delete"}, words[0]) || slices.Contains(words, "node") {
			words = append(slices.Clone(words), "--help")
		} else {
			words = append(slices.Clone(words), "--dry-run=server")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var out bytes.Buffer
	env := r.env
	env.In, env.Out, env.Err = strings.NewReader(""), &out, &out
	code := cli.Main(ctx, words, env)
	if ctx.Err() == nil {
		require.NotContains(t, refused, code, "$ %s\nnext: %s\n%s", c.line, hint, out.String())
	}
}
