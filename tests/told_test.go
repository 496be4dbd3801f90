package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/validate"
	"flotilla/tests/documented"
)

// computed are the reasons of events that no text or constant spells, by the package and the expression that makes
// them, as "type reason".
var computed = map[string][]string{
	"draft strings.ToUpper(result.Action[:1]) + result.Action[1:]": {"Normal Created", "Normal Configured"},
	"status c.Reason": {
		"Warning SchedulingPolicyUnfulfilled", "Warning InvalidResourceSelectors", "Warning ProgressDeadlineExceeded",
		"Normal RolloutProgressing", "Normal RolloutCompleted",
	},
	"status a.Reason": {"Warning ApplyFailed", "Warning DriftFound", "Warning DriftCorrected", "Warning DriftFought", "Warning WithdrawalUnconfirmed"},
	"status t.event": {
		"Normal PlacementRolloutStarted", "Normal PlacementOverriddenSucceeded", "Normal PlacementWorkSynchronized", "Normal PlacementApplied", "Normal PlacementAvailable",
		"Normal PlacementDiffReported",
	},
	`liveness "Member" + string(r.State)`:         {"Normal MemberJoining", "Normal MemberReady", "Normal MemberLeaving", "Warning MemberNotReady", "Warning MemberUnknown"},
	`runner "Trigger" + status.LastTriggerStatus`: {"Normal TriggerSucceeded", "Warning TriggerFailed"},
	"runner refusal.Code":                         {"Warning a [refusal](updates.md#why-an-operation-is-refused)"},
	"stage string(e.To)":                          {"Normal a [state](updates.md#states)", "Warning a [state](updates.md#states)"},
	"stage e.Reason":                              {"Normal a [reason](updates.md#reason-codes-of-members)", "Warning a [reason](updates.md#reason-codes-of-members)"},
}

// TestEventsOfTheDocumentAreThoseOfTheProgram reads every event out of the sources that record one: each stands with
// its type in the table of docs/notifications.md, and no other does.
func TestEventsOfTheDocumentAreThoseOfTheProgram(t *testing.T) {
	var written []string
	for _, row := range documented.Table(t, "../docs/notifications.md", "## What there is to tell") {
		for kind := range strings.SplitSeq(row[2], ", ") {
			for reason := range strings.SplitSeq(row[1], ", ") {
				written = append(written, kind+" "+reason)
			}
		}
	}
	require.Equal(t, newSources(t).events(), sorted(written))
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// sources are the packages of core, bus and hub, read.
type sources struct {
	t         *testing.T
	files     *token.FileSet
	constants map[string]string // "package.name" and their texts
	functions map[string][]*source
	imported  map[string]map[string]bool // packages by those that they import
	met       map[string]bool            // of computed
	found     []string
}

// source is a function, or the value of a variable that is one, with all around it.
type source struct {
	pkg, name string
	params    []string
	body      ast.Node
}

func newSources(t *testing.T) *sources {
	t.Helper()
	s := &sources{t: t, files: token.NewFileSet(), constants: map[string]string{}, functions: map[string][]*source{}, imported: map[string]map[string]bool{}, met: map[string]bool{}}
	for _, root := range []string{"../core", "../bus", "../hub"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				s.read(path)
			}
			return err
		}))
	}
	return s
}

func (s *sources) read(path string) {
	s.t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(s.t, err)
	file, err := parser.ParseFile(s.files, path, text, parser.SkipObjectResolution)
	require.NoError(s.t, err)
	pkg := filepath.Base(filepath.Dir(path))
	for _, i := range file.Imports {
		imported := strings.Trim(filepath.Base(i.Path.Value), `"`)
		if s.imported[imported] == nil {
			s.imported[imported] = map[string]bool{}
		}
		s.imported[imported][pkg] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					if text, ok := literal(n.Values[i]); ok {
						s.constants[pkg+"."+name.Name] = text
					}
				}
			}
		case *ast.FuncDecl:
			if n.Body != nil {
				s.add(&source{pkg: pkg, name: n.Name.Name, params: paramsOf(n.Type), body: n.Body})
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if f, ok := value.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
					s.add(&source{pkg: pkg, name: types.ExprString(n.Lhs[i]), params: paramsOf(f.Type), body: f.Body})
				}
			}
		}
		return true
	})
}

func (s *sources) add(f *source) { s.functions[f.pkg] = append(s.functions[f.pkg], f) }

func paramsOf(f *ast.FuncType) []string {
	var names []string
	for _, field := range f.Params.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

func literal(e ast.Expr) (string, bool) {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, err := strconv.Unquote(l.Value)
		return text, err == nil
	}
	return "", false
}

// events are all events, "Warning ApplyFailed".
func (s *sources) events() []string {
	for _, functions := range s.functions {
		for _, f := range functions {
			s.eventsOf(f)
		}
	}
	for expression := range computed {
		require.True(s.t, s.met[expression], "no event is computed as %s any more", expression)
	}
	return sorted(s.found)
}

// eventsOf looks at the events that a function makes, and at those that it makes of them.
func (s *sources) eventsOf(f *source) {
	made := map[string]ast.Expr{} // types of events by the variables that hold them
	ownBody(f, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if n.Type != nil && types.ExprString(n.Type) == "api.Audit" || n.Type == nil && field(n, "Object") != nil && field(n, "By") != nil {
				if reason := field(n, "Reason"); reason != nil {
					s.told(f, field(n, "Type"), reason)
				}
			}
		case *ast.AssignStmt:
			s.changed(f, n, made)
		}
	})
}

