package cli

import (
	"fmt"
	"slices"
	"strings"
)

// contextLines is how many unchanged lines a diff shows around changes.
const contextLines = 3

// edit is one line of a diff: ' ' in both, '-' only before, '+' only after.
type edit struct {
	mark byte
	line string
}

// unifiedDiff is the unified diff of two texts, empty when they are equal.
func unifiedDiff(name, before, after string) string {
	if before == after {
		return ""
	}
	edits := diffLines(splitLines(before), splitLines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- live/%s\n+++ applied/%s\n", name, name)
	for _, h := range hunks(edits) {
		writeHunk(&b, edits, h)
	}
	return b.String()
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// diffLines finds a longest common subsequence of lines; what both texts begin and end with is cut
// off first, so that the table stays small for small changes.
func diffLines(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var edits []edit
	for _, line := range a[:head] {
		edits = append(edits, edit{' ', line})
	}
	edits = append(edits, diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail:] {
		edits = append(edits, edit{' ', line})
	}
	return edits
}

func diffMiddle(a, b []string) []edit {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, before := range slices.Backward(a) {
		for j, after := range slices.Backward(b) {
			if before == after {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var edits []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}

// hunk is a range of edits that is shown together.
type hunk struct{ from, to int }

func hunks(edits []edit) []hunk {
	var found []hunk
	for i := range edits {
		if edits[i].mark == ' ' {
			continue
		}
		from, to := max(0, i-contextLines), min(len(edits), i+contextLines+1)
		if last := len(found) - 1; last >= 0 && found[last].to >= from {
			found[last].to = to
			continue
		}
		found = append(found, hunk{from, to})
	}
	return found
}

func writeHunk(b *strings.Builder, edits []edit, h hunk) {
	oldAt, newAt := 1, 1
	for _, e := range edits[:h.from] {
		if e.mark != '+' {
			oldAt++
		}
		if e.mark != '-' {
			newAt++
		}
	}
	oldN, newN := 0, 0
	for _, e := range edits[h.from:h.to] {
		if e.mark != '+' {
			oldN++
		}
		if e.mark != '-' {
			newN++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldAt, oldN, newAt, newN)
	for _, e := range edits[h.from:h.to] {
		fmt.Fprintf(b, "%c%s\n", e.mark, e.line)
	}
}
