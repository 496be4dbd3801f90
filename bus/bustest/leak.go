package bustest

import (
	"testing"

	"go.uber.org/goleak"
)

// LeftNothing requires that an agent left no goroutine beside those that were there before it. Consumers and file stores are the hub's, whose
// watchers may begin anew at any time, and its server's: an agent owns none.
func LeftNothing(t testing.TB, before goleak.Option) {
	t.Helper()
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*pushConsumer).Consume.func3"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*pullConsumer).Consume.func3"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*pullSubscription).pullMessages"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats%2ego.(*Conn).waitForMsgs"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).syncBlocks"))
}
