package outside

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// afterKill is how long pipes that a killed program left to others are waited for.
const afterKill = time.Second

// Program is a program to run.
type Program struct {
	Argv []string
	// Environment is added to that of the hub, NAME=value.
	Environment []string
	Input       []byte
	// Most is how many bytes of its output are kept.
	Most int
}

// Run runs a program until it ends, or is killed with the context, and returns the beginning of its output. The error is the
// context's where that ended first.
func (p *Program) Run(ctx context.Context) (said string, err error) {
	program := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	program.Stdin = bytes.NewReader(p.Input)
	program.Env = append(os.Environ(), p.Environment...)
	program.WaitDelay = afterKill
	output := &beginning{most: p.Most}
	program.Stdout, program.Stderr = output, output
	err = program.Run()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return strings.TrimSpace(string(output.text)), err
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	text []byte
	most int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), b.most-len(b.text))]...)
	return len(p), nil
}
