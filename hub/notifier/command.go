package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"flotilla/configs"
)

// afterKill is how long pipes that a killed program left to others are waited for.
const afterKill = time.Second

type command struct {
	argv        []string
	environment []string // NAME=value
	timeout     time.Duration
}

func (c *command) send(ctx context.Context, e configs.EventView) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	program := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	program.Stdin = bytes.NewReader(append(text, '\n'))
	program.Env = append(append(os.Environ(), c.environment...), variables(e)...)
	program.WaitDelay = afterKill
	said := &beginning{most: answerShown}
	program.Stdout, program.Stderr = said, said
	if err := program.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("ended after %s: %w", c.timeout, ctx.Err())
		}
		return fmt.Errorf("running %s: %w: %q", c.argv[0], err, strings.TrimSpace(string(said.text)))
	}
	return nil
}

func (c *command) close() {}

// variables are the event as environment variables.
func variables(e configs.EventView) []string {
	return []string{
		"FLOTILLA_FLEET=" + e.Fleet, "FLOTILLA_EVENT=" + e.ID, "FLOTILLA_AT=" + e.At.Format(time.RFC3339),
		"FLOTILLA_OBJECT=" + e.Object, "FLOTILLA_KIND=" + e.Kind, "FLOTILLA_NAME=" + e.Name, "FLOTILLA_TYPE=" + e.Type,
		"FLOTILLA_REASON=" + e.Reason, "FLOTILLA_MESSAGE=" + e.Message, "FLOTILLA_BY=" + e.By, "FLOTILLA_MEMBER=" + e.Member,
	}
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
