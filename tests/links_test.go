package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile("(?m)^#+ (.+)$")
)

// TestLinksOfTheDocumentsLead follows every link within the repository to its file and its heading.
func TestLinksOfTheDocumentsLead(t *testing.T) {
	followed := 0
	for path := range writings(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			followed++
			file, anchor, _ := strings.Cut(found[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s leads to %s: %v", path, found[1], err)
				continue
			}
			if anchor == "" {
				continue
			}
			body, err := os.ReadFile(target)
			require.NoError(t, err)
			assert.Contains(t, anchors(string(body)), anchor, "%s leads to %s", path, found[1])
		}
	}
	require.Greater(t, followed, 50)
}

// anchors are the names by which headings of a document are linked to.
func anchors(text string) (names []string) {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(found[1]))
		names = append(names, name)
	}
	return names
}
