package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"flotilla/bus/server"
	"flotilla/configs/examples"
	"flotilla/hub/dev"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/hubd"
)

// demo is the fleet and what the steps need of it.
type demo struct {
	options
	fleet    *dev.Fleet
	folder   string // holds the data directory and a copy of the examples
	progress progress
}

func newDemo(ctx context.Context, o options) (*demo, error) {
	folder, err := os.MkdirTemp("", "flotilla-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{options: o, folder: folder}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *demo) start(ctx context.Context) error {
	if err := d.writeExamples(); err != nil {
		return err
	}
	members, err := dev.ExampleMembers()
	if err != nil {
		return err
	}
	brisk(members)
	log := zerolog.Nop()
	if d.verbose {
		log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr}).With().Timestamp().Logger()
	}
	hub := hubd.Options{Server: &server.Options{Dir: filepath.Join(d.folder, "data"), Port: -1}, Policy: hubd.Policy{Disruption: briskNodes(members)}, Log: log, Now: d.now}
	d.fleet, err = dev.Start(ctx, dev.Options{Hub: hub, Members: members, Log: log})
	if err != nil {
		return err
	}
	return d.fleet.AdmitExamples(ctx)
}

// writeExamples copies the examples to files, but for agents and what is refused, so that the demo runs from any folder
// and the commands it shows read what they say.
func (d *demo) writeExamples() error {
	to := filepath.Join(d.folder, "configs", "examples")
	for _, folder := range []string{".", "checks", "staged", "upgrades", "nodes"} {
		files, err := fs.Glob(examples.Files, path.Join(folder, "*.yaml"))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, folder), 0o755); err != nil {
			return err
		}
		for _, file := range files {
			text, err := fs.ReadFile(examples.Files, file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, file), text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *demo) close() error {
	var err error
	if d.fleet != nil {
		err = d.fleet.Stop()
	}
	return errors.Join(err, os.RemoveAll(d.folder))
}

// flotilla runs one command line as a person would type it, shows both, and wants exit code 0.
func (d *demo) flotilla(ctx context.Context, args ...string) error {
	return d.exits(ctx, session.ExitDone, args...)
}

// exits runs a command line that ends with an exit code.
func (d *demo) exits(ctx context.Context, want int, args ...string) error {
	shown := strings.ReplaceAll(strings.Join(args, " "), d.folder+"/", "")
	fmt.Printf("\n$ flotilla %s\n", shown)
	env := session.OSEnvironment(d.now)
	env.In, env.Terminal = strings.NewReader(""), false
	env.Err, env.Getenv = os.Stdout, d.getenv
	if code := cli.Main(ctx, args, env); code != want {
		return fmt.Errorf("flotilla %s ended with exit code %d, expected %d", shown, code, want)
	}
	return nil
}

func (d *demo) getenv(name string) string {
	switch server := d.fleet.Hub.Server(); name {
	case "NATS_URL":
		return server.URL()
	case "NATS_CREDS":
		return server.OperatorCreds()
	case "NATS_CONTEXT", "FLOTILLA_FLEET":
		return ""
	default:
		return os.Getenv(name)
	}
}
