package gotest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// said turns lines "action package test output" into what go test says.
func said(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		words := strings.SplitN(line, " ", 4)
		for len(words) < 4 {
			words = append(words, "")
		}
		_, _ = fmt.Fprintf(&out, "{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", words[0], words[1], words[2], words[3])
	}
	return out.String()
}

func read(t *testing.T, texts ...string) *Log {
	t.Helper()
	log := &Log{}
	for _, text := range texts {
		require.NoError(t, log.Read(strings.NewReader(text)))
	}
	return log
}

// A test that failed and then passed says what it printed the first time; a test that failed since its subtest did is not named.
func TestFailures(t *testing.T) {
	log := read(t,
		said("start p", "run p TestA", "run p TestA/x", "output p TestA/x one", "fail p TestA/x", "output p TestA after", "fail p TestA",
			"run p TestB", "output p TestB fine", "pass p TestB", "run p TestC", "output p TestC c1", "fail p TestC", "fail p"),
		said("start p", "run p TestA", "run p TestA/x", "output p TestA/x two", "pass p TestA/x", "pass p TestA", "pass p"),
		said("start p", "run p TestC", "output p TestC c2", "fail p TestC", "fail p"),
	)
	require.Equal(t, []Failures{
		{Name: Name{"p", "TestC"}, Runs: 2, Failed: 2, Output: "c1"},
		{Name: Name{"p", "TestA/x"}, Runs: 2, Failed: 1, Passed: true, Output: "one"},
	}, log.Failures())
	require.Empty(t, log.Broken)
}

// A parent that fails once more than its subtests did fails by itself.
func TestAParentThatFailsByItself(t *testing.T) {
	log := read(t,
		said("run p TestA", "run p TestA/x", "fail p TestA/x", "fail p TestA"),
		said("run p TestA", "run p TestA/x", "pass p TestA/x", "output p TestA by itself", "fail p TestA"),
	)
	var names []string
	for _, f := range log.Failures() {
		names = append(names, f.String())
	}
	require.Equal(t, []string{"p TestA", "p TestA/x"}, names)
}

func TestBroken(t *testing.T) {
	log := read(t,
		"a line that is no JSON\n{\"neither\": is this\n",
		said("start p", "run p TestA", "pass p TestA", "output p  a leak", "fail p"),
		said("start q", "fail q"),
		`{"Action":"fail","Package":"r","FailedBuild":"r [r.test]"}`+"\n",
		said("start p", "run p TestA", "fail p TestA", "fail p"),
		said("start p", "output p  another leak", "fail p"),
	)
	require.Equal(t, []string{
		"p failed without a failed test:\na leak", "q failed without a failed test", "r does not build", "p failed without a failed test:\nanother leak",
	}, log.Broken)
}
