package tests

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/documented"
)

const claiming = "# A page\n\nWords. More words.\n\n## When it breaks\n\n| if | then |\n|---|---|\n| the `hub` dies | it lives |\n| the hub dies | twice |\n" +
	"| a [broker](x.md) | goes |\n\n## Promises\n\n- **Each one** is\n  kept. Always.\n- Eachone is not.\n\n```\n- no item\n| no | row |\n```\n\n" +
	"## Prose\n\nIt goes on. `flotilla`\nends. It (here) says 1.5 s, i.e. little: all of it.\n"

// TestDocumentsAreReadAsClaims reads each kind of claim, and nothing else, with its line.
func TestDocumentsAreReadAsClaims(t *testing.T) {
	row := func(line int, text string) documented.Claim {
		return documented.Claim{Line: line, Text: text, Row: true}
	}
	require.Equal(t, []documented.Section{
		{Heading: "A page", Prose: true, Claims: []documented.Claim{{Line: 3, Text: "Words."}, {Line: 3, Text: "More words."}}},
		{Heading: "When it breaks", Claims: []documented.Claim{row(9, "the hub dies | it lives"), row(10, "the hub dies | twice"), row(11, "a broker | goes")}},
		{Heading: "Promises", Claims: []documented.Claim{{Line: 15, Text: "Each one is kept. Always."}, {Line: 17, Text: "Eachone is not."}}},
		{Heading: "Prose", Prose: true, Claims: []documented.Claim{
			{Line: 26, Text: "It goes on."}, {Line: 26, Text: "flotilla ends."}, {Line: 27, Text: "It (here) says 1.5 s, i.e. little: all of it."},
		}},
	}, documented.Read(claiming))
}

// TestWhatIsNotShownIsNamed says of every row, item and sentence without a test where it stands and what to write, and
// of every entry without a claim or a test what is wrong with it.
func TestWhatIsNotShownIsNamed(t *testing.T) {
	const page = "docs/page.md"
	known := func(name string) error {
		if name == "a.TestA" {
			return nil
		}
		return errors.New("package a has no " + name)
	}
	here := []string{"a.TestA"}
	whole := func() *shown {
		return &shown{
			Shown: claims[[]string]{page: {
				"When it breaks": {"the hub dies | it lives": here, "the hub dies | twice": here, "a broker": here},
				"Promises":       {"Each one": here},
			}},
			Unshown: claims[string]{page: {"Promises": {"Eachone": "because"}}},
		}
	}
	for name, c := range map[string]struct {
		change func(*shown)
		says   []string
	}{
		"whole":          {func(*shown) {}, nil},
		"all of a table": {func(s *shown) { s.Shown[page]["When it breaks"] = map[string][]string{"*": here} }, nil},
		"a row":          {func(s *shown) { delete(s.Shown[page]["When it breaks"], "a broker") }, []string{"docs/page.md:11: no test"}},
		"an item":        {func(s *shown) { delete(s.Unshown[page]["Promises"], "Eachone") }, []string{"docs/page.md:17: no test"}},
		"an ending": {func(s *shown) {
			s.Shown[page]["When it breaks"] = map[string][]string{"the hub": here, "a broker": here}
		}, []string{"page.md:9: no test", "page.md:10: no test", `"the hub" any more`}},
		"two that match":  {func(s *shown) { s.Shown[page]["When it breaks"]["the hub dies"] = here }, []string{"page.md:9 is meant by several", "page.md:10 is meant by several", `"the hub dies" stands for 2 claims`}},
		"an old entry":    {func(s *shown) { s.Shown[page]["Promises"]["Nobody"] = here }, []string{`nothing begins with "Nobody" any more`}},
		"an old reason":   {func(s *shown) { s.Unshown[page]["Promises"]["Nobody"] = "because" }, []string{`nothing begins with "Nobody" any more`}},
		"no reason":       {func(s *shown) { s.Unshown[page]["Promises"]["Eachone"] = "" }, []string{`"Eachone": unshown has no reason`}},
		"an old heading":  {func(s *shown) { s.Shown[page]["Gone"] = map[string][]string{} }, []string{`has no heading "Gone"`}},
		"no test":         {func(s *shown) { s.Shown[page]["Promises"]["Each one"] = nil }, []string{`"Each one" names no test`}},
		"an unknown test": {func(s *shown) { s.Shown[page]["Promises"]["Each one"] = []string{"a.TestB"} }, []string{"package a has no a.TestB"}},
		"prose":           {func(s *shown) { s.Shown[page]["Prose"] = map[string][]string{"It goes": here, "It (here)": here} }, []string{"docs/page.md:26: no test"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := whole()
			c.change(s)
			faults := s.faults(map[string][]documented.Section{page: documented.Read(claiming)}, known)
			require.Len(t, faults, len(c.says), "%q", faults)
			for i, says := range c.says {
				require.Contains(t, faults[i], says)
			}
		})
	}
}

// TestTestsAreFound finds functions, cases and scripts, and none that is not there.
func TestTestsAreFound(t *testing.T) {
	for _, name := range []string{"tests.TestTestsAreFound", "tests.TestWhatIsNotShownIsNamed/an old heading", "tests/cli.TestClaims/2-objects", "core/rollout.TestScenarios/surge"} {
		require.NoError(t, isTest(name), name)
	}
	for name, says := range map[string]string{
		"tests.TestNobody": "package tests has no TestNobody", "tests.Nobody": "is no test", "nowhere.TestA": "package nowhere has no TestA",
		"tests/cli.TestClaims/9-objects": `neither a text nor a file "9-objects"`, "TestA": "is no test", "tests.TestTest": "has no TestTest",
	} {
		require.ErrorContains(t, isTest(name), says, name)
	}
}
