// Command scale measures fleets of a thousand members: a hub with its server in one process, whole agents in another, each
// with a connection, a folder and a member in memory of its own, and itself the client that applies and waits until it sees
// everything available. It counts processor time, allocations, messages and bytes a delivery, does the same with NATS alone,
// and writes what it found as JSON, tables and a picture. docs/benchmarks.md says how to read them; scenarios/ holds what
// fleets are put through. Its tests hold bars on counts, never on times.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

type options struct {
	only, folder, out, profiles string
	scale                       float64
	members, runs               int
	raw                         bool
}

func main() {
	if played, err := play(); played {
		if err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.only, "only", "", "scenarios to run, comma separated; all when empty")
	flag.StringVar(&o.folder, "folder", os.TempDir(), "where hub and agents keep their folders: on a disk")
	flag.StringVar(&o.out, "out", "", "folder to write fleet.json, fleet.md and fleet.svg into; none when empty")
	flag.StringVar(&o.profiles, "profiles", "", "folder to keep profiles of processor time in, of hub and agents in every step; none when empty")
	flag.Float64Var(&o.scale, "scale", 1, "part of the members and placements of each scenario")
	flag.IntVar(&o.members, "members", 0, "most members of a scenario; as many as it says when 0")
	flag.IntVar(&o.runs, "runs", 1, "passes of all scenarios; tables hold medians")
	flag.BoolVar(&o.raw, "raw", true, "measure NATS alone beside")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	for i := range chosen {
		chosen[i] = chosen[i].scaled(o.scale, o.members)
	}
	report := Report{Machine: thisMachine(), Scale: o.scale, MostMembers: o.members}
	p := pass{folder: o.folder, raw: o.raw, profiles: o.profiles, out: os.Stdout}
	for range o.runs {
		measured, err := p.run(ctx, chosen)
		report.Runs = append(report.Runs, measured)
		if err != nil {
			fmt.Println("\n" + report.tables())
			return err
		}
	}
	fmt.Println("\n" + report.tables())
	if o.out == "" {
		return nil
	}
	return report.write(o.out)
}

// check names every flag that is wrong.
func (o options) check() error {
	var wrong []error
	if !(o.scale > 0 && o.scale <= 1) { // not a number neither
		wrong = append(wrong, fmt.Errorf("-scale: found %g, expected more than 0 and at most 1", o.scale))
	}
	if o.members != 0 && o.members < leastMembers {
		wrong = append(wrong, fmt.Errorf("-members: found %d, expected %d or more, or 0", o.members, leastMembers))
	}
	if o.runs < 1 {
		wrong = append(wrong, fmt.Errorf("-runs: found %d, expected 1 or more", o.runs))
	}
	return errors.Join(wrong...)
}

// choose finds scenarios by name, all of them when none is named.
func choose(names string) ([]Scenario, error) {
	all, err := scenarios()
	if err != nil {
		return nil, err
	}
	known := slices.Sorted(maps.Keys(all))
	wanted := known
	if names != "" {
		wanted = strings.Split(names, ",")
	}
	var chosen []Scenario
	for _, name := range wanted {
		s, found := all[name]
		if !found {
			return nil, fmt.Errorf("-only: found %q, expected some of %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
}
