package upgrade_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the expected output of scenario files; review the result as text")

// scenarioNumbers are the acceptance scenarios of the specification: 1 to 100, and 31b.
func scenarioNumbers() []string {
	var out []string
	for n := 1; n <= 100; n++ {
		out = append(out, strconv.Itoa(n))
		if n == 31 {
			out = append(out, "31b")
		}
	}
	return out
}

// codedScenarios are those that read better as code; each is a test of this package.
var codedScenarios = map[string]func(*testing.T){
	"95": hubCrash, "97": twoHubs, "98": largeFleet, "99": twoWriters,
}

// TestScenarios runs every numbered scenario and fails unless all 101 ran and passed.
func TestScenarios(t *testing.T) {
	var passed []string
	for _, file := range scenarioFiles(t) {
		number := scenarioNumber(t, file)
		if t.Run(filepath.Base(file), func(t *testing.T) { runScenarioFile(t, file) }) {
			passed = append(passed, number)
		}
	}
	for number, scenario := range codedScenarios {
		if t.Run("scenario "+number, scenario) {
			passed = append(passed, number)
		}
	}
	want := scenarioNumbers()
	require.Len(t, want, 101)
	slices.Sort(want)
	slices.Sort(passed)
	require.Equal(t, want, passed, "the scenarios that ran and passed")
	t.Logf("scenarios: %d of 101 ran and passed: %s", len(passed), strings.Join(passed, " "))
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	require.NoError(t, err)
	return files
}

// TestOptions runs the scenarios of our own: settings, rules and corners that no numbered one shows.
func TestOptions(t *testing.T) {
	files, err := filepath.Glob("testdata/options/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runScenarioFile(t, file) })
	}
}

var scenarioTitle = regexp.MustCompile(`^Scenario (\d+b?): `)

// scenarioNumber reads the number a file carries in its first line and in its name.
func scenarioNumber(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	title := scenarioTitle.FindStringSubmatch(string(text))
	require.NotNil(t, title, "%s begins with no \"Scenario N: \"", file)
	require.Equal(t, title[1], strings.TrimLeft(strings.SplitN(filepath.Base(file), "-", 2)[0], "0"), file)
	return title[1]
}

func runScenarioFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	got := playScenario(t, string(text))
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: want -, got +\n%s", file, diff)
	}
}

// stateWord finds an expected state, class or code in the output of a scenario.
var stateWord = regexp.MustCompile(`\b(Running|Pending|Skipped|Stopping|Stopped|Failed|Completed|NotStarted|InvalidArgument|refused \d+|class \d|ok|older|incomparable|0|-1)\b`)

// TestMutatedScenariosFail changes one expected word in each file and finds that it no longer agrees.
func TestMutatedScenariosFail(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		mutated, ok := mutate(string(text))
		require.True(t, ok, "%s expects no state at all", file)
		require.NotEqual(t, mutated, playScenario(t, mutated), "%s passes with another expectation", file)
	}
}

// mutate changes the last expected state of a scenario.
func mutate(text string) (string, bool) {
	blocks := strings.Split(text, "\n\n")
	for i := len(blocks) - 1; i > 0; i-- {
		cut := strings.Index(blocks[i], "----\n")
		if cut < 0 {
			continue
		}
		if at := stateWord.FindStringIndex(blocks[i][cut:]); at != nil {
			blocks[i] = blocks[i][:cut+at[0]] + "Mutated" + blocks[i][cut+at[1]:]
			return strings.Join(blocks, "\n\n"), true
		}
	}
	return text, false
}

// playScenario executes the commands of a scenario and returns its text with the output it really has.
func playScenario(t *testing.T, text string) string {
	t.Helper()
	s := newScene(t)
	blocks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	for i := 1; i < len(blocks); i++ {
		input, _, found := strings.Cut(blocks[i]+"\n", "----\n")
		require.True(t, found, "block %d of %q has no ----:\n%s", i, blocks[0], blocks[i])
		head, rest, _ := strings.Cut(input, "\n")
		output := s.command(strings.Fields(head), rest)
		blocks[i] = strings.TrimRight(input+"----\n"+output, "\n")
	}
	return strings.Join(blocks, "\n\n") + "\n"
}
