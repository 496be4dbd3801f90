package server

import "github.com/rs/zerolog"

// natsLog hands the log lines of the embedded server to ours; its notices are our debug lines.
type natsLog struct {
	log zerolog.Logger
}

func (l natsLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }
func (l natsLog) Warnf(format string, v ...any)   { l.log.Warn().Msgf(format, v...) }
func (l natsLog) Fatalf(format string, v ...any)  { l.log.Error().Msgf(format, v...) }
func (l natsLog) Errorf(format string, v ...any)  { l.log.Error().Msgf(format, v...) }
func (l natsLog) Debugf(format string, v ...any)  { l.log.Debug().Msgf(format, v...) }
func (l natsLog) Tracef(format string, v ...any)  { l.log.Trace().Msgf(format, v...) }
