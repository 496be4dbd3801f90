package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"flotilla/tests/gotest"
)

// gotestsum is the runner.
const gotestsum = "gotest.tools/gotestsum@v1.13.0"

// run runs the tests, and returns the exit code: 0 where every test passed, if only when it ran again. What the list and the closing
// line say is also appended to the files of a folder, where one is named.
func run(args, environment []string, kept string, stdout, stderr io.Writer) (int, error) {
	if _, err := parse(args); err != nil {
		return 2, err
	}
	self, err := os.Executable()
	if err != nil {
		return 2, err
	}
	folder, err := os.MkdirTemp("", "rerun-")
	if err != nil {
		return 2, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	events := filepath.Join(folder, "events.json")
	command := exec.Command("go", append([]string{
		"run", gotestsum, "--format=pkgname", "--format-icons=text", "--hide-summary=skipped", "--jsonfile=" + events,
		"--rerun-fails=2", "--rerun-fails-max-failures=4", "--rerun-fails-abort-on-data-race",
		"--raw-command", "--", self, child,
	}, args...)...)
	command.Stderr, command.Env = stderr, environment
	done, code, err := watch(command, stdout)
	if err != nil {
		return 2, err
	}
	flaky, err := flakyOf(events)
	if err != nil {
		return 2, err
	}
	if _, err := fmt.Fprintf(stdout, "%s%s", flaky, done); err != nil {
		return 2, err
	}
	return code, keep(kept, flaky, done)
}

// watch runs gotestsum and passes on what it prints, but for its closing line.
func watch(command *exec.Cmd, stdout io.Writer) (done string, code int, err error) {
	printed, err := command.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := command.Start(); err != nil {
		return "", 0, err
	}
	held := ""
	reading := gotest.Lines(printed, func(line []byte) error {
		if strings.HasPrefix(string(line), "DONE ") {
			held = string(line)
			return nil
		}
		if strings.TrimSpace(string(line)) != "" { // what follows is another run, which has a closing line of its own
			line, held = append([]byte(held), line...), ""
		}
		_, err := stdout.Write(line)
		return err
	})
	err = command.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return held, exit.ExitCode(), reading
	}
	return held, 0, errors.Join(reading, err)
}

// flakyOf lists the tests that failed first and passed last; it is empty where there are none.
func flakyOf(events string) (string, error) {
	file, err := os.Open(events)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	var log gotest.Log
	if err := log.Read(file); err != nil {
		return "", err
	}
	var list strings.Builder
	for _, f := range log.Failures() {
		if f.Passed {
			_, _ = fmt.Fprintf(&list, "\n=== FLAKY: %s (failed in %d of %d runs)\n%s", f.Name, f.Failed, f.Runs, f.Output)
		}
	}
	if list.Len() > 0 {
		list.WriteString("\n")
	}
	return list.String(), nil
}

// keep appends to the files of a folder.
func keep(folder, flaky, done string) error {
	if folder == "" {
		return nil
	}
	for name, text := range map[string]string{"flaky": flaky, "done": done} {
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
