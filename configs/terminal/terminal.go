// Package terminal is what hub and agent have in common where a person starts them: the log as their
// configuration wants it, and help with a mistyped flag. Their mains call it, nothing else does.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flotilla/configs"
	"flotilla/core/strict"
)

// Logger writes to a terminal or a file as the configuration says: JSON, or text that has colours where
// the terminal shows them and NO_COLOR is not set. A level that is none is info.
func Logger(l configs.Log, to io.Writer) zerolog.Logger {
	level, err := zerolog.ParseLevel(strings.ToLower(l.Level))
	if err != nil {
		level = zerolog.InfoLevel
	}
	if l.Format != "json" {
		file, isFile := to.(*os.File)
		plain := os.Getenv("NO_COLOR") != "" || !isFile || !isatty.IsTerminal(file.Fd())
		to = zerolog.ConsoleWriter{Out: to, TimeFormat: time.TimeOnly, NoColor: plain, FormatPrepare: harmless}
	}
	return zerolog.New(to).Level(level).With().Timestamp().Logger()
}

// SuggestFlag says which flag a mistyped one was probably meant to be; it is for cobra's
// SetFlagErrorFunc.
func SuggestFlag(c *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return fmt.Errorf("%w; see %s --help", err, c.Name())
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := strict.Nearest(name, names); near != "" {
		return fmt.Errorf("%w, did you mean --%s? See %s --help", err, near, c.Name())
	}
	return fmt.Errorf("%w; see %s --help", err, c.Name())
}
