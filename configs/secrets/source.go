package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"flotilla/configs/private"
	"flotilla/core/seal"
)

// patience is how long a command may take.
const patience = 30 * time.Second

// Source says where secrets come from: the first of its fields that is set.
type Source struct {
	// File is the path of a file of mode 0600.
	File string
	// Command is a shell command that prints what would stand in the file.
	Command string
	// Text is what would stand in the file.
	Text string
}

// Given says that it names anything.
func (s Source) Given() bool { return s != Source{} }

// String is for people; it shows no secret.
func (s Source) String() string {
	switch {
	case s.File != "":
		return s.File
	case s.Command != "":
		return "the output of `" + s.Command + "`"
	case s.Text != "":
		return Variable
	}
	return "nowhere"
}

// Read reads the secrets as they are now.
func (s Source) Read(ctx context.Context) (*seal.Keyring, error) {
	text, err := s.text(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("secrets from %s: %w", s, err)
	}
	return keys, nil
}

func (s Source) text(ctx context.Context) ([]byte, error) {
	switch {
	case s.File != "":
		return readFile(s.File)
	case s.Command != "":
		return printed(ctx, s.Command)
	case s.Text != "":
		return []byte(s.Text), nil
	}
	return nil, errors.New("no secrets were given")
}

func readFile(path string) ([]byte, error) {
	text, err := private.Read(path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("reading secrets: %w", err)
	}
	return text, nil
}

// printed is what a command prints. What it complains of is told, what it prints is not.
func printed(ctx context.Context, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.WaitDelay = time.Second
	var complaint bytes.Buffer
	c.Stderr = &complaint
	text, err := c.Output()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the command for secrets, `%s`: no answer within %s", command, patience)
	case err != nil:
		return nil, fmt.Errorf("the command for secrets, `%s`: %w: %q", command, err, firstLine(complaint.Bytes()))
	case len(text) > maxBytes:
		return nil, fmt.Errorf("the command for secrets, `%s`: more than %d bytes", command, maxBytes)
	}
	return text, nil
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(line[:min(len(line), 200)])
}
