package agentd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"flotilla/agent/nodes"
	"flotilla/agent/worker"
	"flotilla/bus/gate"
	"flotilla/bus/member"
	"flotilla/bus/probe"
)

// registry describes one agent in numbers.
func registry(member string, conn *member.Conn, w *worker.Worker, room *nodes.Nodes) *prometheus.Registry {
	r := prometheus.NewRegistry()
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "flotilla", Subsystem: "agent", Name: name, Help: help, ConstLabels: prometheus.Labels{"member": member},
		}, value))
	}
	gauge("connected", "1 while the connection to NATS is up.", func() float64 {
		if conn.Connected() {
			return 1
		}
		return 0
	})
	gauge("command_generation", "Generation of the placement command that is followed.", func() float64 { return float64(w.Holds().Generation) })
	gauge("command_term", "Term of the placement command that is followed.", func() float64 { return float64(w.Holds().Term) })
	gauge("placements", "Placements that the command lists.", func() float64 { return float64(w.Placements()) })
	gauge("unlisted_placements", "Placements that run here and that the command does not mention.", func() float64 { return float64(len(w.Unlisted())) })
	gauge("unreported_results", "Results that the hub does not have yet.", func() float64 { return float64(w.Unreported()) })
	if room != nil {
		gauge("unpublished_nodes", "Nodes whose newest state the hub does not have yet.", func() float64 { return float64(room.Unpublished()) })
	}
	return r
}

// mostAsking is how many connections may ask for metrics and health at once.
const mostAsking = 64

// serveMetrics serves /metrics, /healthz and /readyz at the configured address, if any.
func (a *Agent) serveMetrics(metrics *prometheus.Registry, ready ...probe.Check) error {
	address := a.o.Config.MetricsAddress
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serving metrics at %s: %w; choose another metricsAddress", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	probe.Handle(mux, probe.Live, probe.Ping)
	probe.Handle(mux, probe.Ready, ready...)
	server := gate.Server(mux)
	done := make(chan error, 1)
	go func() { done <- server.Serve(gate.New(listener, mostAsking)) }()
	a.onStop(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	})
	a.metrics = listener.Addr().String()
	a.o.Log.Info().Str("address", a.metrics).Msg("serving metrics under /metrics, and /healthz and /readyz")
	return nil
}
