package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"flotilla/tests/gotest"
)

// codeBroken tells gotestsum that running tests again is of no use: it knows exit codes 0 and 1 of go test.
const codeBroken = 3

// arguments are what go test is called with.
type arguments struct{ flags, packages, rest []string }

// parse takes arguments apart: flags, packages, and flags of the test binaries. gotestsum appends the test that it runs again and
// the package of that, which take the place of the packages and of -run.
func parse(args []string) (arguments, error) {
	var again []string
	if n := len(args); n >= 2 && strings.HasPrefix(args[n-2], "-test.run=") {
		args, again = args[:n-2], args[n-2:]
	}
	var a arguments
	for _, arg := range args {
		is := strings.HasPrefix(arg, "-")
		switch {
		case is && len(a.packages) == 0:
			a.flags = append(a.flags, arg)
		case !is && len(a.rest) == 0:
			a.packages = append(a.packages, arg)
		default:
			a.rest = append(a.rest, arg)
		}
	}
	if len(a.packages) == 0 {
		return a, errors.New("found no package; expected flags as -name=value, then packages, such as -count=1 ./hub/hubd")
	}
	if again == nil {
		return a, nil
	}
	var flags []string
	for _, flag := range a.flags {
		if !strings.HasPrefix(strings.TrimLeft(flag, "-"), "run=") {
			flags = append(flags, flag)
		}
	}
	return arguments{append(flags, "-run="+strings.TrimPrefix(again[0], "-test.run=")), again[1:], a.rest}, nil
}

// test runs go test, passes on what it prints as JSON, and returns its exit code, or codeBroken.
func test(args []string, stdout, stderr io.Writer) int {
	fail := func(err error) int {
		_, _ = fmt.Fprintln(stderr, "rerun:", err)
		return codeBroken
	}
	a, err := parse(args)
	if err != nil {
		return fail(err)
	}
	command := exec.Command("go", append(append(append([]string{"test", "-json"}, a.flags...), a.packages...), a.rest...)...)
	command.Stderr = stderr
	printed, err := command.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := command.Start(); err != nil {
		return fail(err)
	}
	var log gotest.Log
	reading := gotest.Lines(printed, func(line []byte) error {
		log.Line(line)
		_, err := stdout.Write(line)
		return err
	})
	ended := command.Wait()
	for _, broken := range log.Broken {
		_, _ = fmt.Fprintln(stderr, broken)
	}
	exit, failed := errors.AsType[*exec.ExitError](ended)
	switch {
	case reading != nil:
		return fail(reading)
	case len(log.Broken) > 0:
		return codeBroken
	case failed:
		return exit.ExitCode()
	case ended != nil:
		return fail(ended)
	}
	return 0
}