// changed looks at an event that is put into a variable, or whose reason is set, with its type or without.
func (s *sources) changed(f *source, n *ast.AssignStmt, made map[string]ast.Expr) {
	if len(n.Rhs) != len(n.Lhs) {
		return
	}
	var kind, reason, usual ast.Expr
	for i, left := range n.Lhs {
		if c, ok := n.Rhs[i].(*ast.CompositeLit); ok && c.Type != nil && types.ExprString(c.Type) == "api.Audit" {
			made[types.ExprString(left)] = field(c, "Type")
		}
		selected, ok := left.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		switch selected.Sel.Name {
		case "Type":
			kind = n.Rhs[i]
		case "Reason":
			reason, usual = n.Rhs[i], made[types.ExprString(selected.X)]
		}
	}
	if kind == nil {
		kind = usual
	}
	if reason != nil && kind != nil {
		s.told(f, kind, reason)
	}
}

// ownBody visits a function without the functions that are values of its variables.
func ownBody(f *source, visit func(ast.Node)) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

func field(c *ast.CompositeLit, name string) ast.Expr {
	for _, e := range c.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok && types.ExprString(pair.Key) == name {
			return pair.Value
		}
	}
	return nil
}

// told notes an event of a type for a reason. What a function is given is looked up where it is called.
func (s *sources) told(f *source, kind, reason ast.Expr) {
	k, r := slices.Index(f.params, nameOf(kind)), slices.Index(f.params, nameOf(reason))
	if k < 0 && r < 0 {
		s.found = append(s.found, s.texts(f, kind, reason)...)
		return
	}
	for _, caller := range s.callers(f) {
		ast.Inspect(caller.body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || called(call) != f.name || len(call.Args) < len(f.params) || !innermost(s, caller, call) {
				return true
			}
			theirs, why := kind, reason
			if k >= 0 {
				theirs = call.Args[k]
			}
			if r >= 0 {
				why = call.Args[r]
			}
			s.told(caller, theirs, why)
			return true
		})
	}
}

// callers are the functions that may call one: those of its package, and of packages that import it if it is exported.
func (s *sources) callers(f *source) []*source {
	found := slices.Clone(s.functions[f.pkg])
	if ast.IsExported(f.name) {
		for pkg := range s.imported[f.pkg] {
			if pkg != f.pkg {
				found = append(found, s.functions[pkg]...)
			}
		}
	}
	return found
}

// innermost says that no function within the caller has the call.
func innermost(s *sources, caller *source, call *ast.CallExpr) bool {
	for _, f := range s.functions[caller.pkg] {
		within := f.body.Pos() <= call.Pos() && call.End() <= f.body.End()
		if f != caller && within && caller.body.Pos() < f.body.Pos() && f.body.End() < caller.body.End() {
			return false
		}
	}
	return true
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func nameOf(e ast.Expr) string {
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// texts are the types and reasons that two expressions may have.
func (s *sources) texts(f *source, kind, reason ast.Expr) []string {
	expression := f.pkg + " " + types.ExprString(reason)
	if known, ok := computed[expression]; ok {
		s.met[expression] = true
		return known
	}
	var all []string
	for _, k := range s.values(f, kind) {
		if k != "Normal" && k != "Warning" { // a condition
			continue
		}
		for _, r := range s.values(f, reason) {
			all = append(all, k+" "+r)
		}
	}
	return all
}

// values are the texts that an expression may have: its own, that of a constant, or those that are put into a variable.
func (s *sources) values(f *source, e ast.Expr) []string {
	if text, ok := literal(e); ok {
		return []string{text}
	}
	name := types.ExprString(e)
	if !strings.Contains(name, ".") {
		name = f.pkg + "." + name
	}
	if text, ok := s.constants[name]; ok {
		return []string{text}
	}
	var all []string
	ownBody(f, func(n ast.Node) {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != len(assign.Rhs) {
			return
		}
		for i, left := range assign.Lhs {
			if nameOf(e) != "" && nameOf(left) == nameOf(e) {
				all = append(all, s.values(f, assign.Rhs[i])...)
			}
		}
	})
	require.NotEmpty(s.t, all, "%s: the reason %s of an event is computed; list what it may be", f.pkg+"."+f.name, types.ExprString(e))
	return all
}

// TestNotificationsOfEveryKind finds the kinds of objects that events are about in the document, and a hub's
// configuration that takes each. What becomes of notifications is told to no notification.
func TestNotificationsOfEveryKind(t *testing.T) {
	row := documented.Row(t, "../docs/notifications.md", "| `when.objects`")
	s := newSources(t)
	s.read("../subjects/keys.go")
	s.read("../core/api/audit_object.go")
	kinds := map[string]bool{}
	for name, kind := range s.constants {
		// Events about streams and their servers go to those who ask for all.
		if (strings.HasPrefix(name, "subjects.Kind") || strings.HasPrefix(name, "api.Audit")) && name != "api.AuditStream" && name != "api.AuditServer" {
			kinds[kind] = true
		}
	}
	for _, k := range validate.Kinds() {
		if k.Token != "" {
			kinds[k.Token] = true
		}
	}
	for kind := range kinds {
		require.Regexp(t, `\b`+kind+`\b`, row)
		_, err := configs.LoadHub("hub.yaml", fmt.Appendf(nil, "notifications: [{name: a, when: {objects: [%s/*]}, command: {argv: [/bin/true]}}]", kind))
		require.NoError(t, err)
	}
	require.Greater(t, len(kinds), 10)
	_, err := configs.LoadHub("hub.yaml", []byte("notifications: [{name: a, when: {objects: [notification/*]}, command: {argv: [/bin/true]}}]"))
	require.ErrorContains(t, err, "notification/*")
}
