package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/hub/flotilla/cli/session"
)

// screen shows a run again and again: at a terminal the tree is drawn over, elsewhere the first tree
// is followed by a line for every change.
type screen struct {
	session *session.Session
	redraws bool
	lines   int    // of the drawing that is to be drawn over
	why     string // the hub could not create the run yet
	told    string
	before  []treeRow
}

func (s *screen) show(f *following, now time.Time) {
	if f.run.Status == nil {
		s.notYet(f.run.Name)
		return
	}
	rows := runTree(f.run, f.expected, now)
	switch {
	case s.redraws:
		s.draw(s.fitted(rows))
	case s.before == nil:
		s.session.Paint(s.session.States(drawTree(rows, s.session.Terminal)))
	default:
		for _, line := range changedRows(s.before, rows) {
			s.session.Printf("%s  %s\n", now.UTC().Format("15:04:05Z"), line)
		}
	}
	s.before = rows
}

// notYet says once that there is no tree yet.
func (s *screen) notYet(name string) {
	text := fmt.Sprintf("run %s: the hub has not looked at it yet\n", name)
	if s.why != "" {
		text = fmt.Sprintf("run %s: cannot be created yet: %s\n", name, s.why)
	}
	switch {
	case s.redraws:
		s.draw(text)
	case s.told != text:
		s.session.Printf("%s", text)
	}
	s.told = text
}

// draw writes over the drawing before.
func (s *screen) draw(text string) {
	if s.lines > 0 {
		s.session.Control("\033[%dA\033[J", s.lines)
	}
	s.lines = strings.Count(text, "\n")
	s.session.Printf("%s", text)
}

// fitted draws what fits the terminal: what needs no attention is folded away first, and lines are cut.
func (s *screen) fitted(rows []treeRow) string {
	columns, height := 0, 0
	if s.session.Size != nil {
		columns, height = s.session.Size()
	}
	text := drawTree(rows, true)
	for degree := foldSettled; degree < foldNothing && height > 0 && strings.Count(text, "\n") >= height; degree++ {
		text = drawTree(folded(rows, degree), true)
	}
	lines := strings.SplitAfter(text, "\n")
	if height > 2 && len(lines) > height {
		lines = append(lines[:height-2:height-2], fmt.Sprintf("… %d more lines: flotilla run status without --watch\n", len(lines)-height+1))
	}
	for i, line := range lines {
		if runes := []rune(line); columns > 1 && len(runes) > columns {
			lines[i] = string(runes[:columns-1]) + "\n"
		}
	}
	return strings.Join(lines, "")
}

// folded leaves out the rows that a degree of folding hides.
func folded(rows []treeRow, degree int) []treeRow {
	var kept []treeRow
	for i := range rows {
		if rows[i].fold == 0 || rows[i].fold > degree {
			kept = append(kept, rows[i])
		}
	}
	return kept
}

// scopesInward are the scopes of rows in the order in which their changes are told: what happened to
// members comes before what that means for those that hold them.
var scopesInward = []string{"member", "gate", "wait", "group", "stage", "run"}

// changedRows says what is in another state, or there for another reason, than before.
func changedRows(before, rows []treeRow) []string {
	type place struct{ stage, group, scope, name string }
	states := map[place]string{}
	each := func(rows []treeRow, visit func(place, *treeRow)) {
		var stage, group string
		for i := range rows {
			r := &rows[i]
			switch r.scope {
			case "stage":
				stage, group = r.name, ""
			case "group":
				group = r.name
			}
			visit(place{stage, group, r.scope, r.name}, r)
		}
	}
	key := func(r *treeRow) string { return string(r.state) + " " + r.reason }
	each(before, func(at place, r *treeRow) { states[at] = key(r) })
	var changed []*treeRow
	each(rows, func(at place, r *treeRow) {
		if states[at] != key(r) {
			changed = append(changed, r)
		}
	})
	slices.SortStableFunc(changed, func(a, b *treeRow) int {
		return cmp.Compare(slices.Index(scopesInward, a.scope), slices.Index(scopesInward, b.scope))
	})
	lines := make([]string, len(changed))
	for i, r := range changed {
		lines[i] = fmt.Sprintf("%s %s %s", r.scope, r.name, r.state)
		if r.detail != "" && (r.scope == "member" || r.scope == "gate" || r.scope == "run") {
			lines[i] += ": " + r.detail
		}
	}
	return lines
}
