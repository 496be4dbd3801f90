// Command flotilla is the command line of a Flotilla hub.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // zones of maintenance schedules, on machines that have none installed

	"flotilla/hub/flotilla/cli"
)

// garbagePercent lets a process that lives for a second collect rarely.
const garbagePercent = 400

func main() {
	debug.SetGCPercent(garbagePercent)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], cli.OSEnvironment())
	stop()
	os.Exit(code)
}
