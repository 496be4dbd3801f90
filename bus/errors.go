package bus

import "errors"

// Errors that callers tell apart.
var (
	// ErrConflict: the record changed since it was read, or is being written by somebody else in this
	// process. Drop the plan and look again.
	ErrConflict = errors.New("the record changed since it was read")
	// ErrDeposed: another hub leads now. Stop acting.
	ErrDeposed = errors.New("another hub leads")
	// ErrDamaged: records of state are gone that were stored. Nothing is written until somebody says how to go on.
	ErrDamaged = errors.New("state is damaged")
	// ErrTooLarge: the value is larger than its place allows; the text says both sizes.
	ErrTooLarge = errors.New("value too large")
	// ErrNotFound: there is no such key, command or content.
	ErrNotFound = errors.New("not found")
	// ErrBroken: the record is there and cannot be decoded. Decide nothing that depends on it.
	ErrBroken = errors.New("the record cannot be decoded: apply or delete the object again, or update this hub")
	// ErrNotSynced: a cache has not been filled since the connection was made or lost.
	ErrNotSynced = errors.New("not synchronised yet")
	// ErrCorrupt: what is stored of the content is not what was sealed.
	ErrCorrupt = errors.New("content was changed since it was stored")
	// ErrLayoutNewer: the stored layout was made by a newer hub. Do not campaign.
	ErrLayoutNewer = errors.New("the stored layout is newer than this hub")
	// ErrUnreachable: no hub answered in time.
	ErrUnreachable = errors.New("no hub answered")
	// ErrNotEnrolled, ErrNotAdmitted: the agent may not work yet.
	ErrNotEnrolled = errors.New("the agent is not enrolled yet")
	ErrNotAdmitted = errors.New("the member is not admitted yet")
)
