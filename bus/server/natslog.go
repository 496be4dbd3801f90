package server

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// natsLog hands the log lines of the embedded server to ours; its notices are our debug lines.
type natsLog struct {
	log zerolog.Logger
}

func (l natsLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }
func (l natsLog) Warnf(format string, v ...any)   { l.log.Warn().Msgf(format, v...) }
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
	l.log.Error().Msg(text)
}
