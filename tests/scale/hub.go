package main

import (
	"context"
	"net/http"
	"os"

	"github.com/rs/zerolog"

	"flotilla/bus/server"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// hubRole is a hub with a server of its own, as production runs it.
type hubRole struct {
	Dir string `json:"dir"`
	// Port of the server, any free one when -1.
	Port int `json:"port"`
}

// hubHello says how to reach the hub.
type hubHello struct {
	URL string `json:"url"`
	// Monitoring and Metrics are URLs, of NATS and of Prometheus.
	Monitoring string `json:"monitoring"`
	Metrics    string `json:"metrics"`
	// Operator and Hub are paths of credentials.
	Operator string `json:"operator"`
	Hub      string `json:"hub"`
}

func (r *hubRole) start(ctx context.Context, _ *http.ServeMux) (any, func(), error) {
	hub, err := hubd.New(hubd.Options{
		Server:  &server.Options{Dir: r.Dir, Port: r.Port, HTTPPort: -1},
		Metrics: "127.0.0.1:0", Now: elsewhen.Now, Log: processLog(),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := hub.Start(ctx); err != nil {
		return nil, nil, err
	}
	s := hub.Server()
	return hubHello{
		URL: s.URL(), Monitoring: s.Monitoring(), Metrics: "http://" + hub.MetricsAddress() + "/metrics",
		Operator: s.OperatorCreds(), Hub: s.HubCreds(),
	}, hub.Stop, nil
}

// processLog is of warnings, to standard error.
func processLog() zerolog.Logger { return zerolog.New(os.Stderr).Level(zerolog.WarnLevel) }
