package main

import (
	"context"
	"fmt"
	"io"

	"flotilla/bus/server"
	"flotilla/hub/hubd"
)

// run runs a hub until ctx ends.
func run(ctx context.Context, o hubd.Options, out io.Writer) error {
	hub, err := hubd.New(o)
	if err != nil {
		return err
	}
	if err := hub.Start(ctx); err != nil {
		return err
	}
	return serve(ctx, hub, o.Fleet, out)
}

// serve serves until ctx ends; a hub that runs its own server says first where it is.
func serve(ctx context.Context, hub *hubd.Hub, fleet string, out io.Writer) error {
	if server := hub.Server(); server != nil {
		printOwn(out, server, fleet)
	}
	return hub.Serve(ctx)
}

// printOwn says how to reach a hub that runs its own NATS server, and how members join it.
func printOwn(out io.Writer, server *server.Server, fleet string) {
	_, _ = fmt.Fprintf(out, `
The hub of fleet %s is running, with a NATS server of its own. In another terminal:

  export NATS_URL=%s
%s%s%s  go run ./hub/flotilla version

Members, each with an agent:

  go run ./hub/flotilla member enrol berlin > berlin.token
  go run ./agent --token @berlin.token
  go run ./hub/flotilla member admit berlin

Ctrl-C stops the hub.
`, fleet, server.URL(), credsLine(server), caLine(server), fleetLine(fleet))
}

// credsLine says with which credentials to connect.
func credsLine(server *server.Server) string {
	if server.OperatorCreds() == "" {
		return "  (those of the first admin were revoked: set NATS_CREDS to your own)\n"
	}
	return "  export NATS_CREDS=" + absolute(server.OperatorCreds()) + "\n"
}

func caLine(server *server.Server) string {
	if server.CAFile() == "" {
		return ""
	}
	return "  export NATS_CA=" + absolute(server.CAFile()) + "\n"
}

func fleetLine(fleet string) string {
	if fleet == "default" {
		return ""
	}
	return "  export FLOTILLA_FLEET=" + fleet + "\n"
}
