// Up starts real Kubernetes clusters on this machine, says how to reach them, and ends them when it is interrupted.
// Without an argument it starts a hub and an agent beside each cluster too: `make e2e-up`. With the argument clusters
// it starts nothing else, with build it only builds the programs that clusters are made of.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"flotilla/tests/e2e/binaries"
	"flotilla/tests/e2e/lab"
)

var members = []string{"m1", "m2", "m3"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what string) error {
	if what != "" && what != "clusters" && what != "build" {
		return fmt.Errorf("found %q, expected nothing, clusters, or build", what)
	}
	programs, err := binaries.Ensure(ctx, os.Stderr)
	if err != nil || what == "build" {
		return err
	}
	return serve(ctx, programs, what == "")
}

func serve(ctx context.Context, programs binaries.Set, managed bool) (err error) {
	l, err := lab.Start(ctx, lab.Options{Binaries: programs, Clusters: members, Nodes: 3})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Err(), l.Stop()) }()
	path, lines, next := programs.Folder, []string{}, "kubectl --context m1 get nodes"
	if managed {
		f := newFleet(l)
		if err := f.start(ctx); err != nil {
			return err
		}
		path = f.path("bin") + ":" + path
		lines, next = append(lines, f.env...), "flotilla get members"
	}
	var files []string
	for _, name := range members {
		file, err := l.Cluster(name).Admin()
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	lines = append(lines, "PATH="+path+":$PATH", "KUBECONFIG="+strings.Join(files, ":"))
	fmt.Printf(`Clusters %s are ready, with 3 nodes each. Ctrl-C ends everything, and nothing of it stays.
Logs are in %s/logs.

In another terminal:

  export %s

Next: %s
`, strings.Join(members, ", "), l.Folder(), strings.Join(lines, "\n  export "), next)
	<-ctx.Done()
	return nil
}
