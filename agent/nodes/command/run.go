package command

import (
	"context"
	"encoding/json"
	"slices"

	"flotilla/agent/child"
)

// exitTryLater is the exit code of a command that has no answer yet, EX_TEMPFAIL of sysexits.h.
const exitTryLater = 75

// run runs a command to its end. The error says that there is no exit code to judge by.
func (p *Provider) run(ctx context.Context, argv []string, input any, variables []string) (child.Answer, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return child.Answer{}, err
	}
	c := child.Command{
		Argv: argv, Input: text, Environment: slices.Concat(p.environment, variables), Directory: p.o.Directory,
		Timeout: p.o.Timeout, Grace: p.o.Grace,
	}
	return c.Run(ctx)
}
