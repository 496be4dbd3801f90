package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// test is one test of a built binary.
type test struct {
	binary, dir, name string
	took              time.Duration
	reaches           map[int]bool
}

// build builds the tests of every package with all mutants in it, and lists them.
func build(units []*unit, overlay, dir string) ([]*test, error) {
	var tests []*test
	for i, u := range units {
		if !u.tested {
			continue
		}
		binary := filepath.Join(dir, strconv.Itoa(i)+".test")
		if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, u.path).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w\n%s", u.path, err, out)
		}
		list := exec.Command(binary, "-test.list", "^(Test|Fuzz)")
		list.Dir = u.dir
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the tests of %s: %w", u.path, err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			tests = append(tests, &test{binary: binary, dir: u.dir, name: name, reaches: map[int]bool{}})
		}
	}
	return tests, nil
}

// each does something for all of a list, as many at once as there are processors.
func each[T any](list []T, do func(int, T)) {
	var group sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range work {
				do(i, list[i])
			}
		})
	}
	for i := range list {
		work <- i
	}
	close(work)
	group.Wait()
}

// follow runs every test while all mutants sleep, and finds out which it reaches; those that reach none are left out.
func follow(tests []*test, dir string) ([]*test, error) {
	faults := make([]error, len(tests))
	each(tests, func(i int, t *test) {
		told := filepath.Join(dir, fmt.Sprintf("reached-%d", i))
		begun := time.Now()
		passed, out := t.run("^"+t.name+"$", time.Hour, "MUTANTS_REACHED="+told)
		t.took = time.Since(begun)
		if !passed {
			faults[i] = fmt.Errorf("%s fails while all mutants sleep\n%s", t.name, out)
			return
		}
		text, err := os.ReadFile(told)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			faults[i] = err
		}
		for line := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(line)
			faults[i] = errors.Join(faults[i], err)
			t.reaches[n] = true
		}
	})
	return slices.DeleteFunc(tests, func(t *test) bool { return len(t.reaches) == 0 }), errors.Join(faults...)
}

// run runs tests of the binary and says whether they passed in time.
func (t *test) run(names string, limit time.Duration, env string) (bool, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, t.binary, "-test.run", names, "-test.failfast")
	command.Dir, command.Env = t.dir, append(os.Environ(), env)
	out, err := command.CombinedOutput()
	return err == nil, out
}

// hunt wakes one mutant after the other, and returns those that no test sees.
func hunt(planted []*mutant, tests []*test) []*mutant {
	slices.SortStableFunc(tests, func(a, b *test) int { return int(a.took - b.took) })
	survived := make([]bool, len(planted))
	each(planted, func(i int, m *mutant) { survived[i] = !m.seen(tests) })
	var out []*mutant
	for i, m := range planted {
		if survived[i] {
			out = append(out, m)
		}
	}
	return out
}

// atOnce bounds how long the tests take that are run in one process: the quick ones of a binary go together.
const atOnce = 2 * time.Second

// seen runs the tests that reach a mutant, the quick ones first, until one fails. One that does not end has failed.
func (m *mutant) seen(tests []*test) bool {
	var batch []*test
	var took time.Duration
	flush := func() bool {
		defer func() { batch, took = nil, 0 }()
		if len(batch) == 0 {
			return false
		}
		names := make([]string, len(batch))
		for i, t := range batch {
			names[i] = t.name
		}
		passed, _ := batch[0].run("^("+strings.Join(names, "|")+")$", 10*took+10*time.Second, fmt.Sprintf("MUTANT=%d", m.number))
		return !passed
	}
	for _, binary := range binaries(tests, filepath.Dir(m.in.name)) {
		for _, t := range tests {
			if t.binary != binary || !t.reaches[m.number] {
				continue
			}
			m.reached = true
			if took+t.took > atOnce && flush() {
				return true
			}
			batch, took = append(batch, t), took+t.took
		}
		if flush() {
			return true
		}
	}
	return false
}

// binaries are those of tests, first those of a folder.
func binaries(tests []*test, first string) []string {
	var out []string
	for _, t := range tests {
		switch {
		case slices.Contains(out, t.binary):
		case t.dir == first:
			out = slices.Insert(out, 0, t.binary)
		default:
			out = append(out, t.binary)
		}
	}
	return out
}
