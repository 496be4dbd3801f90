package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// built is a package as `go list` tells of it.
type built struct {
	Dir, ImportPath string
	GoFiles         []string
	Standard        bool
	Module          *struct{ Main bool }
}

// list lists our packages that are built into programs.
func list(programs []string) ([]built, error) {
	command := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,Standard,Module"}, programs...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var ours []built
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p built
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return ours, nil
		case err != nil:
			return nil, err
		case p.Module != nil && p.Module.Main:
			ours = append(ours, p)
		}
	}
}

// counts are what some files hold.
type counts struct {
	files, lines, written, comments, tokens int
	functions, columns                      []int
	structs                                 []structure
}

// structure is a struct, with the fields that it names itself, and the types that it embeds, by import path and name.
type structure struct {
	name     string
	fields   int
	embedded []string
}

// wide is a struct above the bound.
type wide struct {
	name   string
	fields int
}

func (c *counts) add(other counts) {
	c.files += other.files
	c.lines += other.lines
	c.written += other.written
	c.comments += other.comments
	c.tokens += other.tokens
	c.functions = append(c.functions, other.functions...)
	c.columns = append(c.columns, other.columns...)
	c.structs = append(c.structs, other.structs...)
}

// above names what of a package is above a bound: "flotilla/hub/page lines", "flotilla/hub/page.deed".
func (c *counts) above(pkg string) (names []string) {
	if c.lines > mostLines {
		names = append(names, pkg+" lines")
	}
	if c.files > mostFiles {
		names = append(names, pkg+" files")
	}
	for _, s := range c.structs {
		if s.fields+len(s.embedded) > mostFields {
			names = append(names, s.name)
		}
	}
	return names
}

func count(p built) (counts, error) {
	var all counts
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return all, err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return all, err
		}
		if ast.IsGenerated(file) {
			continue
		}
		all.files++
		all.text(text)
		all.scan(text)
		all.syntax(set, file, p.ImportPath)
	}
	return all, nil
}

// text counts lines.
func (c *counts) text(text []byte) {
	for line := range strings.Lines(string(text)) {
		c.lines++
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			c.written++
			c.columns = append(c.columns, utf8.RuneCountInString(line))
		}
	}
}

// scan counts tokens, without comments and without semicolons that nobody wrote, and lines of comments.
func (c *counts) scan(text []byte) {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", -1, len(text)), text, nil, scanner.ScanComments)
	for {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return
		case kind == token.COMMENT:
			c.comments += 1 + strings.Count(literal, "\n")
		case kind != token.SEMICOLON || literal == ";":
			c.tokens++
		}
	}
}

// syntax counts lines of functions, and finds structs.
func (c *counts) syntax(set *token.FileSet, file *ast.File, pkg string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.functions = append(c.functions, set.Position(n.End()).Line-set.Position(n.Pos()).Line+1)
		case *ast.TypeSpec:
			if s, is := n.Type.(*ast.StructType); is {
				c.structs = append(c.structs, structureOf(file, pkg, n.Name.Name, s))
			}
		}
		return true
	})
}

func structureOf(file *ast.File, pkg, name string, s *ast.StructType) structure {
	out := structure{name: pkg + "." + name}
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			out.fields += len(f.Names)
		} else {
			out.embedded = append(out.embedded, typeName(file, pkg, f.Type))
		}
	}
	return out
}

// typeName is the import path and the name of a type that is embedded, by value or by pointer.
func typeName(file *ast.File, pkg string, of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return pkg + "." + of.Name
	case *ast.StarExpr:
		return typeName(file, pkg, of.X)
	case *ast.IndexExpr:
		return typeName(file, pkg, of.X)
	case *ast.IndexListExpr:
		return typeName(file, pkg, of.X)
	case *ast.SelectorExpr:
		if from, is := of.X.(*ast.Ident); is {
			return importPath(file, from.Name) + "." + of.Sel.Name
		}
	}
	return ""
}

// importPath is that of a package as a file names it.
func importPath(file *ast.File, name string) string {
	for _, i := range file.Imports {
		is := strings.Trim(i.Path.Value, `"`)
		if i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(is) == name {
			return is
		}
	}
	return ""
}

// flattened are the structs above the bound once each embedded struct of ours counts as the fields that it has; widest first.
func flattened(structs []structure) []wide {
	known := map[string]structure{}
	for _, s := range structs {
		known[s.name] = s
	}
	var out []wide
	for _, s := range structs {
		if fields := fieldsOf(s, known); fields > mostFields {
			out = append(out, wide{s.name, fields})
		}
	}
	slices.SortFunc(out, func(a, b wide) int {
		return cmp.Or(b.fields-a.fields, strings.Compare(a.name, b.name))
	})
	return out
}

// fieldsOf counts fields. A struct embeds itself through pointers alone; known loses those on the way, so that this ends.
func fieldsOf(s structure, known map[string]structure) int {
	sum := s.fields
	for _, name := range s.embedded {
		inner, ours := known[name]
		if !ours || name == s.name {
			sum++
			continue
		}
		rest := maps.Clone(known)
		delete(rest, s.name)
		sum += fieldsOf(inner, rest)
	}
	return sum
}
