package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
)

// mutant is one place, as it is and as it becomes when the mutant is awake.
type mutant struct {
	number   int
	in       *source
	from, to int    // the text that is replaced, by offset
	code     string // what replaces it, with number where the mutant's own stands
	place    string // file:line
	was, is  string
	reached  bool
}

// number stands for that of a mutant in its code, and in no source.
const number = "\x00"

// choose takes mutants at random from all that can be, no two of which overlap.
func choose(units []*unit, most int, seed uint64) []*mutant {
	var all []*mutant
	for _, u := range units {
		if !u.built {
			continue
		}
		for _, f := range u.files {
			all = append(all, sites(u, f)...)
		}
	}
	random := rand.New(rand.NewPCG(seed, seed))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var chosen []*mutant
	for _, m := range all {
		overlaps := func(o *mutant) bool { return o.in == m.in && o.from < m.to && m.from < o.to }
		if len(chosen) == most {
			break
		}
		if !slices.ContainsFunc(chosen, overlaps) {
			m.number = len(chosen) + 1
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// finder collects the mutants of a file.
type finder struct {
	*unit
	*source
	found []*mutant
}

// sites are all mutants of a file. What has to be constant is left alone.
func sites(u *unit, f *source) []*mutant {
	s := &finder{unit: u, source: f}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST && n.Tok != token.IMPORT
		case *ast.ArrayType:
			return false
		case *ast.CaseClause:
			for _, inner := range n.Body {
				s.found = append(s.found, within(u, f, inner)...)
			}
			return false
		case *ast.IfStmt:
			s.branch(n.Cond)
		case *ast.BinaryExpr:
			s.operator(n)
		case *ast.BasicLit:
			s.constant(n)
		case *ast.Ident:
			s.truth(n)
		}
		return true
	})
	return s.found
}

// within are the mutants of a statement of a case.
func within(u *unit, f *source, statement ast.Stmt) []*mutant {
	return sites(u, &source{name: f.name, text: f.text, set: f.set, tree: &ast.File{
		Name: f.tree.Name, Decls: []ast.Decl{&ast.FuncDecl{Name: f.tree.Name, Type: &ast.FuncType{}, Body: &ast.BlockStmt{List: []ast.Stmt{statement}}}},
	}})
}

func (s *finder) add(n ast.Node, code, is string) {
	at := s.set.Position(n.Pos())
	to := s.set.Position(n.End()).Offset
	s.found = append(s.found, &mutant{
		in: s.source, from: at.Offset, to: to, code: code, was: string(s.text[at.Offset:to]), is: is,
		place: fmt.Sprintf("%s/%s:%d", filepath.Base(s.dir), filepath.Base(s.name), at.Line),
	})
}

func (s *finder) of(n ast.Node) string {
	return string(s.text[s.set.Position(n.Pos()).Offset:s.set.Position(n.End()).Offset])
}

// branch takes the other way.
func (s *finder) branch(condition ast.Expr) {
	text := s.of(condition)
	s.add(condition, "mutant.On("+number+") != ("+text+")", "!("+text+")")
}

var others = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+",
}

func (s *finder) operator(e *ast.BinaryExpr) {
	other, known := others[e.Op]
	kind, basic := s.info.Types[e].Type.Underlying().(*types.Basic)
	if !known || !basic || s.info.Types[e].Value != nil {
		return
	}
	is := s.of(e.X) + " " + other + " " + s.of(e.Y)
	switch {
	case kind.Info()&types.IsBoolean != 0 && types.Identical(types.Default(s.info.Types[e].Type), types.Typ[types.Bool]):
		s.add(e, "(!mutant.On("+number+") && ("+s.of(e)+") || mutant.On("+number+") && ("+is+"))", is)
	case kind.Info()&types.IsNumeric != 0 && plain(e):
		s.add(e, "mutant.Pick("+number+", "+s.of(e)+", "+is+")", is)
	}
}

// plain reports whether an expression can be worked out twice.
func plain(e ast.Expr) bool {
	calls := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		calls = calls || call
		return !calls
	})
	return !calls
}

// constant counts one more.
func (s *finder) constant(l *ast.BasicLit) {
	kind, basic := s.info.Types[l].Type.(*types.Basic)
	n, err := strconv.Atoi(l.Value)
	if l.Kind != token.INT || !basic || err != nil {
		return
	}
	if kind.Info()&types.IsUntyped != 0 || kind.Info()&types.IsNumeric == 0 {
		return
	}
	is := strconv.Itoa(n + 1)
	s.add(l, "mutant.Pick["+kind.Name()+"]("+number+", "+l.Value+", "+is+")", is)
}

// truth makes true of false.
func (s *finder) truth(i *ast.Ident) {
	if s.info.Uses[i] != types.Universe.Lookup(i.Name) || !types.Identical(types.Default(s.info.Types[i].Type), types.Typ[types.Bool]) {
		return
	}
	switch i.Name {
	case "true":
		s.add(i, "!mutant.On("+number+")", "false")
	case "false":
		s.add(i, "mutant.On("+number+")", "true")
	}
}
