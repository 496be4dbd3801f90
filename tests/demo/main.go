// Command demo runs a fleet of eight members in memory through its paces: it applies every example,
// waits until each placement has converged, explains one, rolls out a changed image, lets a member fail
// and come back, deletes, brings a placement to the fleet by a staged run with an approval, upgrades the
// fleet by a run with stages, groups, a gate and a window, and consolidates the nodes of a member. With
// --rollouts it shows rollouts that somebody steers instead. Each step is checked through the hub's service;
// the first miss ends the demo with exit code 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"flotilla/configs/terminal"
)

func main() {
	var o options
	flag.DurationVar(&o.patience, "patience", time.Minute, "how long one step may take")
	flag.BoolVar(&o.neverHeal, "never-heal", false, "leave the failing member broken: the demo must then end with exit code 1")
	flag.BoolVar(&o.neverCheck, "never-check", false, "leave out the check under which a change goes back: the demo of rollouts must then end with exit code 1")
	flag.BoolVar(&o.rollouts, "rollouts", false, "show rollouts that somebody steers, in place of everything")
	flag.BoolVar(&o.verbose, "v", false, "show the log of hub and agents")
	flag.Parse()
	var err error
	if o.now, err = terminal.Clock(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo: MISSED:", err)
		os.Exit(1)
	}
	fmt.Println("\ndemo: every step was as expected")
}

type options struct {
	patience   time.Duration
	neverHeal  bool
	neverCheck bool
	rollouts   bool
	verbose    bool
	now        func() time.Time
}

func run(ctx context.Context, o options) (err error) {
	d, err := newDemo(ctx, o)
	if err != nil {
		return fmt.Errorf("starting the fleet: %w", err)
	}
	defer func() { err = errors.Join(err, d.close()) }()
	steps := d.steps()
	if o.rollouts {
		steps = d.rollouts()
	}
	for i, s := range steps {
		fmt.Printf("\n== %d. %s\n", i+1, s.title)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.title, err)
		}
	}
	return nil
}
