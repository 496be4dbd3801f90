package front

import (
	"context"

	"flotilla/core/api"
)

// Door is what the front asks: this hub's own door where it leads, that of the hub that leads else.
type Door interface {
	// Ask has a verb answered on behalf of by; question goes as JSON, answer is a pointer to what the verb answers (nil: ignored). A refusal is an *api.Failure.
	Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error
	// Token says whose a token is; api.ErrNoEntry when it ended, or its person's credentials were revoked.
	Token(ctx context.Context, token string) (api.Person, error)
}
