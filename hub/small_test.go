package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/rig"
)

// hubVariable has a process of these tests be a hub.
const hubVariable = "FLOTILLA_TEST_HUB"

func TestMain(m *testing.M) {
	if os.Getenv(hubVariable) == "" {
		os.Exit(m.Run())
	}
	main()
}

// small is a hub in a process of its own that may have few descriptors.
type small struct {
	*testing.T
	*rig.Process
	data, port, metrics string
	client              *bus.Conn
	applied             int
}

// startSmall starts a hub after a shell has set its limits, and waits until it leads.
func startSmall(t *testing.T, limits string) *small {
	t.Helper()
	s := &small{T: t, data: t.TempDir(), port: bustest.FreePort(t), metrics: bustest.FreePort(t)}
	s.Process = rig.Start(t, []string{hubVariable + "=1"}, "sh", "-c", limits+` && exec "$0" "$@"`,
		os.Args[0], "--data", s.data, "--port", s.port, "--metrics-address", "127.0.0.1:"+s.metrics, "--log-level", "info")
	bustest.EventuallyIn(t, time.Minute, func() (err error) {
		s.client, err = bus.ConnectClient(bustest.Context(t), bus.Options{
			URL: "nats://127.0.0.1:" + s.port, Creds: filepath.Join(s.data, "operator.creds"), Log: zerolog.Nop(), Getenv: func(string) string { return "" },
		})
		return err
	})
	t.Cleanup(s.client.Close)
	bustest.EventuallyIn(t, time.Minute, func() error { return s.apply(1 << 10) })
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err == nil {
		t.Logf("at rest it has %d descriptors", len(files))
	}
	return s
}

// apply has the hub store so many bytes.
func (s *small) apply(size int) error {
	s.applied++
	weight := make([]byte, size)
	_, _ = rand.Read(weight)
	document := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web-%d","namespace":"shop"},"data":{"weight":%q}}`,
		s.applied, base64.StdEncoding.EncodeToString(weight))
	request := api.ApplyRequest{Request: string(uuid.NewUUID()), Documents: []json.RawMessage{json.RawMessage(document)}}
	return bus.Request(s.Context(), s.client, api.VerbApply, request, nil, bus.RequestOptions{Total: 5 * time.Second, Try: 2 * time.Second})
}
