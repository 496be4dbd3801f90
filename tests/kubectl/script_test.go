//go:build kubectl

package kubectl_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A script opens with prose on what it shows. Then come commands of a shell, each followed by what of it is looked at:
//
//	$ kubectl get configmaps
//	NAME DATA AGE
//	shop 1 …
//	!> other
//	2> Warning: …
//	[exit 1]
//
// Lines stand for lines of standard output, in their order, with others between them; "2> " begins those of standard error,
// which has no others; "!> " begins what no line of either is. "…" stands for anything, blanks for any number of blanks, "$ns" for the
// namespace that is the script's own. "v1.37: " begins what is so in one version alone.
//
// "$ … <<EOF" takes standard input from the lines up to EOF.
type script struct{ steps []step }

type step struct {
	line string   // of the shell, with its input
	want []string // lines
	exit int
}

var exitLine = regexp.MustCompile(`^\[exit (\d+)\]$`)

// readScript reads what a version is to do.
func readScript(t *testing.T, path, version string) script {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	prose, rest, found := strings.Cut(string(text), "\n$ ")
	require.True(t, found, "%s holds no command", path)
	require.NotEmpty(t, strings.TrimSpace(prose), "%s opens without prose", path)
	var s script
	for part := range strings.SplitSeq(rest, "\n$ ") {
		line, output, _ := strings.Cut(part, "\n")
		if strings.HasSuffix(line, "<<EOF") {
			input, after, found := strings.Cut(output+"\n", "EOF\n")
			require.True(t, found, "%s: no EOF after %s", path, line)
			line, output = line+"\n"+input+"EOF", after
		}
		s.steps = append(s.steps, newStep(t, line, output, version))
	}
	return s
}

func newStep(t *testing.T, line, output, version string) step {
	t.Helper()
	s := step{line: line}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if of, rest, found := strings.Cut(line, ": "); found && strings.HasPrefix(of, "v1.") {
			if of != version {
				continue
			}
			line = rest
		}
		if exit := exitLine.FindStringSubmatch(line); exit != nil {
			_, err := fmt.Sscan(exit[1], &s.exit)
			require.NoError(t, err)
		} else if line != "" {
			s.want = append(s.want, line)
		}
	}
	return s
}

// shell runs commands in a folder of its own, where kubectl is the one of a version.
type shell struct {
	folder, namespace string
}

// newShell is one in which kubectl reaches a fleet.
func newShell(t *testing.T, f fleet, version, namespace string) *shell {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", "bin", "kubectl-"+version))
	require.NoError(t, err)
	require.FileExists(t, program, "make kubectl builds it")
	s := &shell{folder: t.TempDir(), namespace: namespace}
	require.NoError(t, os.Symlink(program, filepath.Join(s.folder, "kubectl")))
	require.NoError(t, os.CopyFS(s.folder, os.DirFS("testdata/files")))
	f.kubeconfig(t, filepath.Join(s.folder, "kubeconfig"), namespace)
	return s
}

// command is one of the shell.
func (s *shell) command(ctx context.Context, line string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir = s.folder
	c.Env = []string{"PATH=" + s.folder + ":" + os.Getenv("PATH"), "HOME=" + s.folder, "KUBECONFIG=kubeconfig", "ns=" + s.namespace}
	return c
}

// run runs what a script says and compares what comes of it.
func (s *shell) run(t *testing.T, what script) {
	t.Helper()
	for _, step := range what.steps {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		command := s.command(ctx, step.line)
		var out, errs bytes.Buffer
		command.Stdout, command.Stderr = &out, &errs
		_ = command.Run()
		cancel()
		faults := step.faults(s.namespace, out.String(), errs.String())
		if code := command.ProcessState.ExitCode(); code != step.exit {
			faults = append(faults, fmt.Sprintf("expected exit %d", step.exit))
		}
		if len(faults) > 0 {
			t.Errorf("%s\nin\n$ %s\n%s2> %s[exit %d]", strings.Join(faults, "\n"), step.line, out.String(), errs.String(), command.ProcessState.ExitCode())
		}
	}
}
