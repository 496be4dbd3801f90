// Command flotilla is the command line of a Flotilla hub.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"flotilla/hub/flotilla/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], cli.OSEnvironment())
	stop()
	os.Exit(code)
}
