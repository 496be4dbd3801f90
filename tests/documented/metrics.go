// Package documented reads out of docs/*.md what tests hold against the programs.
package documented

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// metric is one in a table, with labels behind its name, or in ticks in the second cell.
var (
	metric = regexp.MustCompile("`(flotilla_[a-z_]+)(?:\\{([a-z,]+)\\})?`")
	label  = regexp.MustCompile("`([a-z]+)`")
)

// Metrics are the labels of each metric of the tables of a document, joined by commas.
func Metrics(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `flotilla_") || len(cells) < 4 {
			continue
		}
		var labels []string
		for _, l := range label.FindAllStringSubmatch(cells[2], -1) {
			labels = append(labels, l[1])
		}
		for _, m := range metric.FindAllStringSubmatch(cells[1], -1) {
			require.NotContains(t, found, m[1], "%s has it twice", path)
			if found[m[1]] = m[2]; m[2] == "" {
				found[m[1]] = strings.Join(labels, ",")
			}
		}
	}
	require.NotEmpty(t, found, "%s has no metric", path)
	return found
}

// Row is the line of a document that begins with a text.
func Row(t *testing.T, path, begin string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, begin) {
			return line
		}
	}
	require.Fail(t, path+" has no line that begins with "+begin)
	return ""
}

// description is a prometheus.Desc as it prints itself.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", .*constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// Exported are the labels of each metric that is registered, whether it has a value now or not.
func Exported(t *testing.T, registered prometheus.Collector) map[string]string {
	t.Helper()
	all := make(chan *prometheus.Desc)
	go func() {
		defer close(all)
		registered.Describe(all)
	}()
	found := map[string]string{}
	for desc := range all {
		parts := description.FindStringSubmatch(desc.String())
		require.NotNil(t, parts, desc.String())
		labels := strings.Split(parts[3], ",")
		for constant := range strings.SplitSeq(parts[2], ",") {
			name, _, _ := strings.Cut(constant, "=")
			labels = append(labels, name)
		}
		found[parts[1]] = strings.Trim(strings.Join(labels, ","), ",")
	}
	return found
}
