package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// unit is a package whose sources are changed and whose tests are run.
type unit struct {
	path, dir string
	files     []*source
	info      *types.Info
	tested    bool
	built     bool // into a program: others make what tests are made of, and decide nothing
}

type source struct {
	name string
	text []byte
	tree *ast.File
	set  *token.FileSet
}

type listed struct {
	ImportPath, Dir, Export, Name      string
	GoFiles, TestGoFiles, XTestGoFiles []string
	DepOnly                            bool
}

// load parses and checks the packages of a pattern; what they import comes from what was compiled of it.
func load(pattern string) ([]*unit, error) {
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,Name,GoFiles,TestGoFiles,XTestGoFiles,DepOnly", pattern)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	exports := map[string]string{}
	var wanted []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			wanted = append(wanted, p)
		}
	}
	built, err := programs()
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var units []*unit
	for _, p := range wanted {
		u, err := parse(p, set, from)
		if err != nil {
			return nil, err
		}
		u.built = built[p.ImportPath]
		units = append(units, u)
	}
	return units, nil
}

// programs are the packages that are built into programs.
func programs() (map[string]bool, error) {
	out, err := exec.Command("go", "list", "-deps", "./hub", "./agent", "./hub/flotilla").Output()
	if err != nil {
		return nil, fmt.Errorf("listing what programs are built of: %w", err)
	}
	built := map[string]bool{}
	for path := range strings.FieldsSeq(string(out)) {
		built[path] = true
	}
	return built, nil
}

func parse(p listed, set *token.FileSet, from types.Importer) (*unit, error) {
	u := &unit{
		path: p.ImportPath, dir: p.Dir, tested: len(p.TestGoFiles)+len(p.XTestGoFiles) > 0,
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
	}
	var trees []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		if !ast.IsGenerated(tree) {
			u.files = append(u.files, &source{path, text, tree, set})
		}
	}
	config := types.Config{Importer: from}
	if _, err := config.Check(p.ImportPath, set, trees, u.info); err != nil {
		return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
	}
	return u, nil
}
