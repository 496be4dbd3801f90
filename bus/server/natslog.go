package server

import (
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"flotilla/bus/lines"
)

// natsLog hands the log lines of the embedded server to ours; its notices are our debug lines.
type natsLog struct {
	log zerolog.Logger
	// ofConnections are the lines that who is connected causes, by user, or by address while nobody knows whose a connection is.
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

// ofConnection is how a line begins that somebody connected causes: their address, the id of the connection, and once they are known what client
// that is, which it says itself, and whose, which the server says.
var ofConnection = regexp.MustCompile(`^(\S+) - (?:[cwl]id|lid_ws):\d+(?: - "(?:[^"\\]|\\.)*" - ("(?:[^"\\]|\\.)*"))?`)

// causer is who causes a line, empty where the server itself does.
func causer(text string) string {
	found := ofConnection.FindStringSubmatch(text)
	switch {
	case found == nil:
		return ""
	case found[2] != "":
		return found[2]
	}
	host, _, _ := net.SplitHostPort(found[1])
	return host
}

// line logs a line, unless who is connected caused too many of late: each message that a server refuses is one.
func (l natsLog) line(begin func() *zerolog.Event, text string) {
	if who := causer(text); who != "" {
		l.ofConnections.Of(who, begin).Msg(text)
		return
	}
	begin().Msg(text)
}
