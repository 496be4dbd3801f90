package gauger_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A server of a cluster that is shut down while it catches up leaves stores of its streams open.
func TestMain(m *testing.M) {
	const server = "github.com/nats-io/nats-server/v2/server"
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction(server+".(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreTopFunction(server+"/ats.Register.func1"),
	)
}
