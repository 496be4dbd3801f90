// Package binaries has the programs of a real control plane ready: built from the nested module tests/e2e/kube once,
// then found in the user's cache folder until one of their inputs changes.
package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Set is where the programs are: kubelab, which is kube-apiserver, kube-controller-manager, kube-scheduler and etcd by
// its first argument; kwok; and kubectl for people.
type Set struct{ Folder string }

// Kubelab is the path of the control plane's components.
func (s Set) Kubelab() string { return filepath.Join(s.Folder, "kubelab") }

// Kwok is the path of what plays nodes.
func (s Set) Kwok() string { return filepath.Join(s.Folder, "kwok") }

// Kubectl is the path of kubectl.
func (s Set) Kubectl() string { return filepath.Join(s.Folder, "kubectl") }

// Ensure builds the programs unless they are there. It tells say what takes long. It is called anywhere in the
// repository.
func Ensure(ctx context.Context, say io.Writer) (Set, error) {
	settings, err := readSettings(ctx)
	if err != nil {
		return Set{}, err
	}
	if settings.Module == "" || settings.Module == os.DevNull {
		return Set{}, fmt.Errorf("the control plane is built from the repository's folder tests/e2e/kube: start this inside the repository")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Set{}, fmt.Errorf("finding the cache folder: %w", err)
	}
	source := filepath.Join(filepath.Dir(settings.Module), "tests", "e2e", "kube")
	return ensure(ctx, settings, source, filepath.Join(cache, "flotilla", "e2e"), say)
}

func ensure(ctx context.Context, settings settings, source, cache string, say io.Writer) (Set, error) {
	in, err := readInputs(settings, source)
	if err != nil {
		return Set{}, fmt.Errorf("reading what the control plane is built from: %w", err)
	}
	set := Set{Folder: filepath.Join(cache, in.digest)}
	if set.use() == nil {
		return set, nil
	}
	lock, err := lockCache(ctx, cache, say)
	if err != nil {
		return Set{}, err
	}
	defer func() { _ = lock.Close() }()
	if set.use() == nil {
		return set, nil // another process built it meanwhile
	}
	if err := sweep(cache); err != nil {
		return Set{}, fmt.Errorf("making room in %s: %w", cache, err)
	}
	if err := build(ctx, in, source, cache, set.Folder, say); err != nil {
		return Set{}, fmt.Errorf("building the control plane: %w", err)
	}
	return set, set.use()
}

// used is touched by every use, so that those used longest ago can be swept.
const used = "used"

// use fails unless the set is there, whole.
func (s Set) use() error {
	for _, program := range []string{s.Kubelab(), s.Kwok(), s.Kubectl()} {
		if _, err := os.Stat(program); err != nil {
			return err
		}
	}
	_ = os.WriteFile(filepath.Join(s.Folder, used), nil, 0o600) // who may only read the cache uses it all the same
	return nil
}
