package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/configs/files"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/tests/elsewhen"
)

// endless is a stream without end.
type endless struct{}

func (endless) Read(into []byte) (int, error) { return len(into), nil }

// paper is what a command printed, which may go on when it was left behind.
type paper struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *paper) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// reading is an environment with a home of its own, and what a command printed in it.
func reading(t *testing.T) (env session.Environment, printed *paper) {
	t.Helper()
	home := t.TempDir()
	printed = &paper{}
	env = session.OSEnvironment(elsewhen.Now)
	env.In, env.Out, env.Err, env.Terminal, env.Cache = endless{}, printed, printed, false, home
	env.Getenv = func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
	return env, printed
}

func pipe(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// Whatever a command reads has a bound: of a stream without end it says so, and takes no more than that of memory.
func TestFilesAreReadWithABound(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link.yaml")
	require.NoError(t, os.Symlink("/dev/zero", link))
	tooMuch, noCredentials := "found more than 64 MiB", "found more than 1 MiB"
	for args, want := range map[string]string{
		"apply --dry-run=client -f /dev/zero":                                      tooMuch,
		"apply --dry-run=client -f " + link:                                        tooMuch,
		"apply --dry-run=client -f -":                                              tooMuch,
		"plan -f /dev/zero":                                                        tooMuch,
		"correct -f /dev/zero":                                                     tooMuch,
		"apply --dry-run=client -f " + filepath.Dir(link):                          "found a device, expected a file",
		"get members -o jsonpath-file=/dev/zero":                                   noCredentials,
		"get members -o custom-columns-file=/dev/zero":                             noCredentials,
		"get members --creds /dev/zero --url nats://127.0.0.1:1":                   noCredentials,
		"get members --tls-ca /dev/zero --url tls://127.0.0.1:1":                   noCredentials,
		"restore /dev/zero":                                                        "found a device, expected a file",
		"token --creds /dev/zero --url nats://127.0.0.1:1 --request-timeout=100ms": noCredentials,
	} {
		t.Run(args, func(t *testing.T) {
			env, printed := reading(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			code := Main(t.Context(), strings.Fields(args), env)
			runtime.ReadMemStats(&after)
			require.NotEqual(t, session.ExitDone, code)
			require.Contains(t, printed.String(), want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*files.Most))
		})
	}
}

// Nobody wants a pipe to be read that lies about in a folder; it would be waited for.
func TestAPipeInAFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	pipe(t, filepath.Join(dir, "web.yaml"))
	pipe(t, filepath.Join(dir, "built", "web.yaml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "built", "kustomization.yaml"), []byte("resources: [web.yaml]\n"), 0o600))
	for _, args := range []string{"-f " + dir, "-R -f " + dir, "-k " + filepath.Join(dir, "built")} {
		env, printed := reading(t)
		require.NotEqual(t, session.ExitDone, Main(t.Context(), strings.Fields("apply --dry-run=client "+args), env))
		require.Contains(t, printed.String(), "found a named pipe, expected a file", args)
	}
}

// A pipe that was named is read, as <(…) of a shell is one. Who interrupts the command ends it, also while it reads.
func TestAnInterruptEndsACommandThatReads(t *testing.T) {
	for name, args := range map[string]string{
		"documents": "apply --dry-run=client -f PIPE", "a template": "get members -o jsonpath-file=PIPE --url nats://127.0.0.1:1",
		"credentials": "get members --creds PIPE --url nats://127.0.0.1:1", "an authority": "get members --tls-ca PIPE --url tls://127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := pipe(t, filepath.Join(t.TempDir(), "pipe"))
			env, printed := reading(t)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			ended := make(chan int, 1)
			go func() { ended <- Main(ctx, strings.Fields(strings.ReplaceAll(args, "PIPE", path)), env) }()
			var writer int
			require.Eventually(t, func() bool {
				var err error
				writer, err = syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
				return err == nil
			}, 10*time.Second, time.Millisecond)
			defer func() { _ = syscall.Close(writer) }() // the reader that was left behind ends
			interrupt()
			require.Equal(t, session.ExitTimedOut, <-ended)
			require.Contains(t, printed.String(), "error: interrupted")
		})
	}
}

func TestAPipeThatWasNamedIsRead(t *testing.T) {
	path := pipe(t, filepath.Join(t.TempDir(), "pipe"))
	env, printed := reading(t)
	wrote := make(chan error, 1)
	go func() {
		wrote <- os.WriteFile(path, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n"), 0o600)
	}()
	require.Equal(t, session.ExitDone, Main(t.Context(), []string{"apply", "--dry-run=client", "-f", path}, env), printed.String())
	require.NoError(t, <-wrote)
}
