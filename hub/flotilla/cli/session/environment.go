package session

import (
	"context"
	"io"
	"os"
	"path/filepath"
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
	// Program is the path of the program that runs.
	Program func() (string, error)
	// Parent is the process that started it.
	Parent int
	// Cache is a folder for what can be had again; empty: nothing is kept.
	Cache string
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
		Program:  os.Executable,
		Parent:   os.Getppid(),
		Cache:    cacheFolder(),
		Edit:     openEditor,
	}
}

// cacheFolder is that of the person who types, empty where they have none.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "flotilla")
}

func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
