package floors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flotilla/core/validate"
	"flotilla/subjects"
)

// bypasses are what a room could get around the table of records by, and what it asks for instead.
var bypasses = map[string]string{
	"store.TableOf": "store.Reads or store.Writes",
	"store.Put":     "the Put of store.Writes",
	"store.Delete":  "the Delete of store.Writes",
	"store.Op{":     "what store.Writes makes",
}

// given are the families that come with what makes something of them.
var given = map[string][]string{
	"holds.LocksOf":       {subjects.Locks.Prefix()},
	"placed.Bound":        {subjects.Schedules.Prefix()},
	"placed.Released":     {subjects.Releases.Prefix()},
	"placed.StagedRunsOf": {subjects.Runs.Prefix()},
	"subjects.SpecsOf":    specPrefixes(),
}

// specPrefixes are those of the specs of all kinds.
func specPrefixes() (prefixes []string) {
	for _, k := range validate.Kinds() {
		if family, kept := subjects.SpecsOf(k.Token); kept {
			prefixes = append(prefixes, family.Prefix())
		}
	}
	return prefixes
}

// TestRoomsReadAndWriteWhatTheTableOfRecordsSays: a room asks as itself, names the families that the table has it read
// or write and no other, and writes nothing but what it asked for. That it writes none which it only reads is seen to
// when the room is made.
func TestRoomsReadAndWriteWhatTheTableOfRecordsSays(t *testing.T) {
	wanted := map[subjects.Room][]string{}
	for _, r := range subjects.Records() {
		for _, room := range slices.Concat(r.Writers, r.Readers) {
			wanted[room] = append(wanted[room], r.Family.Prefix())
		}
	}
	families := familyNames(t)
	rooms := map[string]map[string]bool{}
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if !strings.HasPrefix(path, "hub/") && !strings.HasPrefix(path, "agent/") {
			continue
		}
		uses := usesOf(t, path)
		for use, instead := range bypasses {
			assert.False(t, uses[use], "%s uses %s: ask for %s", path, use, instead)
		}
		if r := ruleOf(path); strings.Count(r.under, "/") == 1 {
			path = r.under // a room of several packages
		}
		if rooms[path] == nil {
			rooms[path] = map[string]bool{}
		}
		maps.Copy(rooms[path], uses)
	}
	for path, uses := range rooms {
		room := subjects.Room(filepath.Base(path))
		var found, asked []string
		for use := range uses {
			name, isSubject := strings.CutPrefix(use, "subjects.")
			as, isAsked := strings.CutPrefix(use, "as subjects.")
			switch {
			case given[use] != nil:
				found = append(found, given[use]...)
			case isSubject && families[name] != "":
				found = append(found, families[name])
			case isAsked:
				asked = append(asked, strings.ToLower(as))
			}
		}
		if wanted[room] == nil && asked == nil {
			continue
		}
		assert.Equal(t, []string{string(room)}, asked, "%s asks as another room", path)
		assert.ElementsMatch(t, wanted[room], slices.Compact(slices.Sorted(slices.Values(found))),
			"what %s reads and writes, by the table in package subjects and in the room", path)
		delete(wanted, room)
	}
	require.Empty(t, wanted, "the table of records has rooms that are not there")
}

// familyNames are the prefixes of families by the names of their variables.
func familyNames(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, file := range parse(t, "subjects") {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 {
				return true
			}
			literal, is := spec.Values[0].(*ast.CompositeLit)
			if !is || name(literal.Type) != "Family" {
				return true
			}
			prefix := literal.Elts[0].(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value
			names[spec.Names[0].Name] = strings.Trim(prefix, `"`)
			return true
		})
	}
	require.Len(t, names, len(subjects.Records()), "families without a row in the table of records")
	return names
}

// usesOf are the names of other packages that a package uses: "store.Put", "subjects.Runs"; "store.Op{" a literal with
// fields, "as subjects.Door" an access.
func usesOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	uses := map[string]bool{}
	for _, file := range parse(t, path) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				uses[name(n)] = true
			case *ast.CompositeLit:
				if len(n.Elts) > 0 {
					uses[name(n.Type)+"{"] = true
				}
			case *ast.CallExpr:
				if f, is := n.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "As" && len(n.Args) == 1 {
					if of := name(n.Args[0]); strings.HasPrefix(of, "subjects.") {
						uses["as "+of] = true
					}
				}
			}
			return true
		})
	}
	return uses
}

// name is "Family" or "store.Op" of an expression that is one, empty for others.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if of, is := e.X.(*ast.Ident); is {
			return of.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// parse reads the files of a package that are no tests.
func parse(t *testing.T, path string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../..", path, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}
