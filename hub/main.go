// Command hub decides and commands: it places workloads on the members of a fleet.
//
//	hub --dev
//	hub --config hub.yaml --data /var/lib/flotilla
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "time/tzdata" // zones of maintenance windows, wherever the hub runs

	_ "golang.org/x/crypto/x509roots/fallback" // authorities, in images that hold nothing else

	"flotilla/hub/hubd"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if <-signals == syscall.SIGTERM {
			cancel(hubd.ErrLameDuck)
		}
		cancel(context.Canceled)
		<-signals
		os.Exit(1)
	}()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "hub:", err)
		os.Exit(1)
	}
}
