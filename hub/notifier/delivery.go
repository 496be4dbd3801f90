package notifier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/streams"
	"flotilla/configs"
	"flotilla/core/api"
)

// delivery brings the events of the stream to one channel, one after the other.
type delivery struct {
	notifier *Notifier
	channel  *Channel
	log      zerolog.Logger
	position api.NotificationPosition
	passed   int // events since the position was written
}

// begin reads where the channel was left; one that is new begins with what happens from now on.
func (d *delivery) begin(ctx context.Context) (streams.AuditPosition, error) {
	held, _, found, err := d.notifier.positions.Find(d.channel.name)
	if err != nil {
		d.log.Error().Err(err).Msg("how far it has come cannot be read, beginning anew")
	}
	if found {
		d.position = held
		return streams.AuditPosition{Sequence: held.Sequence, Stored: held.Stored}, nil
	}
	end, err := streams.AuditEnd(ctx, d.notifier.store.Conn)
	for err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("looking where to begin, trying again")
		loop.Pause(ctx, d.notifier.options.FirstPause)
		end, err = streams.AuditEnd(ctx, d.notifier.store.Conn)
	}
	if err != nil {
		return end, err
	}
	d.position = api.NotificationPosition{
		Header: api.NewHeader(api.KindNotification), Notification: d.channel.name, Sequence: end.Sequence, Stored: end.Stored,
	}
	return end, d.note(ctx)
}

// take delivers an event, if it is asked for, and notes that it is done with.
func (d *delivery) take(ctx context.Context, e streams.AuditEvent) error {
	asked := d.channel.filter.lets(&e.Audit)
	if asked {
		err := d.deliver(ctx, &e)
		if ctx.Err() != nil && err != nil {
			return nil
		}
		d.count(&e, err)
	}
	d.position.Sequence, d.position.Stored = e.Position.Sequence, e.Position.Stored
	d.passed++
	if asked || d.passed >= noteEvery {
		return d.note(ctx)
	}
	return nil
}

// end notes what went by without being asked for, so that it is not looked at again.
func (d *delivery) end(ctx context.Context) error {
	if d.passed == 0 {
		return nil
	}
	return d.note(ctx)
}

// deliver tries until the event is taken, refused, or older than the notification allows.
func (d *delivery) deliver(ctx context.Context, e *streams.AuditEvent) error {
	view := configs.NewEventView(d.notifier.store.Conn.Fleet.Name, e.Position.Sequence, &e.Audit)
	retry := loop.Backoff{First: d.notifier.options.FirstPause, Most: lastPause}
	for try := 1; ; try++ {
		err := d.channel.sender.send(ctx, view)
		if _, there := errors.AsType[answered](err); there && try > wordedTries && d.channel.sender.send(ctx, withoutMessage(view)) == nil {
			d.log.Warn().Err(err).Str("event", view.ID).Msg("an event was taken without its message alone, which is left out")
			return nil
		}
		tooOld := d.notifier.store.Now().Sub(e.Stored) > d.channel.retryFor && try >= leastTries
		if err == nil || ctx.Err() != nil || errors.Is(err, errRefused) || tooOld {
			return err
		}
		wait := retry.Next()
		d.log.Warn().Err(err).Str("event", view.ID).Int("try", try).Dur("pause", wait).Msg("an event could not be sent, trying again")
		loop.Pause(ctx, wait)
	}
}

// wordedTries is how often an event is tried as it is, before it is also tried without its message: members choose that, and what stands between the
// hub and a receiver may let some texts not through, while what happened later waits.
const wordedTries = 4

// withoutMessage says nothing of what was answered either: that may repeat the message.
func withoutMessage(view configs.EventView) configs.EventView {
	view.Message = "the message is left out, as this was not taken with it: flotilla events has it, and the log of the hub what was answered"
	return view
}

// count notes how a delivery ended, and tells of an event that was given up.
func (d *delivery) count(e *streams.AuditEvent, err error) {
	if err == nil {
		d.position.Sent++
		return
	}
	d.position.GivenUp++
	d.position.LastError = err.Error()
	d.log.Error().Err(err).Uint64("sequence", e.Position.Sequence).Str("object", e.Object).Msg("an event is given up")
	d.notifier.store.Audit.Record(api.Audit{
		Object: "notification/" + d.channel.name, Type: "Warning", Reason: "NotificationFailed", By: by,
		Message: fmt.Sprintf("event %d, %s of %s, is given up: %v", e.Position.Sequence, e.Reason, e.Object, err),
	})
}

// note writes the position, also while ctx ends: what was delivered is not to be sent again. The hub of
// an older term cannot write it.
func (d *delivery) note(ctx context.Context) error {
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(noteTimeout, cancel) })()
	for {
		_, err := d.notifier.store.Writer.Write(writing, d.notifier.positions.Put(d.channel.name, &d.position, d.notifier.positions.Revision(d.channel.name)))
		if err == nil {
			d.passed = 0
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, bus.ErrDeposed) {
			return fmt.Errorf("noting how far it has come: %w", err)
		}
		d.log.Warn().Err(err).Msg("noting how far it has come, trying again")
		loop.Pause(ctx, d.notifier.options.FirstPause)
	}
}
