package subjects

import (
	"fmt"

	"flotilla/core/api"
)

// MostLength is how long a subject is at most that somebody else has a hub use. A server ends a connection over which a line comes that is longer
// than its max_control_line, 4,096 bytes where it is not set: subject, reply and sizes stand in it.
const MostLength = 1 << 10

// CheckLength refuses a subject that is too long; of names what it is made of.
func CheckLength(subject, of string) error {
	if len(subject) <= MostLength {
		return nil
	}
	return &api.Failure{
		Code: api.CodeInvalid, Message: fmt.Sprintf("%s: found %d bytes of a subject, expected at most %d: a shorter name", of, len(subject), MostLength),
	}
}
