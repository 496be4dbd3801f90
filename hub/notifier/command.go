package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"flotilla/configs"
	"flotilla/hub/outside"
)

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
	program := outside.Program{
		Argv: c.argv, Environment: append(slices.Clip(c.environment), variables(e)...), Input: append(text, '\n'), Most: answerShown,
	}
	said, err := program.Run(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("ended after %s: %w", c.timeout, err)
	} else if _, ended := errors.AsType[*exec.ExitError](err); ended {
		err = answered{err}
	}
	return fmt.Errorf("running %s: %w: %q", c.argv[0], err, said)
}

func (c *command) close() {}

// mostVariable is how many bytes of a text a variable has; Linux starts no program with one of 128 KiB.
const mostVariable = 64 << 10

// variables are the event as environment variables. What members say is in them, and a program is started whatever that is: a variable holds no
// NUL, and no more than so much; the JSON has all.
func variables(e configs.EventView) []string {
	all := []string{
		"FLOTILLA_FLEET=" + e.Fleet, "FLOTILLA_EVENT=" + e.ID, "FLOTILLA_AT=" + e.At.Format(time.RFC3339),
		"FLOTILLA_OBJECT=" + e.Object, "FLOTILLA_KIND=" + e.Kind, "FLOTILLA_NAME=" + e.Name, "FLOTILLA_TYPE=" + e.Type,
		"FLOTILLA_REASON=" + e.Reason, "FLOTILLA_MESSAGE=" + e.Message, "FLOTILLA_BY=" + e.By, "FLOTILLA_MEMBER=" + e.Member,
	}
	for i, text := range all {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
		all[i] = strings.ToValidUTF8(text[:min(len(text), mostVariable)], "")
	}
	return all
}
