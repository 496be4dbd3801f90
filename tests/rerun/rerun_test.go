package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child {
		os.Exit(test(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Faults are planted in testdata. Each but the one that always fails is there the first time alone: whoever runs such a test
// again finds nothing.
func TestPlantedFaults(t *testing.T) {
	for _, row := range []struct {
		args  string
		green bool
		says  []string
	}{
		{"./testdata/sound", true, []string{"DONE 1 tests in "}},
		{"./testdata/sound ./testdata/flaky", true, []string{
			"=== FLAKY: flotilla/tests/rerun/testdata/flaky TestEveryOther/case (failed in 1 of 2 runs)\n", "this is the first time", "DONE 2 runs, ",
		}},
		{"-run=TestBeside|TestEveryOther ./testdata/flaky", true, []string{"=== FLAKY: "}},
		{"./testdata/failing", false, []string{"=== FAIL: tests/rerun/testdata/failing TestFails", "DONE 3 runs, 3 tests, 3 failures in "}},
		{"./testdata/many", false, []string{"number of test failures (5) exceeds maximum (4)", "DONE 5 tests, 5 failures in "}},
		{"-race ./testdata/race", false, []string{"WARNING: DATA RACE", "rerun aborted because previous run had a data race"}},
		{"./testdata/panics", false, []string{"panic: planted", "rerun aborted because previous run had a suspected panic"}},
		{"./testdata/leak", false, []string{"flotilla/tests/rerun/testdata/leak failed without a failed test:", "found unexpected goroutines", "DONE 1 tests, "}},
		{"./testdata/nobuild", false, []string{"testdata/nobuild does not build", "undefined: undeclared"}},
	} {
		t.Run(row.args, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			var stdout, stderr bytes.Buffer
			environment := append(os.Environ(), "PLANTED="+folder)
			if strings.HasPrefix(row.args, "-race") {
				environment = append(environment, "CGO_ENABLED=1")
			}
			code, err := run(append([]string{"-count=1"}, strings.Fields(row.args)...), environment, folder, &stdout, &stderr)
			require.NoError(t, err, "%s%s", &stdout, &stderr)
			require.Equal(t, row.green, code == 0, "%s%s", &stdout, &stderr)
			for _, text := range row.says {
				require.Contains(t, stdout.String()+stderr.String(), text)
			}
			require.Equal(t, row.green && strings.Contains(row.args, "flaky"), strings.Contains(stdout.String(), "FLAKY"), "%s", &stdout)
			lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
			require.True(t, strings.HasPrefix(lines[len(lines)-1], "DONE "), "the last line is that of the runner: %s", &stdout)
		})
	}
}

// A script that runs the command several times finds everything at its end.
func TestWhatIsKept(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, keep(folder, "one\n", "DONE 1\n"))
	require.NoError(t, keep(folder, "", "DONE 2\n"))
	require.NoError(t, keep("", "one\n", "DONE 3\n"))
	for name, want := range map[string]string{"flaky": "one\n", "done": "DONE 1\nDONE 2\n"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

func TestArguments(t *testing.T) {
	for _, row := range []struct {
		args string
		want arguments
	}{
		{"./...", arguments{packages: []string{"./..."}}},
		{"-race -p=3 a b", arguments{flags: []string{"-race", "-p=3"}, packages: []string{"a", "b"}}},
		{"-run=X a -e2e.clusters=1 y", arguments{flags: []string{"-run=X"}, packages: []string{"a"}, rest: []string{"-e2e.clusters=1", "y"}}},
		{
			"-race -run=X a b -e2e.clusters=1 -test.run=^TestY$/^z$ a",
			arguments{flags: []string{"-race", "-run=^TestY$/^z$"}, packages: []string{"a"}, rest: []string{"-e2e.clusters=1"}},
		},
	} {
		got, err := parse(strings.Fields(row.args))
		require.NoError(t, err)
		require.Equal(t, row.want, got, row.args)
	}
	code, err := run([]string{"-race"}, nil, "", nil, nil)
	require.ErrorContains(t, err, "found no package; expected flags as -name=value, then packages")
	require.Equal(t, 2, code)
}
