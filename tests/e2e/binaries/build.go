package binaries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	announced = 200 // packages between two lines of progress
	remember  = 40  // lines of the go command that are shown when it fails
)

// build compiles into a folder of its own that becomes the finished one by a rename: what is found there is whole.
func build(ctx context.Context, in inputs, source, cache, finished string, say io.Writer) (err error) {
	folder, err := os.MkdirTemp(cache, unfinished)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	_, _ = fmt.Fprintf(say, "building the control plane into %s: about 6 minutes on two cores, once\n", cache)
	if err := compile(ctx, in, source, folder, say); err != nil {
		return err
	}
	if err := os.Symlink("kubelab", filepath.Join(folder, "kubectl")); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(finished), os.Rename(folder, finished)); err != nil { // what lacks a program is no set
		return err
	}
	_, _ = fmt.Fprintln(say, "built the control plane")
	return nil
}

func compile(ctx context.Context, in inputs, source, folder string, say io.Writer) error {
	args := append([]string{"build", "-v", "-o", folder + string(filepath.Separator)}, in.flags...)
	command := exec.CommandContext(ctx, "go", append(args, "./...")...)
	command.Dir = source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	said, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	last := progress(said, say)
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(context.Cause(ctx), err), strings.Join(last, "\n"))
	}
	return nil
}

// progress counts the packages that the go command names, one a line, and returns the last of what else it said.
func progress(said io.Reader, say io.Writer) (last []string) {
	packages := 0
	for lines := bufio.NewScanner(said); lines.Scan(); {
		line := lines.Text()
		if strings.ContainsAny(line, " :") {
			last = append(last, line)
			last = last[max(0, len(last)-remember):]
			continue
		}
		if packages++; packages%announced == 0 {
			_, _ = fmt.Fprintf(say, "  %d packages\n", packages)
		}
	}
	return last
}
