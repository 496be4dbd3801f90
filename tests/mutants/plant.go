package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// waker is the package that the changed sources ask which mutant is awake. With a file to write to it says which were asked for.
const waker = `package mutant

import (
	"os"
	"strconv"
)

var (
	awake, _ = strconv.Atoi(os.Getenv("MUTANT"))
	told     = os.Getenv("MUTANTS_REACHED")
	reached  [%d]bool
)

func On(n int) bool {
	if told != "" && !reached[n] {
		tell(n)
	}
	return n == awake
}

func tell(n int) {
	reached[n] = true
	f, err := os.OpenFile(told, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(n) + "\n"); err != nil {
		panic(err)
	}
}

func Pick[T any](n int, is, other T) T {
	if On(n) {
		return other
	}
	return is
}
`

// plant writes changed copies of sources and the overlay by which they are built in place of them.
func plant(planted []*mutant, dir string) (string, error) {
	module, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	write := func(original, text string) error {
		copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[original] = copied
		return os.WriteFile(copied, []byte(text), 0o600)
	}
	if err := write(filepath.Join(module, "core/mutant/mutant.go"), fmt.Sprintf(waker, len(planted)+1)); err != nil {
		return "", err
	}
	byFile := map[string][]*mutant{}
	for _, m := range planted {
		byFile[m.in.name] = append(byFile[m.in.name], m)
	}
	for name, of := range byFile {
		if err := write(name, changed(of)); err != nil {
			return "", err
		}
	}
	body, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, body, 0o600)
}

// changed is a source with its mutants, on the lines it had.
func changed(of []*mutant) string {
	slices.SortFunc(of, func(a, b *mutant) int { return a.from - b.from })
	text := of[0].in.text
	var b strings.Builder
	last := 0
	for _, m := range of {
		b.Write(text[last:m.from])
		b.WriteString(strings.ReplaceAll(m.code, number, strconv.Itoa(m.number)))
		last = m.to
	}
	b.Write(text[last:])
	clause := "package " + of[0].in.tree.Name.Name
	return strings.Replace(b.String(), clause+"\n", clause+`; import "flotilla/core/mutant"`+"\n", 1)
}
