package cli

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
	// Terminal says that Out is a terminal, which allows colour and lines that are written over.
	Terminal bool
	Getenv   func(string) string
	Now      func() time.Time
	// Dial connects to a hub.
	Dial func(context.Context, Connection) (Hub, error)
	// Edit opens a file in the user's editor and returns when it is closed.
	Edit func(ctx context.Context, path string) error
}

// OSEnvironment is the environment of this process.
func OSEnvironment() Environment {
	return Environment{
		In:       os.Stdin,
		Out:      os.Stdout,
		Err:      os.Stderr,
		Terminal: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "",
		Getenv:   os.Getenv,
		Now:      time.Now,
		Dial:     dialHub,
		Edit:     openEditor,
	}
}
