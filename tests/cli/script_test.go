package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata")

// A script opens with prose on what it shows. Then come commands, each followed by what it prints on
// standard output, on standard error (lines with "2> " in front), and by its exit code when that is
// not 0:
//
//	$ flotilla plan -f fleet.yaml
//	plan: 0 to add, 3 to keep, 0 to remove
//	2> note: …
//	[exit 1]
//
// "$ flotilla … <<EOF" takes standard input from the lines up to EOF. "$ next" is the command that the one
// before it named last.
//
// "> words" is a claim of the documents that the commands behind it show: it stands in one of docs/*.md or in
// README.md in these words, whatever its line breaks.
type script struct {
	prose    string
	commands []command
}

type command struct {
	claims []string // that the command is the first to show
	line   string
	stdin  string
	want   string
}

// runner runs the commands of scripts in one environment.
type runner struct {
	env session.Environment
	// alone says that there is no hub to change anything on.
	alone bool
	hints ledger
	// mask replaces what differs from run to run.
	mask func(string) string
}

func readScript(t *testing.T, path string) script {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	prose, rest, found := strings.Cut(string(text), "\n$ ")
	require.True(t, found, "%s holds no command", path)
	require.NotEmpty(t, strings.TrimSpace(prose), "%s opens without prose", path)
	s := script{prose: prose}
	prose, claims := claimed(prose)
	s.prose = prose
	for part := range strings.SplitSeq(rest, "\n$ ") {
		line, output, _ := strings.Cut(part, "\n")
		c := command{line: line, claims: claims}
		output, claims = claimed(output)
		if strings.HasSuffix(line, "<<EOF") {
			c.stdin, output, found = strings.Cut(output+"\n", "EOF\n")
			require.True(t, found, "%s: no EOF after %s", path, line)
		}
		if c.want = strings.TrimRight(output, "\n"); c.want != "" {
			c.want += "\n"
		}
		s.commands = append(s.commands, c)
	}
	return s
}

// claimed parts what stands before a command from the claims that it shows.
func claimed(text string) (rest string, claims []string) {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if claim, is := strings.CutPrefix(line, "> "); is {
			claims = append(claims, claim)
		} else {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), claims
}

// run compares every command of the script with its recorded output.
func (r *runner) run(t *testing.T, path string) {
	t.Helper()
	s := readScript(t, path)
	var got strings.Builder
	got.WriteString(s.prose)
	for _, c := range s.commands {
		output := r.output(t, &c)
		if !*update {
			require.Equal(t, c.want, output, "$ %s", c.line)
		}
		r.follow(t, &c, output)
		for _, claim := range c.claims {
			requireClaim(t, claim)
			got.WriteString("\n> " + claim)
		}
		fmt.Fprintf(&got, "\n$ %s\n", c.line)
		if c.stdin != "" {
			got.WriteString(c.stdin + "EOF\n")
		}
		got.WriteString(strings.TrimSuffix(output, "\n"))
	}
	if !r.alone {
		r.hints.settle(t)
	}
	if *update {
		text := strings.TrimRight(got.String(), "\n") + "\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func (r *runner) output(t *testing.T, c *command) string {
	t.Helper()
	line, followed := r.hints.typed(t, c)
	words := splitWords(line)
	require.Equal(t, "flotilla", words[0], "a script runs flotilla alone")
	var out, errs bytes.Buffer
	env := r.env
	env.In, env.Out, env.Err = strings.NewReader(c.stdin), &out, &errs
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := cli.Main(ctx, words[1:], env)
	text := strings.TrimRight(r.masked(out.String()), "\n")
	if text != "" {
		text += "\n"
	}
	for line := range strings.Lines(r.masked(errs.String())) {
		text += "2> " + line
	}
	if followed {
		r.hints.settled(t, line, code, text)
	}
	if code != 0 {
		text += fmt.Sprintf("[exit %d]\n", code)
	}
	return text
}

func (r *runner) masked(text string) string {
	if r.mask == nil {
		return text
	}
	return r.mask(text)
}

// splitWords splits a command line at spaces; single quotes keep words together.
func splitWords(line string) []string {
	var words []string
	var word strings.Builder
	quoted, started := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, started = !quoted, true
		case c == ' ' && !quoted:
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(c)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words
}

// runScripts runs every script of a folder with a runner of its own, with a copy of testdata/files as working
// directory, as other runs may use the files at the same time.
func runScripts(t *testing.T, folder string, start func(t *testing.T) *runner) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for i := range paths {
		paths[i], err = filepath.Abs(paths[i])
		require.NoError(t, err)
	}
	files := t.TempDir()
	require.NoError(t, os.CopyFS(files, os.DirFS("testdata/files")))
	t.Chdir(files)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { start(t).run(t, path) })
	}
}
