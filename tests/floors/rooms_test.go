package floors

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/documented"
)

// decides is a package of the core in a cell.
var decides = regexp.MustCompile(`\bcore/[a-z]+`)

// shared are the packages of the core that every room speaks and none decides with.
var shared = []string{"core/api", "core/phrase", "core/strict"}

// TestRoomsAskWhatTheDocumentSays holds the table of rooms against the packages: each room is there, and asks those
// packages of the core that it imports and no other.
func TestRoomsAskWhatTheDocumentSays(t *testing.T) {
	asked := map[string][]string{}
	for _, row := range documented.Table(t, "../../docs/architecture.md", "## Rooms") {
		asked[strings.Trim(row[0], "`")] = sorted(decides.FindAllString(row[2], -1))
	}
	imported := map[string][]string{}
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		r := ruleOf(path)
		if path != r.under && (r.under == "hub" || r.under == "agent") && strings.Count(path, "/") == 1 {
			require.Contains(t, asked, path, "docs/architecture.md has no row for this room")
		}
		for room := range asked {
			if under(path, room) {
				path = room // which may be of several packages
			}
		}
		for _, i := range p.Imports {
			if ours, is := strings.CutPrefix(i, module+"/"); is {
				imported[path] = append(imported[path], decides.FindAllString(ours, -1)...)
			}
		}
	}
	for path, wanted := range asked {
		require.Contains(t, imported, path, "docs/architecture.md has a room that is not there")
		require.ElementsMatch(t, sorted(imported[path]), wanted, "what %s asks of the core", path)
	}
}

func sorted(paths []string) []string {
	paths = slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(shared, path) })
	slices.Sort(paths)
	return slices.Compact(paths)
}
