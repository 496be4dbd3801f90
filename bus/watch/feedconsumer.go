package watch

import (
	"context"

	"flotilla/bus"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// memberWindow is the window of what members write: twice the largest message. One member that writes more than
// the hub reads replaces what it wrote itself, where it is stored; what is on its way to the hub is in front of
// what all others write.
const memberWindow = 2 * bus.MaxEventMessage

// windowOf is that of a bucket or stream, by short name.
func windowOf(name string) int {
	switch name {
	case subjects.Heartbeat, subjects.Result, subjects.Events:
		return memberWindow
	}
	return 0
}

// feedConsumer is what a feed reads through.
type feedConsumer interface {
	CachedInfo() *jetstream.ConsumerInfo
	Info(ctx context.Context) (*jetstream.ConsumerInfo, error)
	consume(take jetstream.MessageHandler, failed jetstream.ConsumeErrHandlerFunc) (jetstream.ConsumeContext, error)
}

// consumer makes one: it asks for what is within the window, or has all sent that there is.
func (f *Feed) consumer(ctx context.Context, stream jetstream.Stream) (feedConsumer, error) {
	config := jetstream.ConsumerConfig{
		Description:       "watcher of " + f.conn.NC.Opts.Name,
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		FilterSubjects:    f.from.filters,
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		InactiveThreshold: bus.InactiveAfter,
		MemoryStorage:     true,
		Replicas:          1,
	}
	if f.from.window > 0 {
		made, err := stream.CreateConsumer(ctx, config)
		return pulled{made, f.from.window}, err
	}
	config.DeliverSubject, config.FlowControl, config.IdleHeartbeat = f.conn.NC.NewInbox(), true, bus.IdleBeat
	made, err := stream.CreatePushConsumer(ctx, config)
	return pushed{made}, err
}

type pushed struct{ jetstream.PushConsumer }

func (c pushed) consume(take jetstream.MessageHandler, failed jetstream.ConsumeErrHandlerFunc) (jetstream.ConsumeContext, error) {
	return c.Consume(take, jetstream.ConsumeErrHandler(failed))
}

type pulled struct {
	jetstream.Consumer
	window int
}

func (c pulled) consume(take jetstream.MessageHandler, failed jetstream.ConsumeErrHandlerFunc) (jetstream.ConsumeContext, error) {
	return c.Consume(take, jetstream.ConsumeErrHandler(failed), jetstream.PullMaxBytes(c.window), jetstream.PullHeartbeat(bus.IdleBeat))
}
