// Up starts real Kubernetes clusters on this machine, says how to reach them, and ends them when it is interrupted:
// `make e2e-clusters`. With the argument build it only builds the programs that they are made of.
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	building := len(args) == 1 && args[0] == "build"
	if len(args) > 0 && !building {
		return fmt.Errorf("found %q, expected nothing, or build", strings.Join(args, " "))
	}
	programs, err := binaries.Ensure(ctx, os.Stderr)
	if err != nil || building {
		return err
	}
	return serve(ctx, programs)
}

func serve(ctx context.Context, programs binaries.Set) (err error) {
	names := []string{"m1", "m2", "m3"}
	l, err := lab.Start(ctx, lab.Options{Binaries: programs, Clusters: names, Nodes: 3})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Err(), l.Stop()) }()
	var files []string
	for _, name := range names {
		file, err := l.Cluster(name).Admin()
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	fmt.Printf(`Clusters %s are ready, with 3 nodes each. Ctrl-C ends them, and nothing of them stays.
Their logs are in %s/logs.

In another terminal:

  export PATH=%s:$PATH
  export KUBECONFIG=%s

Next: kubectl --context m1 get nodes
`, strings.Join(names, ", "), l.Folder(), programs.Folder, strings.Join(files, ":"))
	<-ctx.Done()
	return nil
}
