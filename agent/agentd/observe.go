package agentd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"flotilla/agent/beat"
	"flotilla/agent/beat/command"
	"flotilla/agent/target"
	"flotilla/agent/worker"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/core/api"
)

// prices are by the catalog of the configuration, nil without one.
func (a *Agent) prices() (func(*target.Node) float64, error) {
	path := a.o.Config.Cost.Catalog
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cost.catalog: %w", err)
	}
	catalog, err := configs.LoadInstances(path, text)
	if err != nil {
		return nil, fmt.Errorf("cost.catalog: %w", err)
	}
	return beat.Prices(catalog), nil
}

// observer runs the command of the configuration that says properties, nil without one.
func (a *Agent) observer() (*command.Observer, error) {
	c := &a.o.Config.Observe
	if len(c.Exec.Command) == 0 {
		return nil, nil
	}
	o, err := command.New(command.Options{
		Member: a.Member(), Command: c.Exec.Command, Environment: c.Exec.Environment, Directory: c.Exec.Directory,
		Interval: time.Duration(c.Interval), Timeout: time.Duration(c.Exec.Timeout), Grace: time.Duration(c.Exec.Grace), Log: a.o.Log,
	})
	if err != nil {
		return nil, err
	}
	a.run(o.Run)
	return o, nil
}

// heart makes what sends heartbeats of the member.
func (a *Agent) heart(conn *member.Conn, w *worker.Worker, folder *folder, renewal, trouble func() string) (*beat.Beat, error) {
	price, err := a.prices()
	if err != nil {
		return nil, err
	}
	observer, err := a.observer()
	if err != nil {
		return nil, err
	}
	return beat.New(beat.Options{
		Member: a.Member(), Hub: conn, Target: a.target, Version: cmp.Or(a.o.Version, api.Version),
		Interval: time.Duration(a.o.Config.HeartbeatInterval), Labels: a.o.Config.AllLabels(), Properties: a.o.Config.AllProperties(),
		Namespaces: true, Log: a.o.Log,
		Sources: beat.Sources{
			Price: price, Observed: observer.Properties, Holds: w.Holds, Unlisted: w.Unlisted,
			Trouble: func() string { return cmp.Or(trouble(), observer.Trouble()) },
			Renewal: renewal, Forbidden: a.forbidden(), Fit: func() error { return errors.Join(conn.Twin(), folder.writable()) },
		},
	}), nil
}
