// Package grafana holds a board for Grafana and alerts for Prometheus over the metrics of hubs and agents. Both are files for
// those programs; the package has the tests that hold them against the metrics there are.
package grafana
