// Command flotilla is the command line of a Flotilla hub.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // zones of maintenance schedules, on machines that have none installed

	_ "golang.org/x/crypto/x509roots/fallback" // authorities, in images that hold nothing else

	"flotilla/configs/terminal"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// garbagePercent lets a process that lives for a second collect rarely.
const garbagePercent = 400

func main() {
	debug.SetGCPercent(garbagePercent)
	now, err := terminal.Clock()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flotilla:", err)
		os.Exit(session.ExitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := cli.Main(ctx, os.Args[1:], session.OSEnvironment(now))
	stop()
	os.Exit(code)
}
