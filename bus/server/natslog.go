package server

import (
	"fmt"
	"net"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"flotilla/bus/lines"
)

// natsLog hands the log lines of the embedded server to ours; its notices are our debug lines.
type natsLog struct {
	log zerolog.Logger
	// ofConnections are the lines that who is connected causes, by address.
	ofConnections *lines.Bound
}

func (l natsLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }
func (l natsLog) Warnf(format string, v ...any)   { l.line(l.log.Warn, fmt.Sprintf(format, v...)) }
func (l natsLog) Fatalf(format string, v ...any)  { l.log.Error().Msgf(format, v...) }
func (l natsLog) Debugf(format string, v ...any)  { l.log.Debug().Msgf(format, v...) }
func (l natsLog) Tracef(format string, v ...any)  { l.log.Trace().Msgf(format, v...) }

// Errorf logs an error. That somebody was refused for a limit of connections is told by who watches them, once for all, see Crowds.
func (l natsLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	for _, refused := range []error{server.ErrTooManyConnections, server.ErrTooManyAccountConnections} {
		if strings.Contains(text, refused.Error()) {
			l.log.Debug().Msg(text)
			return
		}
	}
	l.line(l.log.Error, text)
}

// line logs a line, unless who is connected from one address caused too many of late: each message that a server refuses is one.
func (l natsLog) line(begin func() *zerolog.Event, text string) {
	for _, id := range []string{" - cid:", " - lid:"} {
		if address, _, caused := strings.Cut(text, id); caused {
			host, _, _ := net.SplitHostPort(address)
			l.ofConnections.Of(host, begin).Msg(text)
			return
		}
	}
	begin().Msg(text)
}
