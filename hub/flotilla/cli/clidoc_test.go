package cli

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/show"
)

// inTicks are the words of a text that are typed or printed.
var inTicks = regexp.MustCompile("`([^`]+)`")

func ticked(text string) []string {
	var words []string
	for _, found := range inTicks.FindAllStringSubmatch(text, -1) {
		words = append(words, found[1])
	}
	return words
}

// cliDocument is the part of docs/cli.md that nobody generates.
func cliDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(referencePath)
	require.NoError(t, err)
	head, _, _ := strings.Cut(string(text), referenceMark)
	return head
}

// TestNamesOfTheDocumentAreThoseOfTheProgram reads the words of each kind of Flotilla's out of docs/cli.md: each
// finds its kind, and none is left out.
func TestNamesOfTheDocumentAreThoseOfTheProgram(t *testing.T) {
	_, table, found := strings.Cut(cliDocument(t), "\n## Names\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	named := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		words := slices.DeleteFunc(ticked(cells[2]), func(word string) bool { return strings.ContainsAny(word, "-/ .") })
		for _, word := range words {
			if k, err := resource.KindByWord(word); err == nil {
				named[k.Kind] = append(named[k.Kind], word)
			} else {
				assert.Contains(t, []string{"Widget"}, word, "%s: %v", word, err)
			}
		}
	}
	for _, k := range resource.Kinds {
		if !validate.Known(k.APIVersion, k.Kind) && k.Kind != api.KindGate && !resource.OnMembers(k.Kind) {
			continue
		}
		for _, word := range append([]string{k.Plural}, k.Short...) {
			assert.Contains(t, named[k.Kind], word, "docs/cli.md leaves out a word for a %s", k.Kind)
		}
	}
}

// columnsSentence is about the columns of one kind, "NAME STATE; wide adds TAINTS and AGENT".
var columnsSentence = regexp.MustCompile("Columns of `get (\\w+)`: ([A-Z/ -]+); wide adds ([^.;]+)[.;]")

// TestColumnsOfTheDocumentAreThoseOfTheTables compares heads, in their order.
func TestColumnsOfTheDocumentAreThoseOfTheTables(t *testing.T) {
	sentences := columnsSentence.FindAllStringSubmatch(strings.ReplaceAll(cliDocument(t), "\n", " "), -1)
	require.Len(t, sentences, 8)
	word := regexp.MustCompile(`[A-Z][A-Z/-]+`)
	for _, sentence := range sentences {
		k, err := resource.KindByWord(sentence[1])
		require.NoError(t, err)
		var usual, wide []string
		for _, c := range show.ColumnsOf(k.Kind, &unstructured.Unstructured{}, time.Time{}) {
			if head := strings.ToUpper(c.Name); c.Wide {
				wide = append(wide, head)
			} else {
				usual = append(usual, head)
			}
		}
		assert.Equal(t, usual, strings.Fields(sentence[2]), "columns of get %s", sentence[1])
		assert.Equal(t, wide, word.FindAllString(sentence[3], -1), "columns of get %s -o wide", sentence[1])
	}
}

// TestFieldsOfTheJSONDocumentAreThere finds every field that a table of docs/json.md names in what the
// commands print: nothing is promised that nobody writes.
func TestFieldsOfTheJSONDocumentAreThere(t *testing.T) {
	text, err := os.ReadFile("../../../docs/json.md")
	require.NoError(t, err)
	known := map[string]bool{"metadata": true, "spec": true, "status": true}
	for _, v := range append(slices.Clone(promised), api.HistoryResponse{}, api.PlacementStatus{}, api.MemberClusterStatus{}) {
		for _, field := range jsonFields(reflect.TypeOf(v)) {
			known[field] = true
		}
	}
	checked := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, path := range ticked(cells[1]) {
			for name := range strings.SplitSeq(path, ".") {
				checked++
				assert.True(t, known[strings.TrimSuffix(name, "[]")], "docs/json.md promises %s", path)
			}
		}
	}
	assert.Greater(t, checked, 100)
}
