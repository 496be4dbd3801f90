package tests

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/tests/documented"
)

// shownFile says which tests show what the documents claim.
const shownFile = "testdata/shown.yaml"

// claims are by document, by heading, and by the first words of each: the first cell of a row, or the first words of
// an item or of a sentence.
type claims[T any] map[string]map[string]map[string]T

type shown struct {
	// Shown are the tests of each, as package/path.TestName, or with the name of a case or script: package/path.TestName/case.
	// "*" stands for all that is below a heading.
	Shown claims[[]string] `json:"shown"`
	// Unshown says why no test can.
	Unshown claims[string] `json:"unshown"`
}

// TestEachClaimIsShownByATest finds, for each row of a table and each item of a list in the documents of shown.yaml,
// tests that are there and show it. Sections of prose are held to the same, sentence by sentence, when shown.yaml
// has their heading.
func TestEachClaimIsShownByATest(t *testing.T) {
	text, err := os.ReadFile(shownFile)
	require.NoError(t, err)
	var s shown
	require.NoError(t, yaml.UnmarshalStrict(text, &s))
	documents := map[string][]documented.Section{}
	for path := range s.Shown {
		documents[path] = documented.Sections(t, filepath.Join("..", path))
	}
	for _, fault := range s.faults(documents, isTest) {
		t.Error(fault)
	}
}

// faults is what is wrong between documents and the tests that are named for them.
func (s *shown) faults(documents map[string][]documented.Section, isTest func(string) error) []string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(s.Shown)) {
		headings := map[string]bool{}
		for _, section := range documents[path] {
			if headings[section.Heading] {
				all = append(all, fmt.Sprintf("%s has the heading %q twice; shown.yaml needs to tell them apart", path, section.Heading))
			}
			headings[section.Heading] = true
			all = append(all, s.sectionFaults(path, section, isTest)...)
		}
		for _, heading := range slices.Sorted(maps.Keys(s.Shown[path])) {
			if !headings[heading] {
				all = append(all, fmt.Sprintf("tests/%s: %s has no heading %q any more", shownFile, path, heading))
			}
		}
	}
	return append(all, s.unshownFaults(documents)...)
}

// unshownFaults is what is wrong with the reasons for which nothing shows a claim.
func (s *shown) unshownFaults(documents map[string][]documented.Section) []string {
	var all []string
	for path, headings := range s.Unshown {
		for heading, reasons := range headings {
			for key, reason := range reasons {
				if !slices.ContainsFunc(claimsOf(documents[path], heading), func(c documented.Claim) bool { return c.Is(key) }) {
					all = append(all, goneFault(path, heading, key))
				}
				if reason == "" {
					all = append(all, fmt.Sprintf("tests/%s: %s, %s: %q: unshown has no reason", shownFile, path, heading, key))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func claimsOf(sections []documented.Section, heading string) []documented.Claim {
	for _, section := range sections {
		if section.Heading == heading {
			return section.Claims
		}
	}
	return nil
}

func (s *shown) sectionFaults(path string, section documented.Section, isTest func(string) error) []string {
	var all []string
	entries, listed := s.Shown[path][section.Heading]
	if section.Prose && !listed {
		return nil
	}
	met := map[string]int{}
	for _, claim := range section.Claims {
		var keys []string
		for key := range entries {
			if key == "*" || claim.Is(key) {
				keys = append(keys, key)
				met[key]++
			}
		}
		for key := range s.Unshown[path][section.Heading] {
			if claim.Is(key) {
				keys = append(keys, key+" (unshown)")
			}
		}
		switch slices.Sort(keys); {
		case len(keys) == 0:
			all = append(all, missingFault(path, section, claim))
		case len(keys) > 1:
			all = append(all, fmt.Sprintf("tests/%s: %s:%d is meant by several entries: %s", shownFile, path, claim.Line, strings.Join(keys, "; ")))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if met[key] == 0 {
			all = append(all, goneFault(path, section.Heading, key))
		}
		if met[key] > 1 && key != "*" {
			all = append(all, fmt.Sprintf("tests/%s: %s, %s: %q stands for %d claims: write more of their first words, or more cells parted by \" | \"",
				shownFile, path, section.Heading, key, met[key]))
		}
		if len(entries[key]) == 0 {
			all = append(all, fmt.Sprintf("tests/%s: %s, %s: %q names no test", shownFile, path, section.Heading, key))
		}
		for _, test := range entries[key] {
			if err := isTest(test); err != nil {
				all = append(all, fmt.Sprintf("tests/%s: %s, %s: %q: %v", shownFile, path, section.Heading, key, err))
			}
		}
	}
	return all
}

func goneFault(path, heading, key string) string {
	return fmt.Sprintf("tests/%s: %s, %s: nothing begins with %q any more: take the entry away, or write how it begins now", shownFile, path, heading, key)
}

// missingFault says what to write, and where.
func missingFault(path string, section documented.Section, claim documented.Claim) string {
	key, _, _ := strings.Cut(claim.Text, " | ")
	if !claim.Row {
		words := strings.Fields(claim.Text)
		key = strings.TrimRight(strings.Join(words[:min(6, len(words))], " "), ".,:;")
	}
	if strings.ContainsAny(key, ":#\"'`{}[],&*!|>%@") {
		key = strconv.Quote(key)
	}
	return fmt.Sprintf(`%s:%d: no test is named that shows this claim:
    %s
  Find the test that fails when it is not so, or write one (a script in tests/cli/testdata/claims is the shortest); mend the claim if it is false.
  Then add to tests/%s, below shown:
    %s:
      %s:
        %s: [PACKAGE/PATH.TestName]
  with /CASE behind the name where one case of a table or one script shows it.`, path, claim.Line, claim.Text, shownFile, path, section.Heading, key)
}
