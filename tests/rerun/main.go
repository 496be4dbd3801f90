// Command rerun runs tests in place of `go test`, under gotestsum, and runs tests that failed again, up to twice. Tests that
// passed only then are listed at the end under FLAKY, each with the output of its first failure, and the command succeeds.
//
// What a second run cannot excuse fails at once: more than four tests that failed, a data race, a panic, a package that does
// not build, and a package that fails without a failed test, as it does when TestMain finds a goroutine that was left running.
//
// Usage:
//
//	go run ./tests/rerun [flags of go test, each as -name=value] packages [flags of the test binaries]
//
// With RERUN_KEEP=FOLDER the list and the closing line of gotestsum are also appended to the files flaky and done there, for a
// script that runs it several times.
package main

import (
	"fmt"
	"os"
)

// child is the first argument of the program where gotestsum runs it in place of go test.
const child = "in-place-of-go-test"

func main() {
	if len(os.Args) > 1 && os.Args[1] == child {
		os.Exit(test(os.Args[2:], os.Stdout, os.Stderr))
	}
	code, err := run(os.Args[1:], os.Environ(), os.Getenv("RERUN_KEEP"), os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rerun:", err)
	}
	os.Exit(code)
}
