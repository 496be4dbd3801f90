package page

import (
	"context"

	"flotilla/core/api"
)

// Door is what the page asks, and who may look: this hub's own door where it leads, that of the hub that leads else.
type Door interface {
	// Ask has a verb answered on behalf of by; question goes as JSON, answer is a pointer to what the verb answers (nil: ignored). A refusal is an *api.Failure.
	Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error
	// Enter gives a session for the secret of a link, which is used up by it. api.ErrNoEntry where the link was used, ended, or never was.
	Enter(ctx context.Context, link, address string) (session string, err error)
	// Session says whose a session is; api.ErrNoEntry when it ended, was ended, or its person's credentials were revoked or renewed to another key/role.
	Session(ctx context.Context, session string) (api.Person, error)
	// Leave ends a session.
	Leave(ctx context.Context, session string) error
}
