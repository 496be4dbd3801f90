// Mutants plants faults in the core, one operator, constant or branch each, and tells which of them the core's own tests
// do not see. All are planted in one build, asleep; each is woken by itself, and only the tests that reach it are run.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	number := flag.Int("n", 200, "how many mutants")
	seed := flag.Uint64("seed", 1, "which ones: equal seeds and sources give equal mutants")
	least := flag.Int("least", 85, "fail below this share of caught ones, in percent")
	under := flag.String("under", "flotilla/core/...", "packages to plant in, and whose tests are run")
	flag.Parse()
	if err := run(*number, *seed, *least, *under); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(number int, seed uint64, least int, under string) error {
	begun := time.Now()
	packages, err := load(under)
	if err != nil {
		return err
	}
	planted := choose(packages, number, seed)
	if len(planted) == 0 {
		return fmt.Errorf("nothing to change under %s", under)
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := plant(planted, dir)
	if err != nil {
		return err
	}
	tests, err := build(packages, overlay, dir)
	if err != nil {
		return err
	}
	if tests, err = follow(tests, dir); err != nil {
		return err
	}
	fmt.Printf("%d mutants planted, %d tests, ready after %s\n", len(planted), len(tests), time.Since(begun).Round(time.Second))
	survivors := hunt(planted, tests)
	report(planted, survivors, time.Since(begun))
	if caught := len(planted) - len(survivors); caught*100 < least*len(planted) {
		return fmt.Errorf("%d of %d were caught, %d %% are asked for", caught, len(planted), least)
	}
	return nil
}

func report(planted, survivors []*mutant, took time.Duration) {
	for _, m := range survivors {
		how := "no test fails"
		if !m.reached {
			how = "no test comes here"
		}
		fmt.Printf("%s: %s: %s becomes %s\n", m.place, how, m.was, m.is)
	}
	caught := len(planted) - len(survivors)
	fmt.Printf("%d of %d caught, %.1f %%, in %s\n", caught, len(planted), 100*float64(caught)/float64(len(planted)), took.Round(time.Second))
}
