// Package gotest reads what `go test -json` prints: which tests failed, how often, and what they printed. The commands
// tests/rerun and tests/flakes use it.
package gotest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output, FailedBuild string
}

// Name names a test: its package and its path below that, "TestX/case".
type Name struct{ Package, Test string }

func (n Name) String() string { return n.Package + " " + n.Test }

// under reports whether a test is a direct subtest of another one.
func (n Name) under(other Name) bool {
	rest, is := strings.CutPrefix(n.Test, other.Test+"/")
	return is && n.Package == other.Package && !strings.Contains(rest, "/")
}

// Run is one run of a test that ended.
type Run struct {
	Failed bool
	Output string // of the test itself, without that of its subtests
}

// Log is what one or more runs of go test said. The zero value is ready for use.
type Log struct {
	// Broken says of each package that failed without a failed test why, as far as is known: a package that does not build, a
	// TestMain that ended with an error, a program that was killed.
	Broken []string

	runs    map[Name][]Run
	names   []Name // of runs, in the order in which they first ended
	printed map[Name]*strings.Builder
	said    map[string]*strings.Builder // by packages, outside of tests
	failed  map[string]bool             // packages in which a test failed in the present run
}

// Read takes in the lines of a run, up to its end. Lines that are no JSON are what programs printed beside, and are left out.
func (l *Log) Read(from io.Reader) error {
	return Lines(from, func(line []byte) error {
		l.Line(line)
		return nil
	})
}

// Lines calls a function with every line of a reader, its line feed included.
func Lines(from io.Reader, each func(line []byte) error) error {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if failure := each(line); failure != nil {
				return failure
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("reading what go test says: %w", err)
		}
	}
}

// Line takes in one line.
func (l *Log) Line(line []byte) {
	var e event
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		return
	}
	if l.runs == nil {
		l.runs, l.printed = map[Name][]Run{}, map[Name]*strings.Builder{}
		l.said, l.failed = map[string]*strings.Builder{}, map[string]bool{}
	}
	if e.Test == "" {
		l.ofPackage(e)
	} else {
		l.ofTest(e)
	}
}

func (l *Log) ofPackage(e event) {
	switch e.Action {
	case "start":
		delete(l.said, e.Package)
		delete(l.failed, e.Package)
	case "output":
		write(l.said, e.Package, e.Output)
	case "fail":
		if !l.failed[e.Package] {
			l.Broken = append(l.Broken, broken(e, l.said[e.Package]))
		}
	}
}

// broken says why a package failed without a failed test.
func broken(e event, said *strings.Builder) string {
	switch {
	case e.FailedBuild != "":
		return e.Package + " does not build"
	case said == nil:
		return e.Package + " failed without a failed test"
	default:
		return e.Package + " failed without a failed test:\n" + strings.TrimRight(said.String(), "\n")
	}
}

func (l *Log) ofTest(e event) {
	name := Name{e.Package, e.Test}
	switch e.Action {
	case "run":
		delete(l.printed, name)
	case "output":
		write(l.printed, name, e.Output)
	case "pass", "fail", "skip":
		if _, known := l.runs[name]; !known {
			l.names = append(l.names, name)
		}
		run := Run{Failed: e.Action == "fail"}
		if run.Failed {
			l.failed[e.Package] = true
			if printed := l.printed[name]; printed != nil {
				run.Output = printed.String()
			}
		}
		delete(l.printed, name)
		l.runs[name] = append(l.runs[name], run)
	}
}

func write[K comparable](texts map[K]*strings.Builder, key K, text string) {
	if texts[key] == nil {
		texts[key] = &strings.Builder{}
	}
	texts[key].WriteString(text)
}

// Failures are a test that failed at least once.
type Failures struct {
	Name
	Runs, Failed int
	// Passed reports whether the last run of the test passed.
	Passed bool
	// Output is that of the first run that failed, without that of its subtests.
	Output string
}

// Failures returns the tests that failed, each at the deepest place: a test whose subtest failed in all runs in which it failed
// itself is left out. The first is the one that failed most often; those that failed equally often are in the order of their names.
func (l *Log) Failures() []Failures {
	var all []Failures
	for _, name := range l.names {
		f := l.failures(name)
		if f.Failed > 0 && !l.explained(f) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Failures) int {
		if a.Failed != b.Failed {
			return b.Failed - a.Failed
		}
		return strings.Compare(a.String(), b.String())
	})
	return all
}

func (l *Log) failures(name Name) Failures {
	runs := l.runs[name]
	f := Failures{Name: name, Runs: len(runs), Passed: !runs[len(runs)-1].Failed}
	for _, r := range runs {
		if !r.Failed {
			continue
		}
		if f.Failed++; f.Failed == 1 {
			f.Output = r.Output
		}
	}
	return f
}

// explained reports whether the subtests of a test failed as often as it did.
func (l *Log) explained(f Failures) bool {
	below := 0
	for _, name := range l.names {
		if name.under(f.Name) {
			below += l.failures(name).Failed
		}
	}
	return below >= f.Failed
}
