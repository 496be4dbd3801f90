package session

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Environment is everything a command takes from outside.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal says that Out is a terminal, which allows colour, unless NO_COLOR is set, and lines that are written over.
	Terminal bool
	// Size is how many columns and rows a terminal has now; nil or 0 when that is not known.
	Size   func() (columns, rows int)
	Getenv func(string) string
	Now    func() time.Time
	// Dial connects to a hub.
	Dial func(context.Context, Connection) (Hub, error)
	// Edit opens a file in the user's editor and returns when it is closed.
	Edit func(ctx context.Context, path string) error
}

// OSEnvironment is the environment of this process, which goes by a clock.
func OSEnvironment(now func() time.Time) Environment {
	return Environment{
		In:       os.Stdin,
		Out:      os.Stdout,
		Err:      os.Stderr,
		Terminal: term.IsTerminal(int(os.Stdout.Fd())),
		Size:     terminalSize,
		Getenv:   os.Getenv,
		Now:      now,
		Dial:     dialHub,
		Edit:     openEditor,
	}
}

func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
