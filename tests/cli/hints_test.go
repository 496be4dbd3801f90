package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli"
)

// hinted finds the last lines of commands that say what to type next.
var hinted = regexp.MustCompile(`(?m)^(?:2> )?next: (.+)$`)

// placeholder is what nobody can type as it stands.
var placeholder = regexp.MustCompile(`(^|[ =/])([A-Z]{3,}|<[a-z]+>|\.\.\.)($|[ =/])`)

// changing are the verbs that change something; hints to them are not carried out in the middle of a
// script, but for those that can be tried without effect.
var changing = []string{"apply", "delete", "scale", "edit", "label", "taint", "cordon", "uncordon", "member", "run", "correct"}

// look at something although their first word is one of changing.
var looking = []string{"run status", "run --help", "member --help"}

// follow types each hint that a command printed, in the state in which it was printed: it must be understood,
// not be refused, and find a hub wherever the command did.
func (r *runner) follow(t *testing.T, c *command, output string) {
	t.Helper()
	for _, match := range hinted.FindAllStringSubmatch(output, -1) {
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
	refused := []int{cli.ExitUsage, cli.ExitRefused}
	// Files that are planned without a hub are applied with one.
	if !alone && words[0] != "apply" {
		refused = append(refused, cli.ExitUnreachable)
	}
	if slices.Contains(changing, words[0]) && !slices.ContainsFunc(looking, func(l string) bool { return strings.HasPrefix(strings.Join(words, " "), l) }) {
		if !slices.Contains([]string{"apply", "delete"}, words[0]) || slices.Contains(words, "node") {
			words = append(slices.Clone(words), "--help")
		} else if !strings.Contains(hint, "--dry-run") {
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
