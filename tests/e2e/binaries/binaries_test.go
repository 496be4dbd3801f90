package binaries

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// module writes a module as the control plane's is, but small: two programs, and a version to tell.
func module(t *testing.T) string {
	t.Helper()
	source := t.TempDir()
	write(t, source, "go.mod", "module tiny\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n\nreplace k8s.io/kubernetes => ./none\n")
	write(t, source, "none/go.mod", "module k8s.io/kubernetes\n")
	write(t, source, "kubelab/main.go", "package main\n\nfunc main() { println(`kubelab`) }\n")
	write(t, source, "kwok/main.go", "package main\n\nfunc main() { println(`kwok`) }\n")
	return source
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func here(t *testing.T) settings {
	t.Helper()
	s, err := readSettings(t.Context())
	require.NoError(t, err)
	return s
}

func TestProgramsAreBuiltOnceAndFoundFromThenOn(t *testing.T) {
	source, cache := module(t), t.TempDir()
	var said strings.Builder
	set, err := ensure(t.Context(), here(t), source, cache, &said)
	require.NoError(t, err)
	require.Contains(t, said.String(), "building the control plane")
	for path, wanted := range map[string]string{set.Kubelab(): "kubelab", set.Kwok(): "kwok", set.Kubectl(): "kubelab"} {
		out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, wanted+"\n", string(out))
	}
	said.Reset()
	again, err := ensure(t.Context(), here(t), source, cache, &said)
	require.NoError(t, err)
	require.Equal(t, set, again)
	require.Empty(t, said.String())
}

func TestASetThatLacksAProgramIsBuiltAnew(t *testing.T) {
	source, cache := module(t), t.TempDir()
	set, err := ensure(t.Context(), here(t), source, cache, &strings.Builder{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(set.Kwok()))
	var said strings.Builder
	set, err = ensure(t.Context(), here(t), source, cache, &said)
	require.NoError(t, err)
	require.Contains(t, said.String(), "built the control plane")
	require.FileExists(t, set.Kwok())
}

func TestEveryInputMakesAnotherSet(t *testing.T) {
	source := module(t)
	was, err := readInputs(here(t), source)
	require.NoError(t, err)
	seen := map[string]string{was.digest: "at first"}
	differs := func(what string, s settings) {
		t.Helper()
		in, err := readInputs(s, source)
		require.NoError(t, err)
		require.NotContains(t, seen, in.digest, what)
		seen[in.digest] = what
	}
	other := here(t)
	other.Arch = "other"
	differs("architecture", other)
	other = here(t)
	other.Go = "go1.99"
	differs("version of Go", other)
	write(t, source, "kwok/main.go", "package main\n\nfunc main() {}\n")
	differs("a source", here(t))
	write(t, source, "kwok/more.go", "package main\n")
	differs("another source", here(t))
	write(t, source, "go.sum", "\n")
	differs("go.sum", here(t))
	write(t, source, "README.md", "nothing that is compiled")
	in, err := readInputs(here(t), source)
	require.NoError(t, err)
	require.Equal(t, "go.sum", seen[in.digest])
}

func TestTheVersionOfKubernetesIsLinked(t *testing.T) {
	source := module(t)
	in, err := readInputs(here(t), source)
	require.NoError(t, err)
	for _, said := range []string{"gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36"} {
		require.Contains(t, strings.Join(in.flags, " "), said)
	}
	write(t, source, "go.mod", "module tiny\n")
	_, err = readInputs(here(t), source)
	require.ErrorContains(t, err, "found no version of k8s.io/kubernetes")
}

// TestOneOfManyBuilds starts several at once: one builds, the others wait for it.
func TestOneOfManyBuilds(t *testing.T) {
	source, cache := module(t), t.TempDir()
	var wait sync.WaitGroup
	said := make([]strings.Builder, 3)
	failed := make([]error, len(said))
	for i := range said {
		wait.Go(func() { _, failed[i] = ensure(t.Context(), here(t), source, cache, &said[i]) })
	}
	wait.Wait()
	require.NoError(t, errors.Join(failed...))
	var all strings.Builder
	for i := range said {
		all.WriteString(said[i].String())
	}
	require.Equal(t, 1, strings.Count(all.String(), "built the control plane"), all.String())
}

func TestAFailedBuildLeavesNothingAndSaysWhy(t *testing.T) {
	source, cache := module(t), t.TempDir()
	write(t, source, "kwok/main.go", "package main\n\nfunc main() { nobody() }\n")
	_, err := ensure(t.Context(), here(t), source, cache, &strings.Builder{})
	require.ErrorContains(t, err, "undefined: nobody")
	require.Equal(t, []string{"lock"}, names(t, cache))
}

func TestWhoGivesUpWaitingSaysSo(t *testing.T) {
	cache := t.TempDir()
	lock, err := lockCache(t.Context(), cache, &strings.Builder{})
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	var said strings.Builder
	_, err = lockCache(ctx, cache, &said)
	require.ErrorIs(t, err, enough)
	require.Contains(t, said.String(), "another process builds the control plane")
}

func TestRoomIsMadeOfWhatWasUsedLongestAgo(t *testing.T) {
	cache := t.TempDir()
	now := here(t)
	write(t, cache, unfinished+"1234/kubelab", "half of it")
	for i, name := range []string{"oldest", "older", "old", "new"} {
		write(t, cache, filepath.Join(name, used), "")
		info, err := os.Stat(filepath.Join(cache, "oldest", used))
		require.NoError(t, err)
		at := info.ModTime().AddDate(0, 0, i)
		require.NoError(t, os.Chtimes(filepath.Join(cache, name, used), at, at))
	}
	_, err := ensure(t.Context(), now, module(t), cache, &strings.Builder{})
	require.NoError(t, err)
	left := names(t, cache)
	require.Len(t, left, 5, "three sets, the new one, the lock")
	require.Subset(t, left, []string{"older", "old", "new", "lock"})
}

func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
