package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	wide                                    []wide
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
}

// above names what of a package is above a bound: "flotilla/hub/page lines", "flotilla/hub/page.deed".
func (c *counts) above(pkg string) (names []string) {
	if c.lines > mostLines {
		names = append(names, pkg+" lines")
	}
	if c.files > mostFiles {
		names = append(names, pkg+" files")
	}
	for _, s := range c.wide {
		names = append(names, s.name)
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

// syntax counts lines of functions, and finds structs above the bound.
func (c *counts) syntax(set *token.FileSet, file *ast.File, pkg string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.functions = append(c.functions, set.Position(n.End()).Line-set.Position(n.Pos()).Line+1)
		case *ast.TypeSpec:
			if s, is := n.Type.(*ast.StructType); is && s.Fields.NumFields() > mostFields {
				c.wide = append(c.wide, wide{pkg + "." + n.Name.Name, s.Fields.NumFields()})
			}
		}
		return true
	})
}
