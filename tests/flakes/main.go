// Command flakes finds tests that fail now and then: it runs packages several times beside threads that do nothing but keep the
// processors busy, and prints each test that failed, the one that failed most often first, with what it printed when it failed first.
//
// Usage: go run ./tests/flakes [-rounds=3] [-load=8] [-race] packages
//
// It ends with 1 when a test failed. The load is threads of its own process, so it ends with it, however it ends.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"

	"flotilla/tests/gotest"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often the packages are run")
	load := flag.Int("load", 8, "how many threads keep the processors busy")
	race := flag.Bool("race", false, "run under the race detector")
	flag.Parse()
	if *rounds < 1 || *load < 0 || flag.NArg() == 0 {
		fmt.Fprintf(os.Stderr, "flakes: found -rounds=%d -load=%d and %d packages, expected at least 1 round, no load below 0, and a package such as ./...\n", *rounds, *load, flag.NArg())
		os.Exit(2)
	}
	end := busy(*load)
	log, err := hunt(*rounds, *race, flag.Args(), os.Stdout)
	end()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flakes:", err)
		os.Exit(2)
	}
	if report(os.Stdout, log, *rounds) > 0 {
		os.Exit(1)
	}
}

// busy keeps so many threads busy until the function it returns is called.
func busy(threads int) (end func()) {
	runtime.GOMAXPROCS(threads + runtime.GOMAXPROCS(0)) // each has a thread of its own, and what reads has one too
	var stop atomic.Bool
	var running sync.WaitGroup
	for range threads {
		running.Go(func() {
			for !stop.Load() {
			}
		})
	}
	return func() {
		stop.Store(true)
		running.Wait()
	}
}

// hunt runs the packages round after round, and says after each how many tests have failed up to then.
func hunt(rounds int, race bool, packages []string, progress io.Writer) (*gotest.Log, error) {
	args := []string{"test", "-json", "-count=1", fmt.Sprintf("-race=%t", race)}
	log := &gotest.Log{}
	for round := range rounds {
		command := exec.Command("go", append(args, packages...)...)
		if race {
			command.Env = append(os.Environ(), "CGO_ENABLED=1")
		}
		var said bytes.Buffer
		command.Stderr = &said
		printed, err := command.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := command.Start(); err != nil {
			return nil, err
		}
		reading := log.Read(printed)
		ended := command.Wait()
		exit, failed := errors.AsType[*exec.ExitError](ended)
		if reading != nil || failed && exit.ExitCode() > 1 || ended != nil && !failed {
			return nil, errors.Join(reading, ended, errors.New(said.String()))
		}
		_, _ = fmt.Fprintf(progress, "round %d of %d: %d tests failed so far\n", round+1, rounds, len(log.Failures()))
	}
	return log, nil
}

// report prints what failed, and says how much did.
func report(to io.Writer, log *gotest.Log, rounds int) int {
	failures := log.Failures()
	for _, f := range failures {
		_, _ = fmt.Fprintf(to, "\n%d of %d  %s\n%s", f.Failed, f.Runs, f.Name, f.Output)
	}
	for _, broken := range log.Broken {
		_, _ = fmt.Fprintf(to, "\n%s\n", broken)
	}
	_, _ = fmt.Fprintf(to, "\n%d tests failed in %d rounds", len(failures), rounds)
	for _, f := range failures {
		_, _ = fmt.Fprintf(to, "\n  %d of %d  %s", f.Failed, f.Runs, f.Name)
	}
	_, _ = fmt.Fprintln(to)
	return len(failures) + len(log.Broken)
}
